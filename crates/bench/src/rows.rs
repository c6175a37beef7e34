//! Rows, and what each may cost.
use crate::tools::ToolError;

/// One figure beside the raw one.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Operation.
    pub name: String,
    /// Number of PEs.
    pub pes: usize,
    /// Bytes moved, 0 where that says nothing.
    pub bytes: usize,
    /// Median of the library's operation.
    pub ours: f64,
    /// Median of the raw operation.
    pub raw: f64,
    /// Least of the library's.
    pub ours_min: f64,
    /// Least of the raw one's.
    pub raw_min: f64,
    /// Unit of the four figures.
    pub unit: String,
    /// What the row may cost.
    pub limit: Option<Limit>,
}

/// What a row may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// At most so much, in the row's unit.
    Most(f64),
    /// At most so many times the raw operation.
    Ratio(f64),
}

impl Limit {
    /// The project's bar for a row.
    pub fn of(row: &Row) -> Option<Limit> {
        Some(match row.name.as_str() {
            "p 8 B" => Limit::Most(1.5),
            "put 8 B" | "g 8 B" => Limit::Most(6.0),
            "fetch_add 8 B" => Limit::Most(8.0),
            "p 8 B + quiet" => Limit::Most(12.0),
            "put" | "get" => Limit::Ratio(1.15),
            "barrier_all" => Limit::Ratio(1.5),
            "launch to exit" => Limit::Ratio(3.0),
            "launch + synchronise" => Limit::Most(5.0),
            "__syncthreads, 256" => Limit::Most(40.0),
            // 20 million threads a second and CPU.
            "thread, blocks of 256" | "thread, blocks of 32" => Limit::Most(50.0),
            "put by a block" if row.bytes == 1 << 20 => Limit::Ratio(1.5),
            "PSS of a PE" => Limit::Most(1.5 * 1024.0),
            "CPU of waiters, 2 s" | "CPU of waiters for words, 2 s" => Limit::Most(0.3),
            _ => return None,
        })
    }
}

impl Row {
    /// The library's median over the raw one.
    pub fn ratio(&self) -> f64 {
        self.ours / self.raw
    }

    /// Whether the row keeps its limit, if it has one.
    pub fn verdict(&self) -> Option<bool> {
        self.limit.map(|limit| match limit {
            Limit::Most(most) => self.ours <= most,
            Limit::Ratio(ratio) => self.ratio() <= ratio,
        })
    }
}

/// Reads the lines of the measuring program.
pub fn parse(output: &str) -> Result<Vec<Row>, ToolError> {
    let rows: Option<Vec<Row>> = output
        .lines()
        .filter(|line| line.starts_with("row\t"))
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [_, name, pes, bytes, ours, raw, ours_min, raw_min, unit] = fields[..] else { return None };
            Some(Row {
                name: name.to_string(),
                pes: pes.parse().ok()?,
                bytes: bytes.parse().ok()?,
                ours: ours.parse().ok()?,
                raw: raw.parse().ok()?,
                ours_min: ours_min.parse().ok()?,
                raw_min: raw_min.parse().ok()?,
                unit: unit.to_string(),
                limit: None,
            })
        })
        .collect();
    rows.filter(|rows| !rows.is_empty()).ok_or_else(|| ToolError::Output(output.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rows_and_refuses_what_is_none() {
        let rows = parse("noise\nrow\tput\t2\t4096\t20.5\t20.0\t19\t18\tns\n").unwrap();
        assert_eq!((rows[0].pes, rows[0].bytes, rows[0].ratio()), (2, 4096, 1.025));
        assert_eq!(Limit::of(&rows[0]), Some(Limit::Ratio(1.15)));
        assert!(parse("row\tput\t2\n").is_err() && parse("").is_err());
    }

    #[test]
    fn a_row_over_its_limit_is_a_miss() {
        let mut row = parse("row\tp 8 B\t2\t8\t2.0\t1.0\t1\t1\tns\n").unwrap().remove(0);
        row.limit = Limit::of(&row);
        assert_eq!(row.verdict(), Some(false));
        row.ours = 1.4;
        assert_eq!(row.verdict(), Some(true));
    }
}
