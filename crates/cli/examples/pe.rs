//! A PE whose behaviour the tests of the launcher choose by words, done one after the other:
//!
//! `join`, `finalize`, `barrier`, `hold` (notes a wait that does not end), `asks` (its kernels ask the proxy), `linger` (one that does), `spin` (computes for ever),
//! `out=TEXT`, `err=TEXT`, `part=TEXT` and `errpart=TEXT` (without a newline), `lines=N`, `sleep=MS`, `exit=CODE`, `kill=SIGNAL`,
//! `abort=CODE[:TEXT]`, `cat` (standard input), `env=NAME`, `ignore=SIGNAL`,
//! `catch=SIGNAL` (prints it), `exiton=SIGNAL` (with code 99), `cpus`, `place`, `gather`, `touch=FILE` (`$` in it: the PE), `sh=COMMAND`. `K:word` is for PE K only, `!K:word` for all others.
use dushmem_boot::Call;
use dushmem_boot::bootstrap::Bootstrap;
use dushmem_boot::job::{PeState, WaitRecord};
use dushmem_boot::request::{Op, Request};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

fn main() {
    let me: usize = std::env::var("DUSHMEM_PE").map_or(0, |pe| pe.parse().unwrap());
    let mut boot: Option<Arc<dyn Bootstrap>> = None;
    for word in std::env::args().skip(1) {
        match word.split_once(':') {
            Some((pe, rest)) if pe.parse() == Ok(me) => act(rest, me, &mut boot),
            Some((pe, _)) if pe.parse::<usize>().is_ok() => {}
            Some((pe, rest)) if pe.starts_with('!') && pe[1..].parse::<usize>().is_ok() => {
                if pe[1..].parse() != Ok(me) {
                    act(rest, me, &mut boot);
                }
            }
            _ => act(&word, me, &mut boot),
        }
    }
}

fn act(word: &str, me: usize, boot: &mut Option<Arc<dyn Bootstrap>>) {
    let (verb, value) = word.split_once('=').unwrap_or((word, ""));
    let number = || value.parse::<i32>().unwrap();
    let joined = || boot.as_ref().expect("join comes first");
    match verb {
        "join" => {
            let new = dushmem_boot::connect().unwrap_or_else(|error| {
                eprintln!("pe: {error}");
                std::process::exit(3)
            });
            new.report(PeState::Joined);
            *boot = Some(new);
        }
        "finalize" => {
            joined().barrier();
            joined().report(PeState::Finalized);
        }
        "barrier" => joined().barrier(),
        "hold" | "linger" => {
            let record = WaitRecord { call: Call::BarrierAll as u32, awaited: -1, ..WaitRecord::default() };
            let slot = &joined().node_memory().1.card(me).waits()[3];
            let _noted = slot.note(&record);
            for _ in 0..if verb == "hold" { 6000 } else { 300 } {
                std::thread::sleep(Duration::from_millis(10));
                slot.looks();
            }
        }
        // As a PE whose kernels on a GPU ask the proxy.
        "asks" => {
            let record = Request::new(Op::Put, 0, &[]).record(5);
            let since = dushmem_os::clock::monotonic_ns();
            joined().node_memory().1.card(me).requests().show(Some((record, since)));
            std::thread::sleep(Duration::from_secs(60));
        }
        "place" => println!("{:?}", joined().place()),
        "gather" => println!("{:?}", joined().allgather(&[me as u8, 7])),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "out" => println!("{value}"),
        "err" => eprintln!("{value}"),
        "part" => {
            print!("{value}");
            std::io::stdout().flush().unwrap();
        }
        "errpart" => eprint!("{value}"),
        "lines" => {
            // In pieces that end in the middle of lines.
            let text: String = (0..number())
                .map(|line| format!("{me} {line} {}\n", "x".repeat(line as usize % 97)))
                .collect();
            let mut out = std::fs::File::from(
                std::os::fd::AsFd::as_fd(&std::io::stdout()).try_clone_to_owned().unwrap(),
            );
            text.as_bytes().chunks(37).for_each(|piece| out.write_all(piece).unwrap());
        }
        "sleep" => std::thread::sleep(Duration::from_millis(number() as u64)),
        "exit" => std::process::exit(number()),
        "kill" => {
            // The Rust runtime answers the first SIGSEGV by restoring the default.
            dushmem_os::signal::send(std::process::id(), number());
            dushmem_os::signal::send(std::process::id(), number());
            std::thread::sleep(Duration::from_secs(10));
        }
        "abort" => {
            let (code, text) = value.split_once(':').unwrap_or((value, ""));
            joined().abort(code.parse().unwrap(), text)
        }
        "cat" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).unwrap();
            println!("{}", text.trim_end());
        }
        "env" => println!("{value}={}", std::env::var(value).unwrap_or_default()),
        "cpus" => println!("{:?}", dushmem_os::process::CpuSet::usable().unwrap()),
        "touch" => drop(std::fs::File::create(value.replace('$', &me.to_string())).unwrap()),
        "ignore" => dushmem_os::signal::ignore(number()),
        "catch" => {
            // Received here from now on, and reported.
            let signals = dushmem_os::signal::Signals::catch(&[number()]).unwrap();
            std::thread::spawn(move || {
                loop {
                    while let Some((number, _)) = signals.next() {
                        println!("PE {me} got {}", dushmem_os::signal::name(number));
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
        }
        "exiton" => {
            let signals = dushmem_os::signal::Signals::catch(&[number()]).unwrap();
            std::thread::spawn(move || {
                while signals.next().is_none() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                std::process::exit(99)
            });
        }
        "sh" => drop(std::process::Command::new("sh").arg("-c").arg(value).status().unwrap()),
        other => panic!("{other}: no such word"),
    }
}
