//! Settings of each family, and what is wrong with values.
use super::*;

const NVSHMEM: &[&str] = &["DUSHMEM", "NVSHMEM"];
const SHMEM: &[&str] = &["DUSHMEM", "SHMEM", "SMA"];

fn read(prefixes: &[&str], pairs: &[(&str, &str)]) -> Result<Settings> {
    let get = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Settings::read(prefixes, &get)
}

#[test]
fn devices_and_their_memory() {
    let one = |name: &str, value: &str| read(NVSHMEM, &[(name, value)]);
    assert_eq!(one("DUSHMEM_DEVICE", "cuda").unwrap().device, DeviceKind::Cuda);
    assert!(one("DUSHMEM_DEVICE", "gpu").unwrap_err().to_string().contains("auto, cuda and emu"));
    assert_eq!(one("NVSHMEM_MAX_MEMORY_PER_GPU", "2G").unwrap().device_heap, Some(2 << 30));
    assert!(one("DUSHMEM_DEVICE_HEAP_SIZE", "0").is_err() && one("DUSHMEM_DEVICE_HEAP_SIZE", "1Gx").is_err());
    let none = one("DUSHMEM_DEVICE_HEAP_SIZE", "0").unwrap_err().to_string();
    assert!(none.contains("=0: a heap of no bytes; set it to what the program allocates"), "{none}");
    assert_eq!(one("NVSHMEM_HEAP_KIND", "SYSMEM").unwrap().heap_kind, HeapKind::Host);
    assert_eq!(one("DUSHMEM_HEAP_KIND", "device").unwrap().heap_kind, HeapKind::Device);
    assert!(one("DUSHMEM_HEAP_KIND", "disk").is_err());
}

#[test]
fn variables_of_other_parts_are_checked_whatever_the_start() {
    for (name, value, why) in [
        ("BOOTSTRAP_TIMEOUT", "-1", "not a whole number from 1 to 2147483648"),
        ("BOOTSTRAP_TIMEOUT", "0", "not a whole number from 1 to 2147483648"),
        ("BOOTSTRAP", "slurm", "there is no such bootstrap; use auto, launcher or singleton"),
        ("GPU_SHARE", "some", "write mps, plain or auto, or unset it"),
        ("EMU_DEVICES", "0", "not a whole number from 1 to 4096"),
        ("EMU_SEED", "x", "not a whole number from 0 to 18446744073709551615"),
        ("EMU_STACK", "1K", "a size from 64K to 1G is needed"),
        ("EMU_STACK", "1Mx", "not a size; a number of bytes, or with K, M, G or T"),
        ("EMU_THREADS", "warps", "neither fibers nor os"),
        ("EMU_WARP", "16", "a warp has 32 or 64 lanes"),
        ("EMU_WATCHDOG", "-1", "not a number of seconds; 0 stands for never"),
        ("DISABLE_CUDA_VMM", "x", "neither yes nor no; write 1 or 0"),
    ] {
        let name = format!("DUSHMEM_{name}");
        for prefixes in [NVSHMEM, SHMEM].iter().filter(|p| !name.contains("VMM") || **p == NVSHMEM) {
            let error = read(prefixes, &[(&name, value)]).unwrap_err().to_string();
            assert_eq!(error, format!("{name}={value}: {why}"));
            assert!(read(prefixes, &[(&name, " ")]).is_ok(), "an empty one is not set");
        }
    }
    let right = [
        ("BOOTSTRAP_TIMEOUT", "7"),
        ("BOOTSTRAP", " singleton"),
        ("GPU_SHARE", "plain "),
        ("EMU_DEVICES", "4096 "),
        ("EMU_SEED", " 0"),
        ("EMU_STACK", "64K"),
        ("EMU_THREADS", "os "),
        ("EMU_WARP", "64"),
        ("EMU_WATCHDOG", "0.3"),
    ];
    for (name, value) in right {
        assert!(read(SHMEM, &[(&format!("DUSHMEM_{name}"), value)]).is_ok(), "{name}");
    }
}

#[test]
fn prefixes_have_an_order() {
    let all =
        [("DUSHMEM_SYMMETRIC_SIZE", "1M"), ("SHMEM_SYMMETRIC_SIZE", "2M"), ("SMA_SYMMETRIC_SIZE", "3M")];
    for (at, size) in [(0, 1), (1, 2), (2, 3)] {
        assert_eq!(read(SHMEM, &all[at..]).unwrap().heap_size, size << 20);
    }
    assert_eq!(read(NVSHMEM, &all[1..]).unwrap().heap_size, 1 << 30);
    assert_eq!(read(NVSHMEM, &[("NVSHMEM_SYMMETRIC_SIZE", "2G")]).unwrap().heap_size, 2 << 30);
}

#[test]
fn an_empty_variable_is_not_set() {
    let empty: Vec<(&str, &str)> = vec![
        ("DUSHMEM_SYMMETRIC_SIZE", ""),
        ("DUSHMEM_TRANSPORT", " "),
        ("DUSHMEM_TEAM_SLOTS", ""),
        ("NVSHMEM_VERSION", ""),
        ("NVSHMEM_INFO", ""),
        ("DUSHMEM_DEVICE_HEAP_SIZE", ""),
        ("DUSHMEM_STREAM_COPY", ""),
        ("NVSHMEM_MAX_TEAMS", ""),
        ("DUSHMEM_DEBUG", ""),
    ];
    let (read_empty, unset) = (read(NVSHMEM, &empty).unwrap(), read(NVSHMEM, &[]).unwrap());
    assert_eq!(format!("{read_empty:?}"), format!("{unset:?}"));
    let next = [("DUSHMEM_SYMMETRIC_SIZE", ""), ("SHMEM_SYMMETRIC_SIZE", "2M")];
    assert_eq!(read(SHMEM, &next).unwrap().heap_size, 2 << 20);
}

