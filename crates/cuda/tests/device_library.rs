//! The device functions by name as PTX (`kernels/device`), which tools link that make kernels without the headers: on the
//! stand-in it gets the state as any module does; with the linker of nvcc, kernels that call it become one binary.
mod common;
use common::gpu;
use dushmem_core::device::{KernelState, Loaded};
use dushmem_core::device_heap::driver::HeapDevice;
use dushmem_cuda::kernels::STATE;
use dushmem_cuda::types;
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use std::ffi::CString;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

fn text() -> String {
    std::fs::read_to_string(root().join("kernels/device/libdushmem_device.ptx")).expect("it is checked in")
}

#[test]
fn a_module_with_it_gets_the_state() {
    let gpu = gpu();
    let (mut module, text) = (types::Module::NULL, CString::new(text()).unwrap());
    let (mut at, mut bytes) = (0, 0);
    {
        let _entered = gpu.context().enter().unwrap();
        // SAFETY: a place for a handle and a C string, then places for two numbers.
        unsafe {
            gpu.driver().module_load_data(&raw mut module, text.as_ptr().cast()).unwrap();
            gpu.driver().module_get_global(&raw mut at, &raw mut bytes, module, STATE.as_ptr()).unwrap();
        }
    }
    assert!(bytes <= size_of::<KernelState>(), "{bytes}: the text is older than the library, or newer");
    gpu.loaded(Loaded::Module(module.0 as usize), true).unwrap();
    let state = KernelState { magic: KernelState::MAGIC, my_pe: 5, n_pes: 8, ..KernelState::NONE };
    gpu.set_state(&state).unwrap();
    let mut found = vec![0u8; bytes];
    // SAFETY: the module's variable.
    unsafe { gpu.peek(at as usize, &mut found) }.unwrap();
    let word = |at: usize| i32::from_ne_bytes(found[at..at + 4].try_into().unwrap());
    assert_eq!(found[..8], KernelState::MAGIC.to_ne_bytes());
    assert_eq!((word(offset_of!(KernelState, my_pe)), word(offset_of!(KernelState, n_pes))), (5, 8));
}

#[test]
fn an_installation_has_it_under_both_names() {
    for name in ["libdushmem_device.ptx", "libnvshmem_device.ptx"] {
        let installed = std::fs::read_to_string(prefix().join("lib").join(name)).expect(name);
        assert_eq!(installed, text(), "{name}");
    }
}

/// A program for GPUs of CUDA's toolkit: beside `$DUSHMEM_NVCC`, in the wheels of the build folder, or in PATH.
fn tool(name: &str) -> Option<PathBuf> {
    let beside = std::env::var_os("DUSHMEM_NVCC").map(|nvcc| Path::new(&nvcc).with_file_name(name));
    let lib = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().map(|target| target.join("venv/lib"));
    let pythons = lib.and_then(|lib| std::fs::read_dir(lib).ok()).into_iter().flatten().flatten();
    let wheels = pythons.map(|python| python.path().join("site-packages/nvidia/cu13/bin").join(name));
    let mut all = beside.into_iter().chain(wheels).chain([name.into()]);
    let found =
        all.find(|path| Command::new(path).arg("--version").output().is_ok_and(|out| out.status.success()));
    if found.is_none() {
        eprintln!("not checked: there is no {name}; set DUSHMEM_NVCC");
    }
    found
}

/// A kernel as such tools make it: it says what it calls, and has no other part in the library.
fn kernel(calls: &[(&str, &str)]) -> String {
    let mut text = String::from(".version 8.4\n.target sm_80\n.address_size 64\n");
    let mut body = String::new();
    for (name, kinds) in calls {
        let (returns, params) = kinds.split_once(' ').unwrap();
        let params: Vec<&str> = params.split_whitespace().collect();
        let list = |mark: &str| {
            let all = params.iter().enumerate().map(|(i, kind)| format!(".param .{kind} {mark}{i}"));
            all.collect::<Vec<_>>().join(", ")
        };
        let result = if returns == "void" { String::new() } else { format!("(.param .{returns} r) ") };
        text += &format!(".extern .func {result}{name}({});\n", list("a"));
        body += "{\n";
        for (i, kind) in params.iter().enumerate() {
            let register = if *kind == "b64" { "%rd1" } else { "%r1" };
            body += &format!(".param .{kind} p{i};\nst.param.{kind} [p{i}], {register};\n");
        }
        let given = (0..params.len()).map(|i| format!("p{i}")).collect::<Vec<_>>().join(", ");
        body += &match returns {
            "void" => format!("call {name}, ({given});\n}}\n"),
            _ => format!(".param .{returns} q;\ncall (q), {name}, ({given});\n}}\n"),
        };
    }
    text + ".visible .entry made_by_a_tool(.param .u64 at)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n"
        + "ld.param.u64 %rd1, [at];\nmov.u32 %r1, 0;\n"
        + &body
        + "ret;\n}\n"
}

