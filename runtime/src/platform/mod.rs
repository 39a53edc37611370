//! The platform layer: stacks, thread-local blocks, and the program's heap and image.

pub(crate) mod abort;
pub(crate) mod confine;
pub(crate) mod context;
pub(crate) mod descriptor;
pub(crate) mod executable;
pub(crate) mod handover;
pub(crate) mod heap;
pub(crate) mod image;
pub(crate) mod leftovers;
pub(crate) mod observers;
pub(crate) mod places;
pub(crate) mod proc;
pub(crate) mod process_activity;
pub(crate) mod robust_list;
pub(crate) mod scratch;
pub(crate) mod signals_in_flight;
pub(crate) mod socket;
pub(crate) mod stack_pool;
pub(crate) mod streams;
pub(crate) mod unwind;
