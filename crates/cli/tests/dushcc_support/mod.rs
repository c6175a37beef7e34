//! A small installation around the dushcc that was built, so that its tests need no library.
#![allow(dead_code, reason = "each test file uses its own part")]
use dushmem_testkit::folder::Folder;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with `prefix/` (an installation), `work/` (where dushcc runs) and `tmp/` (its TMPDIR).
pub struct Place(pub Folder);

const LIBRARY: &str = "int dushmem_my_pe(void) { return 7; }\n";
const HEADER: &str = "#ifdef __cplusplus\nextern \"C\"\n#endif\nint dushmem_my_pe(void);\n";

impl Place {
    pub fn new(name: &str) -> Place {
        let place = Place(Folder::new(&format!("dushcc-{name}")));
        for folder in [
            "prefix/bin",
            "prefix/lib",
            "prefix/include/dushmem/impl",
            "prefix/include/dushmem/emu",
            "work",
            "tmp",
        ] {
            fs::create_dir_all(place.0.join(folder)).expect("a new folder");
        }
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let prefix = place.0.join("prefix");
        fs::copy(env!("CARGO_BIN_EXE_dushcc"), prefix.join("bin/dushcc")).expect("dushcc");
        symlink("dushcc", prefix.join("bin/dushc++")).expect("a link");
        fs::write(prefix.join("include/dushmem.h"), HEADER).expect("written");
        fs::copy(here.join("src/dushcc/tests/stand_in.h"), prefix.join("include/dushmem/impl/emu.h"))
            .expect("copied");
        let launcher = here.join("../../include/dushmem/impl/launcher.h");
        fs::copy(launcher, prefix.join("include/dushmem/impl/launcher.h")).expect("copied");
        fs::write(place.0.join("library.c"), LIBRARY).expect("written");
        let lib = prefix.join("lib");
        let build = format!(
            "gcc -shared -fPIC -o {0}/libdushmem.so library.c && gcc -c library.c && ar rc {0}/libdushmem.a library.o",
            lib.display()
        );
        let out = Command::new("sh").args(["-c", &build]).current_dir(place.0.path()).output().expect("sh");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join("work").join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The named program of the installation, in the work folder, with nothing about dushmem in its environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.0.join("prefix/bin").join(program));
        command.current_dir(self.0.join("work")).env("TMPDIR", self.0.join("tmp"));
        command.env_remove("DUSHMEM_CC").env_remove("DUSHMEM_CXX");
        command
    }

    pub fn dushcc<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Output {
        self.command("dushcc").args(arguments).output().expect("dushcc starts")
    }

    /// Runs dushcc, which has to succeed and to leave nothing in its TMPDIR. Gives what it printed.
    #[track_caller]
    pub fn compiles(&self, line: &str) -> String {
        let out = self.dushcc(&line.split(' ').collect::<Vec<_>>());
        assert!(out.status.success(), "dushcc {line}: {}", text(&out.stderr));
        self.is_clean();
        text(&out.stdout)
    }

    /// Runs dushcc, which has to fail. Gives its messages.
    #[track_caller]
    pub fn fails(&self, line: &str) -> String {
        let out = self.dushcc(&line.split(' ').collect::<Vec<_>>());
        assert!(!out.status.success(), "dushcc {line} has succeeded");
        self.is_clean();
        text(&out.stderr)
    }

    #[track_caller]
    pub fn is_clean(&self) {
        let left: Vec<_> =
            fs::read_dir(self.0.join("tmp")).expect("there").flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    #[track_caller]
    pub fn runs(&self, program: &str) -> String {
        let out =
            Command::new(self.path(program)).output().unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(out.status.success(), "{program}: {}: {}", out.status, text(&out.stderr));
        text(&out.stdout)
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A host program that prints the number that the library gives.
pub const HOST: &str = "#include <dushmem.h>\n#include <stdio.h>\nint main(void) { printf(\"%d\\n\", dushmem_my_pe()); return 0; }\n";

/// A program with a kernel.
pub const KERNEL: &str = "#include <dushmem.h>\n\
__global__ void k(int *a) { *a += dushmem_my_pe(); }\n\
int main() {\n  int a = 1;\n  k<<<1, 1>>>(&a);\n  std::printf(\"%d\\n\", a);\n}\n";
