//! The protocol between dushrun and the PEs that it starts.
//!
//! A PE inherits three descriptors: the job's memory (sized for its job page), one end of a control
//! socket, and the reading end of a pipe whose only writer is the launcher. The first two carry what
//! little is said; the kernel ends a PE when the pipe has no writer any more, so that no PE outlives its
//! launcher, wherever in the process tree it stands. None of the three has a name.
use crate::error::BootError;
use dushmem_core::job::SHARED_ABI;
use std::fmt;

/// The variable that holds a [`LaunchLine`].
pub const VARIABLE: &str = "DUSHMEM_LAUNCH";

/// Most PEs of one node.
pub const MAX_PES: usize = 65_535;

/// What a PE is told, in one variable: `v1,abi=10,sock=3,mem=4,life=5,pe=0,npes=2,by=4711,job=00c0ffee`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchLine {
    /// Descriptor of the control socket.
    pub sock: i32,
    /// Descriptor of the node's memory.
    pub mem: i32,
    /// Descriptor of the pipe that tells that the launcher lives.
    pub life: i32,
    /// Number of this PE.
    pub pe: usize,
    /// Number of PEs.
    pub npes: usize,
    /// Process id of the launcher.
    pub by: u32,
    /// Names the job in process listings.
    pub job: String,
}

impl fmt::Display for LaunchLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LaunchLine { sock, mem, life, pe, npes, by, job } = self;
        write!(
            f,
            "v1,abi={SHARED_ABI},sock={sock},mem={mem},life={life},pe={pe},npes={npes},by={by},job={job}"
        )
    }
}

impl LaunchLine {
    /// Reads the value of [`VARIABLE`].
    pub fn parse(value: &str) -> Result<LaunchLine, BootError> {
        let bad = |why: String| BootError::BadLaunch { value: value.to_owned(), why };
        let mut parts = value.split(',');
        match parts.next() {
            Some("v1") => {}
            other => {
                let found = other.unwrap_or_default();
                return Err(bad(format!(
                    "version {found:?} of the launch protocol, where this library knows v1"
                )));
            }
        }
        let fields: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        let field = |key: &str| {
            let found = fields.iter().find(|(name, _)| *name == key);
            found.map(|(_, text)| *text).ok_or_else(|| bad(format!("{key}= is missing")))
        };
        // What both read and write has no other mark.
        let abi = field("abi").unwrap_or("an older one");
        if abi != SHARED_ABI.to_string() {
            return Err(bad(format!(
                "this dushrun is of another build (its layout of the job's memory is {abi}, this library's is {SHARED_ABI}); use \
                 the dushrun that is installed with the library"
            )));
        }
        let number = |key: &str, max: i64| {
            let text = field(key)?;
            let parsed = text.parse::<i64>().ok().filter(|n| (0..=max).contains(n));
            parsed.ok_or_else(|| bad(format!("{key}={text} is not a number from 0 to {max}")))
        };
        let line = LaunchLine {
            sock: number("sock", i32::MAX.into())? as i32,
            mem: number("mem", i32::MAX.into())? as i32,
            life: number("life", i32::MAX.into())? as i32,
            pe: number("pe", MAX_PES as i64)? as usize,
            npes: number("npes", MAX_PES as i64)? as usize,
            by: number("by", i32::MAX.into())? as u32,
            job: field("job")?.to_owned(),
        };
        if line.pe >= line.npes {
            return Err(bad(format!("pe={} is not below npes={}", line.pe, line.npes)));
        }
        Ok(line)
    }
}

/// What a PE tells the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The PE has called init. Its process id comes with the message, from the kernel.
    Joined {
        /// Which PE.
        pe: usize,
    },
    /// The PE ends the whole job.
    Abort {
        /// Which PE.
        pe: usize,
        /// Exit code of the job.
        code: i32,
        /// One line for the user, or nothing if the PE has printed it or there is nothing to say.
        text: String,
    },
}

impl Message {
    /// As bytes, at most [`dushmem_os::socket::MESSAGE`]; a longer text is cut.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, pe, code, text) = match self {
            Message::Joined { pe } => (1u8, *pe, 0, ""),
            Message::Abort { pe, code, text } => (2u8, *pe, *code, text.as_str()),
        };
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&(pe as u32).to_le_bytes());
        bytes.extend_from_slice(&code.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes.truncate(dushmem_os::socket::MESSAGE);
        bytes
    }

    /// From bytes; `None` for what is no message.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let (head, text) = bytes.split_at_checked(9)?;
        let pe = u32::from_le_bytes(head[1..5].try_into().ok()?) as usize;
        let code = i32::from_le_bytes(head[5..9].try_into().ok()?);
        match head[0] {
            1 => Some(Message::Joined { pe }),
            2 => Some(Message::Abort { pe, code, text: String::from_utf8_lossy(text).into_owned() }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> LaunchLine {
        LaunchLine { sock: 3, mem: 4, life: 5, pe: 1, npes: 2, by: 77, job: "ab".into() }
    }

    #[test]
    fn a_line_survives_the_round_trip() {
        assert_eq!(LaunchLine::parse(&line().to_string()).unwrap(), line());
    }

    #[test]
    fn what_is_wrong_with_a_line_is_named() {
        let good = line().to_string();
        let cases = [
            ("", "version \"\""),
            ("v2,sock=3", "version \"v2\""),
            (&good.replace(&format!("abi={SHARED_ABI},"), ""), "is an older one, this library's is"),
            (&good.replace(&format!("abi={SHARED_ABI},"), "abi=7,"), "is 7, this library's is"),
            (&good.replace("mem=4,", ""), "mem= is missing"),
            (&good.replace("pe=1,", "pe=2,"), "pe=2 is not below npes=2"),
            (&good.replace("sock=3", "sock=-1"), "sock=-1 is not a number"),
            (&good.replace("npes=2", "npes=99999999999999999999"), "npes=99999999999999999999 is not"),
            (&good.replace("npes=2", "npes=0"), "pe=1 is not below npes=0"),
        ];
        for (value, why) in cases {
            let error = LaunchLine::parse(value).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("dushrun"), "{value}: {error}");
        }
    }

    #[test]
    fn messages_survive_the_round_trip() {
        let abort = Message::Abort { pe: 70_000, code: -3, text: "PE 7: ä".into() };
        for message in [Message::Joined { pe: 3 }, abort] {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
        assert_eq!(Message::decode(b"short"), None);
        assert_eq!(Message::decode(&[9; 12]), None);
    }

    #[test]
    fn a_long_text_is_cut() {
        let message = Message::Abort { pe: 0, code: 1, text: "x".repeat(10_000) };
        assert_eq!(message.encode().len(), dushmem_os::socket::MESSAGE);
    }
}
