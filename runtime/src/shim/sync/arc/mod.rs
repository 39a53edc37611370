//! `Arc` and `Weak`: newtypes, so that the ordering by their counters is observed.
//!
//! They lack the allocator parameter, which stable code cannot name.

mod convert;
mod order;
mod strong;
mod traits;
mod weak;

pub use strong::Arc;
pub use weak::Weak;

/// The engine's name for the counters of the value at `data`: their address. The address of the
/// value itself may be that of a lock, for instance.
fn counters<T: ?Sized>(data: *const T) -> usize {
    data.addr().wrapping_sub(size_of::<usize>())
}
