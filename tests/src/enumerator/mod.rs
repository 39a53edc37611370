//! The possible outcomes of programs of threads, by std's documentation alone.
//!
//! A program is written in a small language ([`Op`]). A machine runs it one operation at a time, as
//! std's documentation describes each of them, and a search visits all interleavings. None of this
//! code depends on the code of the tool. So a comparison shows outcomes that the tool misses or
//! invents.
//!
//! To add an operation:
//!
//! 1. `program.rs`: its `Op`. `fixtures/enumerated/src/op.rs` has the same enumeration, and
//!    `task.rs` there performs the operation on real threads.
//! 2. `compile.rs`: its `Step`s, and their order.
//! 3. `machine/`: the effect of each step on the states of the objects (`objects.rs`), as std's
//!    documentation describes it; steps without a scheduling point are in `machine/passing.rs`.
//! 4. `random.rs`: its place in random programs.

mod compile;
mod machine;
mod objects;
mod program;
mod random;
mod search;
mod shrink;
#[cfg(test)]
mod tests;

pub use program::{Kind, Op, Program};
pub use random::random_program;
pub use search::{Outcomes, enumerate};
pub use shrink::shrink;
