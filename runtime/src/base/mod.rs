//! The foundation of the runtime: system calls, the engine's memory, random numbers,
//! and saved bytes.

pub(crate) mod address_table;
pub(crate) mod checkpoint;
pub(crate) mod clock;
pub(crate) mod codec;
pub(crate) mod fingerprint;
pub(crate) mod loaded_objects;
pub(crate) mod memory;
pub(crate) mod number;
pub(crate) mod panic_payload;
pub(crate) mod real;
pub(crate) mod rng;
pub(crate) mod source_path;
pub(crate) mod sys;