#[test]
fn kernels_of_other_tools_link_with_it() {
    let (Some(ptxas), Some(nvlink)) = (tool("ptxas"), tool("nvlink")) else { return };
    let folder = Folder::new("device-library");
    let run = |command: &mut Command| {
        let done = command.output().unwrap();
        (done.status.success(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
    };
    let assemble = |arch: &str, from: &Path, to: &Path| {
        let arch = format!("-arch={arch}");
        let (well, said) = run(Command::new(&ptxas).args([arch.as_str(), "-c", "-o"]).arg(to).arg(from));
        assert!(well && !said.contains("warning"), "{said}");
    };
    let calls = [
        ("nvshmem_my_pe", "b32 "),
        ("nvshmem_n_pes", "b32 "),
        ("nvshmem_ptr", "b64 b64 b32"),
        ("nvshmem_int_p", "void b64 b32 b32"),
        ("dushmem_double_g", "b64 b64 b32"),
        ("nvshmemx_putmem_block", "void b64 b64 b64 b32"),
        ("nvshmemx_getmem_nbi_warp", "void b64 b64 b64 b32"),
        ("nvshmemx_putmem_signal_block", "void b64 b64 b64 b64 b64 b32 b32"),
        ("nvshmemx_signal_op", "void b64 b64 b32 b32"),
        ("nvshmem_signal_wait_until", "b64 b64 b32 b64"),
        ("nvshmem_int_wait_until", "void b64 b32 b32"),
        ("nvshmem_uint64_atomic_fetch_add", "b64 b64 b64 b32"),
        ("nvshmem_fence", "void "),
        ("nvshmem_quiet", "void "),
        ("nvshmemx_barrier_all_block", "void "),
        ("dushmemx_sync_all_warp", "void "),
        ("nvshmem_barrier", "b32 b32"),
        ("nvshmem_team_my_pe", "b32 b32"),
    ];
    let (library, program) = (folder.join("library.ptx"), folder.join("program.ptx"));
    std::fs::write(&library, text()).unwrap();
    std::fs::write(&program, kernel(&calls)).unwrap();
    let unknown = folder.join("unknown.ptx");
    std::fs::write(&unknown, kernel(&[("nvshmem_no_such_call", "void ")])).unwrap();
    for arch in ["sm_80", "sm_90"] {
        let objects = ["library", "program", "unknown"].map(|name| folder.join(format!("{name}.{arch}.o")));
        for (from, to) in [&library, &program, &unknown].into_iter().zip(&objects) {
            assemble(arch, from, to);
        }
        let [library, program, unknown] = &objects;
        let linked = folder.join(format!("linked.{arch}"));
        let link = |with: &Path| {
            let arch = format!("-arch={arch}");
            run(Command::new(&nvlink).arg(arch).arg("-o").arg(&linked).arg(with).arg(library))
        };
        let (well, said) = link(program);
        assert!(well && !said.contains("warning"), "{said}");
        let binary = std::fs::read(&linked).unwrap();
        for symbol in ["dushmem_impl_state", "made_by_a_tool"] {
            let name = format!("\0{symbol}\0");
            assert!(binary.windows(name.len()).any(|at| at == name.as_bytes()), "{symbol} on {arch}");
        }
        // What is not there is found here, and not on a GPU.
        let (well, said) = link(unknown);
        assert!(!well && said.contains("nvshmem_no_such_call"), "{said}");
    }
}
