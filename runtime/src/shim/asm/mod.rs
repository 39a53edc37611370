//! `asm!`: an analysis of the text, followed by the real `asm!`. Fences and atomic instructions become
//! operations. Atomic instructions, calls of the kernel, and reads of the processor's clock or random
//! numbers are reported as effects that are outside control.
//!
//! The text is analysed at compile time, so that inline assembly without such effects is
//! unchanged.

mod reader;

use std::panic::Location;
use std::sync::atomic::Ordering;

use chess_vocabulary::OutsideEffect;

use crate::execution::{self, Op, Site};
use crate::monitor::race;
use reader::Reader;

/// The length in bytes of the longest text that is analysed. The analysis of a longer text would
/// take the compiler too long.
const LONGEST: usize = 16 << 10;

/// An address that is less than this number of bytes above the current frame counts as stack data
/// of the function that contains the assembly.
const NEAR: usize = 4 << 10;

/// The effects of inline assembly that other tasks, or the outside, can observe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asm(u8);

impl Asm {
    const NOTHING: Asm = Asm(0);
    /// The assembly orders memory accesses.
    const FENCE: Asm = Asm(1);
    /// The assembly changes memory that other tasks may use, in one step.
    const ATOMIC: Asm = Asm(2);
    /// The assembly calls the kernel.
    const SYSCALL: Asm = Asm(4);
    /// The assembly reads the processor's clock or random numbers.
    const CHANCE: Asm = Asm(8);
    /// The text of the assembly is too long for the analysis.
    const LONG: Asm = Asm(16);

    /// The effects of an `asm!`. `tokens` are its arguments, as `stringify!` prints them.
    #[must_use]
    pub const fn of(tokens: &str) -> Asm {
        if tokens.len() > LONGEST {
            return Asm::LONG;
        }
        Reader::new(tokens.as_bytes()).read()
    }

    /// Must be called immediately before the assembly runs. If the only operand of the assembly is
    /// an address, `memory` is this address, otherwise 0.
    #[inline(always)]
    #[track_caller]
    #[expect(
        clippy::inline_always,
        reason = "assembly of no interest must not pay for a call, optimised or not"
    )]
    pub fn before(self, memory: usize) {
        if self != Asm::NOTHING && execution::active() {
            self.happens(memory, Location::caller());
        }
    }

    #[cold]
    fn happens(self, memory: usize, site: Site) {
        let has = |what: Asm| self.0 & what.0 != 0;
        let on_own_stack = memory.wrapping_sub((&raw const site).addr()) < NEAR;
        if has(Asm::ATOMIC) && !on_own_stack {
            execution::access(Op::Asm, 0, site);
            execution::touch_unseen();
            execution::note_outside_at(OutsideEffect::AssemblyMemory, site);
        } else if has(Asm::ATOMIC) || has(Asm::FENCE) {
            execution::access(Op::Fence, 0, site);
            // The accesses that the fence orders may be inline assembly as well, which the runtime
            // does not see.
            execution::touch_unseen();
            race::fence(Ordering::SeqCst, site);
        }
        if has(Asm::SYSCALL) {
            execution::note_outside_at(OutsideEffect::AssemblyKernel, site);
        }
        if has(Asm::CHANCE) {
            execution::note_outside_at(OutsideEffect::AssemblyChance, site);
        }
        if has(Asm::LONG) {
            execution::note_outside_at(OutsideEffect::AssemblyLong, site);
        }
    }

    const fn and(self, other: Asm) -> Asm {
        Asm(self.0 | other.0)
    }
}

/// The value of an operand as a word; 0 if it has another size.
#[inline]
pub fn word<T: Copy>(operand: T) -> usize {
    if size_of::<T>() == size_of::<usize>() {
        // SAFETY: the sizes are equal, and an operand in a register is a plain number or a pointer.
        unsafe { core::mem::transmute_copy(&operand) }
    } else {
        0
    }
}

/// The replacement of [`std::arch::asm`].
#[macro_export]
#[doc(hidden)]
macro_rules! __chess_asm {
    // The form of fences that write to the stack: the only operand is the address of a variable.
    ($template:expr, in(reg) $operand:expr, options($($option:tt)*) $(,)?) => {
        match $operand {
            operand => {
                const SEEN: $crate::shim::asm::Asm =
                    $crate::shim::asm::Asm::of($crate::shim::asm::stringify!($template));
                SEEN.before($crate::shim::asm::word(operand));
                $crate::shim::asm::asm!($template, in(reg) operand, options($($option)*))
            }
        }
    };
    ($($tokens:tt)*) => {{
        const SEEN: $crate::shim::asm::Asm =
            $crate::shim::asm::Asm::of($crate::shim::asm::stringify!($($tokens)*));
        SEEN.before(0);
        $crate::shim::asm::asm!($($tokens)*)
    }};
}

pub use core::arch::asm;
pub use core::stringify;
