//! `Arc` and `Weak`: newtypes that announce the operations on their counters.
//!
//! They lack the allocator parameter, which stable code cannot name.

mod convert;
mod order;
mod strong;
mod traits;
mod weak;

pub use strong::Arc;
pub use weak::Weak;

/// The number of the engine for the counters of the value at `data`: an address in the counters.
/// The address of the value may already identify another object, for instance a lock.
fn counters<T: ?Sized>(data: *const T) -> usize {
    data.addr().wrapping_sub(size_of::<usize>())
}
