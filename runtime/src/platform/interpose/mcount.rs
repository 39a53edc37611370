//! `mcount`: what each function of a package that is compiled as it is calls first.
//!
//! Such packages are compiled with rustc's `-Zinstrument-mcount` (C code with
//! `cc -pg` is the same), so that a call into them can be a scheduling point. The
//! callers' convention is that of profilers: nothing at all may change, not even
//! what holds arguments.

use core::arch::naked_asm;

use crate::execution::opaque;

/// Saves what a function may be given or must keep, tells the engine, and puts
/// it all back. The frame pointer serves to align the stack: not every caller
/// has done so.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn mcount() {
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
        enter = sym enter,
    )
}

unsafe extern "C" fn enter() {
    opaque::enter();
}
