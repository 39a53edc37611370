//! The lowest floor of the runtime: system calls, the engine's memory, and small tools that several
//! floors use. The parts that the search needs as well lie in its crate, and are re-exported here.

pub(crate) mod address_table;
pub(crate) mod clock;
pub(crate) mod loaded_objects;
pub(crate) mod memory;
pub(crate) mod number;
pub(crate) mod panic_payload;
pub(crate) mod real;
pub(crate) mod source_path;
pub(crate) mod sys;

pub(crate) use chess_search::base::{checkpoint, codec, fingerprint, rng};
