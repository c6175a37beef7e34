//! `--gpu-bind`: one GPU for each PE, by the variable that says what a program sees.
use crate::error::RunError;
use crate::gpus;
use std::ffi::{CStr, CString};
use std::str::FromStr;

/// What CUDA reads.
const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// Which GPUs the PEs see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GpuBind {
    /// All of those that dushrun sees.
    #[default]
    None,
    /// One of those each, in turn.
    Each,
    /// One of these each, in turn: numbers, or names as nvidia-smi -L has them.
    List(Vec<String>),
}

impl FromStr for GpuBind {
    type Err = String;

    fn from_str(text: &str) -> Result<GpuBind, String> {
        let named = |entry: &&str| {
            let number = entry.bytes().all(|byte| byte.is_ascii_digit()) && entry.parse::<u16>().is_ok();
            number || entry.starts_with("GPU-") || entry.starts_with("MIG-")
        };
        match text.trim() {
            "none" => Ok(GpuBind::None),
            "each" => Ok(GpuBind::Each),
            text => {
                let entries: Vec<&str> = text.split(',').map(str::trim).collect();
                match entries.iter().all(named) {
                    true => Ok(GpuBind::List(entries.into_iter().map(str::to_owned).collect())),
                    false => Err("give none, each, or GPUs as 0,1 or GPU-8932f937,GPU-2f1a9b04".to_owned()),
                }
            }
        }
    }
}

impl GpuBind {
    /// The variable's value for PE `pe`, whose environment is `env`; `there`: GPUs of the machine.
    pub fn of(&self, pe: usize, env: &[CString], there: usize) -> Result<Option<String>, RunError> {
        let entries = match self {
            GpuBind::None => return Ok(None),
            GpuBind::List(entries) => entries.clone(),
            GpuBind::Each => seen(env, there),
        };
        match entries.get(pe % entries.len().max(1)) {
            Some(entry) => Ok(Some(entry.clone())),
            None => Err(RunError::Gpus(format!(
                "--gpu-bind=each: no GPU can be seen here; look at {VARIABLE} and at what nvidia-smi -L lists, or name \
                 them: --gpu-bind=0,1"
            ))),
        }
    }

    /// GPUs of this machine, if somebody has to know.
    pub fn there(&self) -> usize {
        if *self == GpuBind::Each { gpus::there() } else { 0 }
    }
}

/// What the variable of a PE is.
pub fn assigned(gpu: &str) -> String {
    format!("{VARIABLE}={gpu}")
}

/// Whether this is it.
pub fn is_variable(assigned: &CStr) -> bool {
    value(assigned).is_some()
}

fn value(assigned: &CStr) -> Option<String> {
    assigned.to_string_lossy().strip_prefix(VARIABLE)?.strip_prefix('=').map(str::to_owned)
}

/// What a program with that environment sees, as it would name it.
fn seen(env: &[CString], there: usize) -> Vec<String> {
    match env.iter().find_map(|variable| value(variable)) {
        None => (0..there).map(|number| number.to_string()).collect(),
        Some(list) => {
            let entries = list.split(',').map(str::trim);
            entries.take_while(|entry| !entry.is_empty() && *entry != "-1").map(str::to_owned).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(how: &str, variable: Option<&str>, there: usize, pes: usize) -> Result<Vec<String>, String> {
        let env: Vec<CString> = ["A=1".to_owned()]
            .into_iter()
            .chain(variable.map(|value| format!("{VARIABLE}={value}")))
            .map(|text| CString::new(text).unwrap())
            .collect();
        let bind: GpuBind = how.parse()?;
        let each = (0..pes).map(|pe| bind.of(pe, &env, there).map_err(|why| why.to_string()));
        each.map(|gpu| gpu.map(|gpu| gpu.unwrap_or("all".into()))).collect()
    }

    #[test]
    fn gpus_are_given_out_in_turn() {
        assert_eq!(given("none", None, 2, 2).unwrap(), ["all", "all"]);
        assert_eq!(given("each", None, 2, 3).unwrap(), ["0", "1", "0"]);
        assert_eq!(given("each", Some("3, GPU-8932f937,-1,2"), 8, 3).unwrap(), ["3", "GPU-8932f937", "3"]);
        assert_eq!(given("1,0", Some("5"), 0, 3).unwrap(), ["1", "0", "1"]);
        assert_eq!(given("GPU-1,MIG-2", None, 0, 2).unwrap(), ["GPU-1", "MIG-2"]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bad in ["", "x", "0,,1", "0-1", "-1", "+1", "GPU", "99999999999999999999"] {
            assert!(given(bad, None, 2, 1).is_err(), "{bad}");
        }
        for (variable, there) in [(None, 0), (Some(""), 2), (Some("-1"), 2)] {
            let error = given("each", variable, there, 1).unwrap_err();
            assert!(error.contains(VARIABLE) && error.contains("--gpu-bind=0,1"), "{error}");
        }
    }
}
