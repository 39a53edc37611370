//! The modules that the search shares with the runtime: the engine's memory, random numbers,
//! hashes, and the serialization of saved state.

pub mod checkpoint;
pub mod codec;
pub mod fingerprint;
pub mod memory;
pub mod rng;
