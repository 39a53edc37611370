//! The platform layer: stacks, thread-local blocks, the program's heap and image, and
//! the interposed functions of libc.

pub(crate) mod confine;
pub(crate) mod context;
pub(crate) mod descriptor;
pub(crate) mod donor;
pub(crate) mod fingerprint;
pub(crate) mod handover;
pub(crate) mod heap;
pub(crate) mod image;
pub(crate) mod interpose;
pub(crate) mod memory;
pub(crate) mod number;
pub(crate) mod observers;
pub(crate) mod refusal;
pub(crate) mod socket;
pub(crate) mod streams;
pub(crate) mod sys;
pub(crate) mod unwind;
