//! Stacks that the threads of a block run on, and the switch from one to another.
//!
//! A fiber switches straight to the next one. It calls [`switch`] from where the other one did, so that the
//! processor predicts the returns: with a scheduler in between, each switch cost two mispredictions more.
use crate::device;
use dushmem_core::env;
use dushmem_core::size::Size;
use std::arch::naked_asm;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

/// Saves the registers that calls preserve on the running stack, and its pointer at `save`; goes on with the
/// stack `to`, which did the same, or was prepared by [`Stack::prepare`].
///
/// # Safety
/// `to` is such a pointer, and nobody else goes on with it.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(save: *mut *mut u8, to: *mut u8) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Where a new stack begins: calls r13 with r12. It has no caller, which ends the unwinder's walk.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    naked_asm!("mov rdi, r12", "call r13", "ud2")
}

/// Bytes that [`switch`] takes from a prepared stack, and which of its words are what.
#[cfg(target_arch = "x86_64")]
const FRAME: (usize, usize, usize, usize) = (56, 3, 2, 6);

/// As on x86-64.
///
/// # Safety
/// As there.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(save: *mut *mut u8, to: *mut u8) {
    naked_asm!(
        "sub sp, sp, #160",
        "stp x19, x20, [sp, #0]",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "stp x29, x30, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        "ldp x19, x20, [sp, #0]",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp x29, x30, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "add sp, sp, #160",
        "ret",
    )
}

/// As on x86-64: calls x20 with x19.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    naked_asm!("mov x0, x19", "mov x30, xzr", "blr x20", "brk #1")
}

#[cfg(target_arch = "aarch64")]
const FRAME: (usize, usize, usize, usize) = (160, 0, 1, 11);

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the emulator switches stacks by itself, which it knows how to do on x86-64 and aarch64");

/// The variable that says how large stacks are.
pub const STACK_VARIABLE: &str = "DUSHMEM_EMU_STACK";

/// Bytes of a GPU thread's stack.
pub fn stack_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let bytes = device::setting(
            env::emu_stack,
            env::EMU_STACK,
            &format!("taking {}", Size::show(env::EMU_STACK)),
        );
        (bytes as usize).next_multiple_of(dushmem_os::memory::page())
    })
}

/// A stack: its lowest address, where its guard page is.
#[derive(Debug)]
pub(crate) struct Stack {
    base: *mut u8,
}

// SAFETY: memory that its owner uses.
unsafe impl Send for Stack {}

/// Stacks that nobody uses, clean ones at the end.
static FREE: Mutex<Vec<Stack>> = Mutex::new(Vec::new());
/// Stacks in use.
static USED: AtomicU32 = AtomicU32::new(0);
/// Stacks that are mapped together.
const BATCH: usize = 32;

fn whole() -> usize {
    stack_bytes() + dushmem_os::memory::page()
}

/// True if there can be stacks for so many GPU threads more, should all of them wait.
pub(crate) fn room_for(threads: u64) -> bool {
    // As many as a device can have resident; or what the limit on mappings leaves, two to a stack.
    let most = if dushmem_os::stack::take_mappings() { 28_000 } else { 270_000 };
    u64::from(USED.load(Ordering::Relaxed)) + threads <= most
}

impl Stack {
    /// A stack of [`stack_bytes`].
    pub fn new() -> io::Result<Stack> {
        let mut free = FREE.lock().unwrap_or_else(|e| e.into_inner());
        let stack = match free.pop() {
            Some(stack) => stack,
            None => {
                let base = dushmem_os::stack::map(BATCH, whole())?;
                free.extend((1..BATCH).map(|i| Stack { base: base.wrapping_add(i * whole()) }));
                Stack { base }
            }
        };
        USED.fetch_add(1, Ordering::Relaxed);
        Ok(stack)
    }

    /// For others to use.
    pub fn give_back(stacks: impl Iterator<Item = Stack>) {
        let mut count = 0;
        let clean = stacks.inspect(|stack| {
            count += 1;
            // SAFETY: its last user gives it back.
            unsafe { dushmem_os::stack::clean(stack.base, whole()) };
        });
        FREE.lock().unwrap_or_else(|e| e.into_inner()).extend(clean);
        USED.fetch_sub(count, Ordering::Relaxed);
    }

    /// Has `function(arg)` run when somebody switches to the pointer that this gives. It must not return.
    ///
    /// Where it begins differs from stack to stack by `number`: stacks lie a multiple of the page size apart, and
    /// would else share the few lines of the first-level cache that such addresses can be in.
    pub fn prepare<T>(
        &self,
        number: usize,
        function: unsafe extern "C" fn(*mut T) -> !,
        arg: *mut T,
    ) -> *mut u8 {
        let (bytes, arg_word, function_word, return_word) = FRAME;
        let top = self.base.wrapping_add(whole() - 64 * (number * 5 % 64));
        // `begin` wants a pointer that is a multiple of 16 when it is reached.
        let frame = top
            .wrapping_sub(64 + bytes.next_multiple_of(16))
            .wrapping_add(bytes.next_multiple_of(16) - bytes);
        let words = frame.cast::<usize>();
        // SAFETY: within the stack, which has 64 KiB at least.
        unsafe {
            frame.write_bytes(0, bytes);
            words.add(arg_word).write(arg as usize);
            words.add(function_word).write(function as usize);
            words.add(return_word).write(begin as *const () as usize);
        }
        frame
    }

    /// Whether `address` is in the page below the stack.
    pub fn guards(&self, address: usize) -> bool {
        address.wrapping_sub(self.base as usize) < dushmem_os::memory::page()
    }
}
