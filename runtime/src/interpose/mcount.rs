//! The hooks that announce calls of code that is compiled unchanged, and of C code.
//!
//! Packages whose source is unchanged are compiled with rustc's `-Zinstrument-mcount` (`cc -pg`
//! does the same for C code). So each of their functions first calls a hook, and a call into such
//! a package can be a scheduling point. Where Rust code calls a function of C code, the linker
//! inserts the call of a hook (cargo-chess/src/linker). The calling convention is that of
//! profilers: a hook must not even change the registers that hold arguments.

use core::arch::naked_asm;

use crate::execution::opaque;

/// Defines a hook that calls `$enter`. The hook saves and restores the registers that may hold
/// arguments, and the other general registers that `$enter` may change. The hook aligns the stack,
/// because not every caller has aligned it, and restores the stack pointer from the frame pointer.
macro_rules! announcement {
    ($(#[$attribute:meta])* $name:ident, $enter:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "and rsp, -16",
                "sub rsp, 208",
                "mov [rsp], rax",
                "mov [rsp+8], rcx",
                "mov [rsp+16], rdx",
                "mov [rsp+24], rsi",
                "mov [rsp+32], rdi",
                "mov [rsp+40], r8",
                "mov [rsp+48], r9",
                "mov [rsp+56], r10",
                "mov [rsp+64], r11",
                "movups [rsp+80], xmm0",
                "movups [rsp+96], xmm1",
                "movups [rsp+112], xmm2",
                "movups [rsp+128], xmm3",
                "movups [rsp+144], xmm4",
                "movups [rsp+160], xmm5",
                "movups [rsp+176], xmm6",
                "movups [rsp+192], xmm7",
                "call {enter}",
                "movups xmm0, [rsp+80]",
                "movups xmm1, [rsp+96]",
                "movups xmm2, [rsp+112]",
                "movups xmm3, [rsp+128]",
                "movups xmm4, [rsp+144]",
                "movups xmm5, [rsp+160]",
                "movups xmm6, [rsp+176]",
                "movups xmm7, [rsp+192]",
                "mov rax, [rsp]",
                "mov rcx, [rsp+8]",
                "mov rdx, [rsp+16]",
                "mov rsi, [rsp+24]",
                "mov rdi, [rsp+32]",
                "mov r8, [rsp+40]",
                "mov r9, [rsp+48]",
                "mov r10, [rsp+56]",
                "mov r11, [rsp+64]",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                enter = sym $enter,
            )
        }
    };
}

announcement!(
    /// The hook at the start of each function of a package that is compiled unchanged.
    mcount,
    enter
);
announcement!(
    /// The hook before each call by which Rust code calls a function that rustc did not compile.
    /// The linker inserts the call of the hook.
    __chess_foreign_call,
    enter_foreign
);

unsafe extern "C" fn enter() {
    opaque::enter();
}

unsafe extern "C" fn enter_foreign() {
    opaque::enter_foreign();
}

#[cfg(test)]
mod tests {
    use core::arch::asm;

    #[test]
    fn registers_of_arguments_are_unchanged() {
        let mut words = [1u64, 2, 3, 4, 5, 6, 7, 8, 9];
        let mut numbers = [0.5f64, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5];
        let [rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11] = &mut words;
        let [xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7] = &mut numbers;
        // SAFETY: a call on an aligned stack; all registers that it may change are named.
        unsafe {
            asm!(
                "call {mcount}",
                mcount = sym super::mcount,
                inout("rax") *rax, inout("rcx") *rcx, inout("rdx") *rdx,
                inout("rsi") *rsi, inout("rdi") *rdi, inout("r8") *r8,
                inout("r9") *r9, inout("r10") *r10, inout("r11") *r11,
                inout("xmm0") *xmm0, inout("xmm1") *xmm1, inout("xmm2") *xmm2,
                inout("xmm3") *xmm3, inout("xmm4") *xmm4, inout("xmm5") *xmm5,
                inout("xmm6") *xmm6, inout("xmm7") *xmm7,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            );
        }
        assert_eq!(words, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let bits = [0.5f64, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5].map(f64::to_bits);
        assert_eq!(numbers.map(f64::to_bits), bits);
    }
}
