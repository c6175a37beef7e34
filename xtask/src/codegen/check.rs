//! What the files of the table say must fit together.
use super::table::*;
use std::collections::HashMap;

impl Table {
    /// What the files say must fit together.
    pub(super) fn check(&self) -> Result<(), String> {
        for row in &self.rows {
            if let Some(name) = row.types.iter().find(|name| self.type_named(name).is_none()) {
                return Err(format!("api/tables.tsv: table {}: there is no type {name}", row.table));
            }
        }
        for ty in &self.types {
            if let Some(other) = ty.same_as.as_deref().filter(|name| self.type_named(name).is_none()) {
                return Err(format!("api/types.tsv: {}: there is no type {other}", ty.name));
            }
        }
        let known = |table: &str| self.rows.iter().any(|row| row.table == table);
        let mut names: HashMap<String, &str> = HashMap::new();
        for op in &self.ops {
            let typed = op.name.contains("<T>") || op.name.contains("<N>");
            if op.table.is_some() != typed || op.table.as_deref().is_some_and(|table| !known(table)) {
                return Err(format!("api/ops.tsv: {}: name and type table do not fit", op.name));
            }
            if op.body.is_some() && op.doc == "-" {
                return Err(format!(
                    "api/ops.tsv: {}: it is exported, so it needs a line of documentation",
                    op.name
                ));
            }
            for name in op.spaces.iter().map(|space| format!("{}{}", space.prefix(), op.name)) {
                if names.insert(name.clone(), &op.area).is_some() {
                    return Err(format!("api/ops.tsv: {name} occurs twice"));
                }
            }
        }
        let mut constants: HashMap<String, &str> = HashMap::new();
        for constant in &self.constants {
            for space in &constant.spaces {
                let name = format!("{}{}", space.prefix(), constant.name);
                if constants.insert(name.clone(), &constant.value).is_some() {
                    return Err(format!("api/constants.tsv: {name} occurs twice"));
                }
            }
        }
        for row in &self.env {
            if !["Size", "Number", "Switch", "Text"].contains(&row[1].as_str()) {
                return Err(format!("api/env.tsv: {}: there is no kind {}", row[0], row[1]));
            }
            families(&row[3])?;
            if !["read", "none"].contains(&row[4].as_str()) {
                return Err(format!(
                    "api/env.tsv: {}: it is read, or has none (no effect), not {}",
                    row[0], row[4]
                ));
            }
        }
        let mut codes: Vec<&str> = self.errors.iter().map(|error| error.1.as_str()).collect();
        codes.sort_unstable();
        if let Some(pair) = codes.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("api/errors.tsv: code {} occurs twice; codes are never reused", pair[0]));
        }
        self.check_device()?;
        for row in &self.extensions {
            families(&row[1])?;
        }
        Ok(())
    }

    /// A kernel's function stands for one of the host that takes the same, or for none.
    fn check_device(&self) -> Result<(), String> {
        let mut seen: HashMap<String, ()> = HashMap::new();
        for row in &self.device {
            let wrong = |what: String| Err(format!("api/device.tsv: {} {what}", row.name));
            let typed = row.name.contains("<T>") || row.name.contains("<N>");
            if row.presence != Presence::Absent && row.table.is_some() != typed {
                return wrong("and its type table do not fit".into());
            }
            for space in &row.spaces {
                if seen.insert(format!("{}{}", space.prefix(), row.name), ()).is_some() {
                    return wrong(format!("occurs twice as {}", space.prefix()));
                }
            }
            let twin = self.ops.iter().find(|op| op.name == row.name && op.spaces.contains(&row.spaces[0]));
            match (row.presence, twin) {
                (Presence::Twin, None) => return wrong("has no host twin in api/ops.tsv".into()),
                (Presence::Device, Some(_)) => return wrong("has a host twin in api/ops.tsv".into()),
                (Presence::Twin, Some(op)) => {
                    let kinds = |params: &[Param]| -> Vec<String> {
                        params.iter().map(|param| param.kind.replace("const ", "")).collect()
                    };
                    if kinds(&op.params) != kinds(&row.params)
                        || op.returns != row.returns
                        || op.table != row.table
                    {
                        return wrong("is not what its host twin in api/ops.tsv is".into());
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::root;
    use dushmem_testkit::folder::Folder;

    /// Loads a copy of the table in which the first `old` of a file is `new`.
    fn changed(file: &str, old: &str, new: &str) -> Result<Table, String> {
        let dir = Folder::new("table");
        for entry in std::fs::read_dir(root().join("api")).expect("the table") {
            let from = entry.expect("a file of the table").path();
            if from.is_dir() {
                continue;
            }
            let name = from.file_name().expect("a file's name");
            let mut text = std::fs::read_to_string(&from).expect("a file of the table");
            if name == file {
                assert!(text.contains(old), "{file} has no {old:?}");
                text = text.replacen(old, new, 1);
            }
            std::fs::write(dir.join(name), text).expect("writing the copy");
        }
        Table::load(dir.path())
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let cases = [
            ("types.tsv", "int32_t\ti32\t4\tint", "int32_t\ti32\t4\tinteger", "there is no type integer"),
            ("tables.tsv", "float,double", "float,dobule", "there is no type dobule"),
            ("ops.tsv", "<T>_put\trma", "<T>_put\trna", "name and type table do not fit"),
            ("ops.tsv", "<T>_put\trma", "putt\trma", "name and type table do not fit"),
            ("ops.tsv", "setup\tn_pes", "setup\tmy_pe", "my_pe occurs twice"),
            ("ops.tsv", "\td,n,s\t", "\td,q,s\t", "`q` is no family"),
            ("ops.tsv", "Number of the calling PE.", "-", "it needs a line of documentation"),
            ("ops.tsv", "\tsetup::my_pe", "\t\tsetup::my_pe", "fields where 13 are needed"),
            ("constants.tsv", "CMP_NE\t", "CMP_EQ\t", "CMP_EQ occurs twice"),
            ("errors.tsv", "ERROR_SYMMETRY\t4", "ERROR_SYMMETRY\t3", "code 3 occurs twice"),
            ("env.tsv", "\tSize\t", "\tsize\t", "there is no kind size"),
            ("device.tsv", "query\tmy_pe", "query\tour_pe", "has no host twin"),
            (
                "device.tsv",
                "void *\tconst void *ptr, int pe",
                "void *\tconst void *ptr",
                "is not what its host twin",
            ),
            ("device.tsv", "rma\t<T>_put_warp", "rma\t<T>_put_block", "occurs twice as"),
            ("device.tsv", "warp\tdx,nx\tdevice", "warp\tdx,nx\thost twin", "has no host twin"),
            ("device.tsv", "warp\tdx,nx\tdevice", "warp\tdx,nx\tlater", "`later` is no status"),
            ("device.tsv", "warp\tdx,nx\tdevice", "wave\tdx,nx\tdevice", "`wave` is no scope"),
            ("device.tsv", "<T>_put\trma", "<T>_put\t-", "type table do not fit"),
        ];
        for (file, old, new, complaint) in cases {
            match changed(file, old, new) {
                Ok(_) => panic!("{file} with {new:?} for {old:?} was accepted"),
                Err(error) => assert!(error.contains(complaint), "{file}: {error}"),
            }
        }
    }

    #[test]
    fn one_name_stands_for_each_c_type() {
        let table = Table::load(&root().join("api")).expect("the table");
        let names = |name: &str, family| -> Vec<String> {
            table.distinct(name, family).iter().map(|ty| ty.name.clone()).collect()
        };
        assert_eq!(names("rma", Family::Shmem).len(), 14);
        assert_eq!(names("rma", Family::Nvshmem).len(), 15, "no long double, but half and bfloat16");
        assert!(!names("rma", Family::Nvshmem).contains(&"longdouble".to_string()));
        assert_eq!(names("amo", Family::Shmem).len(), 6);
        // int8_t is in the table of bitwise reductions, signed char is not: its other name stands in.
        assert!(names("reduce_bit", Family::Shmem).contains(&"int8".to_string()));
        assert!(!names("reduce_bit", Family::Shmem).contains(&"int32".to_string()));
    }
}
