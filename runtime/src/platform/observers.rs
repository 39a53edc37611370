//! Detection of code in the program that could observe effects that most programs never observe.
//!
//! Code that counts the owners of an `Arc` can observe the order of their drops; in a program
//! without such code, these drops commute with everything. The compiler adds a byte to a section
//! of the executable wherever it generates code for an observer. So the presence of observers is
//! known before the program runs, and is the same in every execution, replay and shard.

use core::arch::global_asm;

use super::places;

/// The kinds of observers in a program. Each field names the observed fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not a state machine"
)]
pub(crate) struct Observers {
    /// The counters of an `Arc`: `strong_count`, `get_mut`, `Weak::upgrade` and so on.
    pub(crate) of_counters: bool,
    /// The end of a thread: code that has the pthread of the thread can check whether it has
    /// ended.
    pub(crate) of_ends: bool,
    /// The return of the closure of a thread: `is_finished` checks it.
    pub(crate) of_finishes: bool,
    /// Plain memory: the program is instrumented, so that its accesses are announced.
    pub(crate) of_accesses: bool,
    /// The equality of pointers: `compare_exchange` of `AtomicPtr` compares them.
    pub(crate) of_pointers: bool,
    /// The values of atomics: C code that Rust code calls may get the addresses of atomics, and
    /// read them.
    pub(crate) of_atomics: bool,
    /// The values of objects after each operation: the program may add an invariant, whose
    /// condition reads them.
    pub(crate) of_invariants: bool,
}

/// Adds a byte to the named section. The linker keeps the byte even if it drops the code around
/// this statement.
macro_rules! leave_byte {
    ($section:literal) => {
        // SAFETY: it generates no instructions.
        unsafe {
            core::arch::asm!(
                concat!(".pushsection ", $section, ",\"aR\",@progbits"),
                ".byte 1",
                ".popsection",
                options(nomem, nostack, preserves_flags),
            );
        }
    };
}

/// Every function that reads the counters of an `Arc` must call this function.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it makes no instructions")]
pub(crate) fn observes_counters() {
    leave_byte!("chess_counters");
}

/// Every function that checks whether a thread has ended must call this function.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it makes no instructions")]
pub(crate) fn observes_ends() {
    leave_byte!("chess_ends");
}

/// Every function that checks whether the main function of a thread has returned must call this
/// function.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it makes no instructions")]
pub(crate) fn observes_finishes() {
    leave_byte!("chess_finishes");
}

/// Every function that compares a pointer with an earlier one must call this function.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it makes no instructions")]
pub(crate) fn observes_pointers() {
    leave_byte!("chess_pointers");
}

/// Every function that adds an invariant must call this function.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it makes no instructions")]
pub(crate) fn observes_invariants() {
    leave_byte!("chess_invariants");
}

// The sections exist, with one byte each, even if there are no observers.
global_asm!(
    ".pushsection chess_counters,\"aR\",@progbits",
    ".globl __chess_counters",
    ".hidden __chess_counters",
    "__chess_counters: .byte 0",
    ".popsection",
    ".pushsection chess_ends,\"aR\",@progbits",
    ".globl __chess_ends",
    ".hidden __chess_ends",
    "__chess_ends: .byte 0",
    ".popsection",
    ".pushsection chess_finishes,\"aR\",@progbits",
    ".globl __chess_finishes",
    ".hidden __chess_finishes",
    "__chess_finishes: .byte 0",
    ".popsection",
    ".pushsection chess_pointers,\"aR\",@progbits",
    ".globl __chess_pointers",
    ".hidden __chess_pointers",
    "__chess_pointers: .byte 0",
    ".popsection",
    // `cargo-chess/src/linker` adds a byte to this section if it announces calls of C code.
    ".pushsection chess_atomics,\"aR\",@progbits",
    ".globl __chess_atomics",
    ".hidden __chess_atomics",
    "__chess_atomics: .byte 0",
    ".popsection",
    ".pushsection chess_invariants,\"aR\",@progbits",
    ".globl __chess_invariants",
    ".hidden __chess_invariants",
    "__chess_invariants: .byte 0",
    ".popsection",
);

unsafe extern "C" {
    // Named so that the bytes above are linked.
    static __chess_counters: u8;
    static __chess_ends: u8;
    static __chess_finishes: u8;
    static __chess_pointers: u8;
    static __chess_atomics: u8;
    static __chess_invariants: u8;
    // The linker's names for the bounds of a section.
    static __start_chess_counters: u8;
    static __stop_chess_counters: u8;
    static __start_chess_ends: u8;
    static __stop_chess_ends: u8;
    static __start_chess_finishes: u8;
    static __stop_chess_finishes: u8;
    static __start_chess_pointers: u8;
    static __stop_chess_pointers: u8;
    static __start_chess_atomics: u8;
    static __stop_chess_atomics: u8;
    static __start_chess_invariants: u8;
    static __stop_chess_invariants: u8;
}

impl Observers {
    /// All kinds.
    pub(crate) const ALL: Self = Self {
        of_counters: true,
        of_ends: true,
        of_finishes: true,
        of_accesses: true,
        of_pointers: true,
        of_atomics: true,
        of_invariants: true,
    };

    /// The kinds of observers that the program contains.
    pub(crate) fn of_program() -> Self {
        let is_more = |start: *const u8, own: *const u8, stop: *const u8| {
            debug_assert!((start..stop).contains(&own));
            stop.addr() - start.addr() > 1
        };
        Self {
            of_counters: is_more(
                &raw const __start_chess_counters,
                &raw const __chess_counters,
                &raw const __stop_chess_counters,
            ),
            of_ends: is_more(
                &raw const __start_chess_ends,
                &raw const __chess_ends,
                &raw const __stop_chess_ends,
            ),
            of_finishes: is_more(
                &raw const __start_chess_finishes,
                &raw const __chess_finishes,
                &raw const __stop_chess_finishes,
            ),
            // Only an instrumented program has a table of the places of its accesses.
            of_accesses: places::are_loaded(),
            of_pointers: is_more(
                &raw const __start_chess_pointers,
                &raw const __chess_pointers,
                &raw const __stop_chess_pointers,
            ),
            of_atomics: is_more(
                &raw const __start_chess_atomics,
                &raw const __chess_atomics,
                &raw const __stop_chess_atomics,
            ),
            of_invariants: is_more(
                &raw const __start_chess_invariants,
                &raw const __chess_invariants,
                &raw const __stop_chess_invariants,
            ),
        }
    }
}
