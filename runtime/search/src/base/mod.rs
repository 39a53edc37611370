//! The ground that the search shares with the runtime: the engine's memory, random numbers, hashes,
//! and saved bytes.

pub mod checkpoint;
pub mod codec;
pub mod fingerprint;
pub mod memory;
pub mod rng;
