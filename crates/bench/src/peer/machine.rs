//! What the figures were measured on.
use std::fs;

/// The machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Model of the CPU.
    pub cpu: String,
    /// CPUs that this process may use.
    pub cpus: usize,
    /// Memory in MiB.
    pub memory: u64,
    /// Whether a hypervisor runs it.
    pub virtual_machine: bool,
    /// Name and version of the distribution.
    pub system: String,
    /// Version of the kernel.
    pub kernel: String,
}

impl Machine {
    /// This one.
    pub fn this() -> Machine {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Machine {
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            ..Machine::of(
                &read("/proc/cpuinfo"),
                &read("/proc/meminfo"),
                &read("/etc/os-release"),
                &read("/proc/sys/kernel/osrelease"),
            )
        }
    }

    fn of(cpuinfo: &str, meminfo: &str, os_release: &str, kernel: &str) -> Machine {
        let value = |text: &str, key: &str, between: char| {
            let line = text.lines().find(|line| line.split(between).next().is_some_and(|k| k.trim() == key));
            let value = line.and_then(|line| line.split_once(between)).map_or("", |(_, value)| value);
            value.trim().trim_matches('"').to_string()
        };
        let cpu = [value(cpuinfo, "model name", ':'), value(cpuinfo, "Model", ':')];
        let cpu = cpu.into_iter().find(|model| !model.is_empty());
        // Virtual machines hide the model's name; family and model number tell the generation.
        let number = |key| value(cpuinfo, key, ':');
        let numbers = match (number("cpu family"), number("model")) {
            (family, model) if !family.is_empty() && !model.is_empty() => {
                format!(" (family {family}, model {model})")
            }
            _ => String::new(),
        };
        let kib = value(meminfo, "MemTotal", ':');
        let kib: u64 = kib.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0);
        Machine {
            cpu: cpu.unwrap_or_else(|| "unknown CPU".into()) + &numbers,
            cpus: 0,
            memory: kib / 1024,
            virtual_machine: cpuinfo.split_whitespace().any(|flag| flag == "hypervisor"),
            system: value(os_release, "PRETTY_NAME", '='),
            kernel: kernel.trim().to_string(),
        }
    }

    /// In one sentence.
    pub fn sentence(&self) -> String {
        format!(
            "{}{} CPU{}, {}, {:.0} GiB, {}, Linux {}",
            if self.virtual_machine { "a virtual machine with " } else { "" },
            self.cpus,
            if self.cpus == 1 { "" } else { "s" },
            self.cpu,
            self.memory as f64 / 1024.0,
            self.system,
            self.kernel
        )
    }
}

/// The load averages over 1, 5 and 15 minutes.
pub fn load() -> [f64; 3] {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or(f64::NAN))
}

/// Today, as 2026-01-31.
pub fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    date((since.as_secs() / 86400) as i64)
}

/// The date of a day since 1970-01-01 (the inverse of the usual count of days from civil dates).
fn date(days: i64) -> String {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    // Months from March on, so that the odd day is the last one.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_read() {
        let machine = Machine::of(
            "processor : 0\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t: fpu hypervisor lm\n",
            "MemTotal:       24654321 kB\nMemFree: 1 kB\n",
            "NAME=\"x\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
            "6.18.0\n",
        );
        let shown = Machine { cpus: 2, ..machine }.sentence();
        let wanted = "a virtual machine with 2 CPUs, Intel(R) Xeon(R) Processor (family 6, model 207), 24 GiB, \
                      Debian GNU/Linux 12 (bookworm), Linux 6.18.0";
        assert_eq!(shown, wanted);
        assert_eq!(Machine::of("", "", "", "").cpu, "unknown CPU");
        assert!(Machine::this().memory > 0 && load()[0] >= 0.0);
    }

    #[test]
    fn days_have_dates() {
        for (days, text) in
            [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_786, "2026-11-29")]
        {
            assert_eq!(date(days), text);
        }
    }
}