#[test]
fn no_heap_at_all_is_legal_and_told() {
    let none = read(SHMEM, &[("SHMEM_SYMMETRIC_SIZE", "0")]).unwrap();
    assert_eq!(none.heap_size, 0);
    assert!(none.warnings[0].contains("=0: there is no symmetric heap then"), "{:?}", none.warnings);
}

#[test]
fn values_are_read_by_the_rules_of_their_family() {
    // OpenSHMEM: the suffix counts, the rest is ignored, and told.
    let odd = read(SHMEM, &[("SHMEM_SYMMETRIC_SIZE", "20kk")]).unwrap();
    assert_eq!(odd.heap_size, 20 << 10);
    assert!(odd.warnings[0].contains("read as 20480 bytes"), "{:?}", odd.warnings);
    // NVSHMEM: nothing may follow.
    let error = read(NVSHMEM, &[("NVSHMEM_SYMMETRIC_SIZE", "20kk")]).unwrap_err().to_string();
    assert!(error.starts_with("NVSHMEM_SYMMETRIC_SIZE=20kk: not a size"), "{error}");
    // Any value of OpenSHMEM's, a switch of NVSHMEM's.
    for value in ["", "0", "no", "1", "yes"] {
        let settings = read(SHMEM, &[("SHMEM_VERSION", value), ("SHMEM_INFO", value)]).unwrap();
        assert!(settings.print_version && settings.print_info, "{value}");
    }
    for (value, on) in
        [("0", false), ("no", false), ("False", false), ("1", true), ("yes", true), ("x", true)]
    {
        let settings = read(NVSHMEM, &[("NVSHMEM_VERSION", value), ("NVSHMEM_STATIC", value)]).unwrap();
        assert_eq!((settings.print_version, settings.static_data), (on, Some(on)), "{value}");
    }
    assert!(read(&["DUSHMEM"], &[("DUSHMEM_STATIC", "x")]).is_err());
}

#[test]
fn names_of_nvshmem_have_their_effect() {
    let slots = |pairs: &[(&str, &str)]| read(NVSHMEM, pairs).map(|settings| settings.team_slots);
    assert_eq!(slots(&[("NVSHMEM_MAX_TEAMS", "32")]), Ok(32));
    assert_eq!(slots(&[("NVSHMEM_MAX_TEAMS", "2")]), Ok(8));
    assert_eq!(slots(&[("NVSHMEM_MAX_TEAMS", "32"), ("DUSHMEM_TEAM_SLOTS", "64")]), Ok(64));
    assert!(slots(&[("NVSHMEM_MAX_TEAMS", "many")]).is_err());
    assert_eq!(read(SHMEM, &[("NVSHMEM_MAX_TEAMS", "32")]).unwrap().team_slots, 256);
    let blocks = |pairs: &[(&str, &str)]| read(NVSHMEM, pairs).map(|settings| settings.collective_blocks);
    assert_eq!((blocks(&[]), blocks(&[("NVSHMEM_MAX_CTAS", "16")])), (Ok(0), Ok(16)));
    assert!(blocks(&[("DUSHMEM_MAX_CTAS", "-1")]).is_err());
    // Known without effect: whatever the value.
    assert!(read(NVSHMEM, &[("NVSHMEM_IB_SL", "x"), ("NVSHMEM_QP_DEPTH", "")]).unwrap().warnings.is_empty());
    assert_eq!(VARIABLES.iter().filter(|v| v.prefixes.contains(&"NVSHMEM") && !v.has_effect).count(), 89);
}

#[test]
fn levels_of_diagnostic_lines() {
    let level = |prefixes, name, value| read(prefixes, &[(name, value)]).unwrap().debug;
    assert_eq!(level(SHMEM, "SHMEM_DEBUG", "0"), DebugLevel::Info, "any value");
    assert_eq!(level(SHMEM, "SHMEM_DEBUG", "trace"), DebugLevel::Trace);
    assert_eq!(level(SHMEM, "DUSHMEM_DEBUG", "0"), DebugLevel::Off);
    assert_eq!(level(NVSHMEM, "NVSHMEM_DEBUG", ""), DebugLevel::Off);
    assert_eq!(level(NVSHMEM, "NVSHMEM_DEBUG", "WARN"), DebugLevel::Warn);
    assert!(read(NVSHMEM, &[("NVSHMEM_DEBUG", "VERSION")]).unwrap().print_version);
    assert_eq!(level(NVSHMEM, "SHMEM_DEBUG", "1"), DebugLevel::Off, "another family's");
}

#[test]
fn a_blank_that_is_wrong_is_seen() {
    let told = |value: &str| read(NVSHMEM, &[("DUSHMEM_GPU_SHARE", value)]).unwrap_err().to_string();
    assert_eq!(told("plains "), "DUSHMEM_GPU_SHARE=\"plains \": write mps, plain or auto, or unset it");
    assert_eq!(told("a b"), "DUSHMEM_GPU_SHARE=a b: write mps, plain or auto, or unset it");
    let warned = read(SHMEM, &[("SHMEM_SYMMETRIC_SIZE", "0 ")]).unwrap().warnings;
    assert!(warned[0].starts_with("SHMEM_SYMMETRIC_SIZE=\"0 \": there is no"), "{warned:?}");
}
