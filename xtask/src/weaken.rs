//! Makes the public names of a static library weak, so that a program, or a tool linked into it, may define
//! them too: Rust has no attribute for that. In a shared library the order of loading does the same.
use object::elf::{self, FileHeader64, SHT_SYMTAB, STB_GLOBAL, STB_WEAK, Sym64};
use object::read::archive::ArchiveFile;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, NativeEndian};

/// The section that the library puts its public names into.
const SECTION: &[u8] = b"dushmem_names";

/// Makes every global symbol of the section weak in all objects of the archive, and counts them.
pub fn weaken(archive: &mut [u8]) -> Result<usize, String> {
    let places = places(archive).map_err(|error| format!("the static library: {error}"))?;
    for &place in &places {
        archive[place] = archive[place] & 0xf | STB_WEAK.0 << 4;
    }
    Ok(places.len())
}

/// Where the bytes lie that say how the symbols are bound.
fn places(archive: &[u8]) -> Result<Vec<usize>, object::Error> {
    let mut found = Vec::new();
    for member in ArchiveFile::parse(archive)?.members() {
        let member = member?;
        let (start, _) = member.file_range();
        let object = member.data(archive)?;
        // Some members are no objects: metadata of the compiler.
        if !object.starts_with(&elf::ELFMAG) {
            continue;
        }
        let header = FileHeader64::<Endianness>::parse(object)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, object)?;
        let ours = |index: u16| {
            let section = sections.section(object::SectionIndex(index.into()));
            section
                .and_then(|section| sections.section_name(endian, section))
                .is_ok_and(|name| name == SECTION)
        };
        let table = sections.iter().find(|section| section.sh_type(endian) == SHT_SYMTAB);
        let Some(table) = table else { continue };
        let symbols: &[Sym64<Endianness>] = table.data_as_array(endian, object)?;
        for (i, symbol) in symbols.iter().enumerate() {
            if symbol.st_bind() == STB_GLOBAL && ours(symbol.st_shndx(endian).0) {
                let symbol = start + table.sh_offset(endian) + (i * size_of::<Sym64<NativeEndian>>()) as u64;
                // Behind the four bytes of the name.
                found.push(symbol as usize + 4);
            }
        }
    }
    Ok(found)
}
