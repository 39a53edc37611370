//! `Arc` and `Weak`: newtypes, so that what their counters order is seen.
//!
//! Without the allocator parameter, which stable code cannot name.

mod convert;
mod order;
mod strong;
mod traits;
mod weak;

pub use strong::Arc;
pub use weak::Weak;

/// Where the counters are that belong to the value at `data`: the engine's name
/// for them. The value's own address may be that of a lock, say.
fn counters<T: ?Sized>(data: *const T) -> usize {
    data.addr().wrapping_sub(size_of::<usize>())
}
