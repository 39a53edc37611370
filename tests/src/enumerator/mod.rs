//! What programs of threads can come to, by std's documentation alone.
//!
//! A program is written in a small language ([`Op`]). A machine runs it one operation at
//! a time, as std's documentation describes each of them, and a search goes through all
//! interleavings. None of this knows how the tool explores, so it shows what the tool
//! leaves out or makes up.

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
