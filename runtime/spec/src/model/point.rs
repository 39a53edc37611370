//! Explicit scheduling points.

/// A scheduling point: another thread may run here.
///
/// Operations of `std::sync` and `std::thread` are scheduling points already. This function adds
/// one before code without such an operation: a change of state that only a model has, a call of a
/// simulated device.
///
/// Under cargo chess every call of this function depends on every other call. So the search tries
/// all orders of the code from a call to the next operation of its thread. Place a call before
/// each action whose order matters, and nowhere else. A call orders no memory accesses. A call is
/// not a yield: a loop that waits needs [`yield_now`](std::thread::yield_now).
///
/// Under plain `cargo test` it is a yield.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// // Code that no search sees, such as a driver in C, has this register.
/// static REGISTER: AtomicU32 = AtomicU32::new(0);
///
/// fn write_register(value: u32) {
///     chess_spec::scheduling_point();
///     REGISTER.store(value, Relaxed);
/// }
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| write_register(1));
///     scope.spawn(|| write_register(2));
/// });
/// ```
#[track_caller]
pub fn scheduling_point() {
    std::thread::yield_now();
}
