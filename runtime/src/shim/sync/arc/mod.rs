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

/// The number by which the engine identifies the counters of the value at `data`. This number is
/// the address of the word before the value, in the counters or in the padding after them. The
/// address of the value could already identify another object, for instance a lock.
fn counters<T: ?Sized>(data: *const T) -> usize {
    data.addr().wrapping_sub(size_of::<usize>())
}
