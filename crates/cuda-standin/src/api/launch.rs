//! Modules and launches.
use crate::call::{get, name as text, set};
use crate::capture::forbid;
use crate::code::{self, Out};
use crate::context::current;
use crate::knobs::KNOBS;
use crate::module::{FUNCTIONS, Function, LIBRARIES, Launch, MODULES, Module};
use crate::stream::find;
use crate::work::Work;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

/// Bytes of an image: PTX is a text, and nothing else can be loaded.
fn image<'a>(at: *const c_void) -> Out<&'a [u8]> {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let first = get(at.cast::<[u8; 4]>())?;
    if first == *b"\x7fELF" || first == 0xba55_ed50_u32.to_le_bytes() {
        return Err(code::NO_BINARY_FOR_GPU);
    }
    // SAFETY: the driver's interface has PTX end with a zero byte.
    Ok(unsafe { CStr::from_ptr(at.cast()) }.to_bytes())
}

fn global(module: &Module, at: *mut usize, bytes: *mut usize, name: *const c_char) -> Out {
    let (address, len) = *module.globals.get(&text(name)?).ok_or(code::NOT_FOUND)?;
    if !at.is_null() {
        set(at, address)?;
    }
    if bytes.is_null() { Ok(()) } else { set(bytes, len) }
}

/// Blocks of so many threads that a multiprocessor holds.
fn resident(threads: u32) -> u32 {
    (2048 / threads.next_multiple_of(32)).min(32)
}

#[allow(clippy::too_many_arguments, reason = "the driver's")]
fn launch(
    function: usize,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: usize,
    params: *const *const u8,
    extra: *const c_void,
    cooperative: bool,
) -> Out {
    let context = current()?;
    let function = FUNCTIONS.get(function, code::INVALID_HANDLE)?;
    let stream = find(stream)?;
    if function.module.context != context.handle || stream.context.handle != context.handle {
        return Err(code::INVALID_HANDLE);
    }
    let threads: u64 = block.iter().map(|size| u64::from(*size)).product();
    let blocks: u64 = grid.iter().map(|size| u64::from(*size)).product();
    if threads == 0 || threads > 1024 || block[2] > 64 || blocks == 0 || blocks > u64::from(u32::MAX) {
        return Err(code::INVALID_VALUE);
    }
    if shared > 48 << 10 || !extra.is_null() {
        return Err(code::INVALID_VALUE);
    }
    if cooperative && blocks > u64::from(resident(threads as u32)) * KNOBS.sms as u64 {
        return Err(code::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    let arguments = arguments(&function, params)?;
    stream.submit(Work::Kernel(Arc::new(Launch { function, blocks: blocks as u32, arguments }))).map(drop)
}

fn arguments(function: &Function, params: *const *const u8) -> Out<Vec<Vec<u8>>> {
    let Some(model) = function.model else {
        eprintln!("cuda-standin: {}: there is no model of this kernel", function.name);
        return Err(code::NOT_SUPPORTED);
    };
    if model.sizes != function.sizes {
        eprintln!(
            "cuda-standin: {}: parameters of {:?} bytes in the module, {:?} in the model",
            function.name, function.sizes, model.sizes
        );
        return Err(code::INVALID_IMAGE);
    }
    let argument = |(i, size): (usize, &usize)| {
        let at = get(params.wrapping_add(i))?;
        (0..*size).map(|byte| get(at.wrapping_add(byte))).collect::<Out<Vec<u8>>>()
    };
    function.sizes.iter().enumerate().map(argument).collect()
}

driver! {
    fn cuModuleLoadData(found: *mut usize, data: *const c_void) {
        let context = current()?;
        forbid()?;
        if found.is_null() {
            return Err(code::INVALID_VALUE);
        }
        set(found, Module::load(&context, image(data)?)?.handle)
    }

    fn cuModuleUnload(module: usize) {
        current()?;
        forbid()?;
        MODULES.remove(module, code::INVALID_HANDLE)?.unload();
        Ok(())
    }

    fn cuModuleGetFunction(found: *mut usize, module: usize, name: *const c_char) {
        set(found, MODULES.get(module, code::INVALID_HANDLE)?.function(&text(name)?)?)
    }

    fn cuModuleGetGlobal_v2(at: *mut usize, bytes: *mut usize, module: usize, name: *const c_char) {
        global(&*MODULES.get(module, code::INVALID_HANDLE)?, at, bytes, name)
    }

    fn cuLibraryLoadData(
        found: *mut usize, data: *const c_void, _options: *const c_void, _values: *const c_void, _n: u32,
        _library: *const c_void, _library_values: *const c_void, _library_n: u32,
    ) {
        let context = current()?;
        forbid()?;
        if found.is_null() {
            return Err(code::INVALID_VALUE);
        }
        let module = Module::load(&context, image(data)?)?;
        set(found, LIBRARIES.add(module))
    }

    fn cuLibraryUnload(library: usize) {
        forbid()?;
        let module = LIBRARIES.remove(library, code::INVALID_HANDLE)?;
        module.unload();
        MODULES.remove(module.handle, code::INVALID_HANDLE).map(drop)
    }

    fn cuLibraryGetModule(found: *mut usize, library: usize) {
        current()?;
        set(found, LIBRARIES.get(library, code::INVALID_HANDLE)?.handle)
    }

    fn cuLibraryGetGlobal(at: *mut usize, bytes: *mut usize, library: usize, name: *const c_char) {
        current()?;
        global(&**LIBRARIES.get(library, code::INVALID_HANDLE)?, at, bytes, name)
    }

    /// A kernel's handle is its function's.
    fn cuLibraryGetKernel(found: *mut usize, library: usize, name: *const c_char) {
        set(found, LIBRARIES.get(library, code::INVALID_HANDLE)?.function(&text(name)?)?)
    }

    fn cuKernelGetFunction(found: *mut usize, kernel: usize) {
        FUNCTIONS.get(kernel, code::INVALID_HANDLE)?;
        set(found, kernel)
    }

    fn cuFuncLoad(function: usize) {
        FUNCTIONS.get(function, code::INVALID_HANDLE).map(drop)
    }

    fn cuFuncGetModule(found: *mut usize, function: usize) {
        set(found, FUNCTIONS.get(function, code::INVALID_HANDLE)?.module.handle)
    }

    fn cuFuncGetAttribute(value: *mut i32, attribute: u32, function: usize) {
        FUNCTIONS.get(function, code::INVALID_HANDLE)?;
        let (major, minor) = crate::module::capability();
        set(value, match attribute {
            0 => 1024,
            4 => 32,
            5 => 80,
            6 => (major * 10 + minor) as i32,
            8 => 48 << 10,
            1..=15 => 0,
            _ => return Err(code::INVALID_VALUE),
        })
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(found: *mut i32, function: usize, threads: i32, shared: usize) {
        FUNCTIONS.get(function, code::INVALID_HANDLE)?;
        if !(1..=1024).contains(&threads) {
            return Err(code::INVALID_VALUE);
        }
        let by_shared = (228usize << 10).checked_div(shared).map_or(u32::MAX, |blocks| blocks as u32);
        set(found, resident(threads as u32).min(by_shared) as i32)
    }

    fn cuLaunchKernel(
        function: usize, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: usize, params: *const *const u8, extra: *const c_void,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(function, grid, block, shared, stream, params, extra, false)
    }

    fn cuLaunchCooperativeKernel(
        function: usize, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: usize, params: *const *const u8,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(function, grid, block, shared, stream, params, std::ptr::null(), true)
    }
}
