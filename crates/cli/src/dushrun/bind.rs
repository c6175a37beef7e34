//! Which CPUs each PE runs on.
use dushmem_os::process::CpuSet;
use std::str::FromStr;

/// How CPUs are given to PEs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// The kernel decides.
    None,
    /// One usable CPU each, in turn.
    Cpu,
    /// The usable CPUs are shared out.
    Spread,
    /// These sets, in turn.
    List(Vec<Vec<usize>>),
}

impl FromStr for Bind {
    type Err = String;

    fn from_str(text: &str) -> Result<Bind, String> {
        let text = text.trim();
        match text {
            "none" => return Ok(Bind::None),
            "cpu" | "core" => return Ok(Bind::Cpu),
            "spread" => return Ok(Bind::Spread),
            _ => {}
        }
        let number = |text: &str| text.parse::<usize>().ok().filter(|&cpu| cpu < 1024);
        let entry = |text: &str| match text.split_once('-') {
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                (from <= to).then(|| (from..=to).collect())
            }
            None => Some(vec![number(text)?]),
        };
        let list: Option<Vec<Vec<usize>>> = text.split(',').map(entry).collect();
        list.map(Bind::List).ok_or_else(|| "give none, cpu, spread, or CPU numbers as 0,2,4-7".to_owned())
    }
}

impl Bind {
    /// The CPUs of PE `pe` of `pes`, where `usable` are those that this process may use. An error names
    /// the CPUs that are not among them.
    pub fn cpus(&self, pe: usize, pes: usize, usable: &[usize]) -> Result<Option<CpuSet>, String> {
        let count = usable.len();
        Ok(match self {
            Bind::None => None,
            Bind::Cpu => Some(CpuSet::of([usable[pe % count]])),
            // More PEs than CPUs: neighbours share one.
            Bind::Spread if pes >= count => Some(CpuSet::of([usable[pe * count / pes]])),
            Bind::Spread => {
                Some(CpuSet::of(usable[pe * count / pes..(pe + 1) * count / pes].iter().copied()))
            }
            Bind::List(sets) => {
                let set = &sets[pe % sets.len()];
                if let Some(cpu) = set.iter().find(|cpu| !usable.contains(cpu)) {
                    return Err(format!(
                        "--bind: CPU {cpu} is not among those that may be used here: {usable:?}"
                    ));
                }
                Some(CpuSet::of(set.iter().copied()))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(how: &str, pes: usize, usable: &[usize]) -> Vec<Vec<usize>> {
        let bind: Bind = how.parse().unwrap();
        let cpus = |pe| bind.cpus(pe, pes, usable).unwrap().unwrap().iter().collect();
        (0..pes).map(cpus).collect()
    }

    #[test]
    fn cpus_are_shared_out() {
        assert_eq!(given("cpu", 3, &[2, 5]), [[2], [5], [2]]);
        assert_eq!(given("spread", 2, &[0, 1, 2, 3, 4]), [vec![0, 1], vec![2, 3, 4]]);
        assert_eq!(given("spread", 4, &[0, 1]), [[0], [0], [1], [1]]);
        assert_eq!(given("1,2-3", 3, &[1, 2, 3]), [vec![1], vec![2, 3], vec![1]]);
        assert!(Bind::None.cpus(0, 1, &[0]).unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bad in ["", "x", "1-", "3-1", "1,,2", "-1", "1024", "1;2"] {
            assert!(bad.parse::<Bind>().is_err(), "{bad}");
        }
        let error = "0,7".parse::<Bind>().unwrap().cpus(1, 2, &[0, 1]).unwrap_err();
        assert!(error.contains("CPU 7"), "{error}");
    }
}
