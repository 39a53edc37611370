//! The context switch: it exchanges the stack pointer and the thread-local base (FS) in user mode.
//!
//! The engine study measured 11 to 14 ns for a switch, most of it for `wrfsbase`. The processor
//! predicts that a `ret` returns to the instruction after the newest call. This is right if both
//! tasks were suspended at the same place; then the predictions for the returns of their callers
//! are right as well. So the switch ends in a `ret` in this case. Otherwise it ends in a jump,
//! which has another predictor.

use core::arch::{asm, naked_asm};

/// A suspended flow of control.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// Points to the saved registers, as [`switch`] pushes them.
    pub(crate) stack_pointer: usize,
    /// The FS base: the thread-local block.
    pub(crate) thread_pointer: usize,
}

impl Context {
    pub(crate) const EMPTY: Self = Self {
        stack_pointer: 0,
        thread_pointer: 0,
    };
}

/// The number of bytes from the stack pointer of a suspended context to the frame of its caller.
const SAVED_BYTES: usize = 64;

/// The stack pointer of the caller.
#[inline(always)]
#[expect(clippy::inline_always, reason = "otherwise it is that of a callee")]
pub(crate) fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// Suspends the caller in `from` and resumes `to`, on `to`'s stack and with its thread-local base.
/// Saved, from the stack pointer up: mxcsr and x87 control word, r15, r14, r13, r12, rbx, rbp,
/// return address.
///
/// # Safety
/// `to` must be a context that is suspended (or new) and whose stack is live; `from` must be
/// writable. During the call, no reference to anything that other tasks change may be held.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: *mut Context, to: *const Context) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp+4]",
        "mov rcx, rsp",
        "mov [rdi], rsp",
        "mov rsp, [rsi]",
        "mov rax, [rsi+8]",
        // Loading the control words is slow, and the words of two tasks hardly ever differ. So the
        // words are compared, and loaded only if they differ. Storing them is slow as well. So the
        // comparison reads the stored words only after the other loads have begun. `wrfsbase`
        // comes last, because it waits for all instructions before it.
        "mov edx, [rcx]",
        "cmp edx, [rsp]",
        "jne 2f",
        "mov dx, [rcx+4]",
        "cmp dx, [rsp+4]",
        "jne 2f",
        "3:",
        "add rsp, 8",
        "mov rdx, [rcx+56]",
        "cmp rdx, [rsp+48]",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "wrfsbase rax",
        "jne 4f",
        "ret",
        "4:",
        "pop rdx",
        "jmp rdx",
        "2:",
        "ldmxcsr [rsp]",
        "fldcw [rsp+4]",
        "jmp 3b",
    )
}

/// The body of a naked function that saves the callee-saved registers on the stack, and passes
/// their address to `$function` in `$register`. Other arguments keep their registers.
///
/// All of the state of the caller lies at and above this address. The function is naked because a
/// compiler's frame would have gaps, which contain remains of earlier calls.
macro_rules! call_above_registers {
    ($register:literal, $function:path) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "push rbp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            // Padding that aligns the stack. The word is always the same, so the stack contains no
            // remains of earlier calls there.
            "push 0",
            ".cfi_adjust_cfa_offset 56",
            concat!("mov ", $register, ", rsp"),
            "call {function}",
            "add rsp, 56",
            ".cfi_adjust_cfa_offset -56",
            "ret",
            ".cfi_endproc",
            function = sym $function,
        )
    };
}

pub(crate) use call_above_registers;

/// The main function of a task.
pub(crate) type Main = unsafe extern "C" fn() -> !;

/// The first frame of a task, which calls the main function in r12. The address of its caller is
/// undefined, so that unwinders and backtraces stop here.
#[unsafe(naked)]
unsafe extern "C" fn task_entry() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "xor ebp, ebp",
        "mov rax, r12",
        "xor r12d, r12d",
        "call rax",
        "ud2",
        ".cfi_endproc",
    )
}

/// The control words of the calling task for floating-point arithmetic, which contain the rounding
/// mode. The lower half is `mxcsr` without its sticky exceptions, and the upper half is the control
/// word of the x87.
fn control_words() -> u64 {
    const EXCEPTIONS: u32 = 0x3f;
    let (mut mxcsr, mut x87) = (0u32, 0u16);
    // SAFETY: stores two registers in the variables.
    unsafe {
        asm!(
            "stmxcsr [{mxcsr}]",
            "fnstcw [{x87}]",
            mxcsr = in(reg) &raw mut mxcsr,
            x87 = in(reg) &raw mut x87,
            options(nostack, preserves_flags),
        );
    }
    u64::from(mxcsr & !EXCEPTIONS) | u64::from(x87) << 32
}

/// Prepares a stack so that the first [`switch`] to it enters a new task with this main function.
/// Returns the stack pointer for the [`Context`] of the task. `top` is the high end of the stack.
/// As a new thread does, the task inherits the control words of the calling task.
///
/// # Safety
/// The memory below `top` must be a writable stack that nothing else uses.
pub(crate) unsafe fn new_stack(top: usize, main: Main) -> usize {
    /// The place of r12 among the saved registers.
    const R12: usize = 4;
    // At `task_entry` the stack must be 16-byte aligned, as before any call.
    let frame = (top & !15) - 16 - SAVED_BYTES;
    let words = frame as *mut u64;
    // SAFETY: eight words below `top`, which belong to this stack.
    unsafe {
        words.write(control_words());
        for register in 1..7 {
            words.add(register).write(0);
        }
        words.add(R12).write(main as usize as u64);
        words.add(7).write(task_entry as *const () as u64);
    }
    frame
}

/// The calling thread's FS base.
pub(crate) fn thread_pointer() -> usize {
    let base: usize;
    // SAFETY: reads a register; `supported` was checked at start.
    unsafe { asm!("rdfsbase {}", out(reg) base, options(nomem, nostack)) };
    base
}

/// Whether the kernel lets user mode read and write the FS base (bit 1 of `AT_HWCAP2`).
pub(crate) fn supported() -> bool {
    const AT_HWCAP2: u64 = 26;
    unsafe extern "C" {
        fn getauxval(kind: u64) -> u64;
    }
    // SAFETY: reads the auxiliary vector.
    let bits = unsafe { getauxval(AT_HWCAP2) };
    bits & 2 != 0
}
