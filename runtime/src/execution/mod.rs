//! What the shims call: scheduling points, blocking, and the tasks of the running execution.
//!
//! Every function here is cheap and inert outside an execution: [`active`] says
//! whether the calling thread is a task. Shims ask it once and, where it is
//! false, do what the real thing does.

mod op;

use core::panic::Location;

pub use op::{Effect, Op};

/// The source line of an event: the caller of the shim.
pub type Site = &'static Location<'static>;

/// A task of the running execution; 0 runs the test's body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(pub u32);

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// By one task alone.
    Exclusive,
    /// Beside other shared holders.
    Shared,
}

/// Why a blocked task goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Another task woke it.
    Notified,
    /// Its deadline passed.
    TimedOut,
    /// For no reason, as the documentation of `Condvar::wait` and `park` allows.
    Spurious,
}

/// Whether the calling thread is a task of a running execution.
#[inline]
pub fn active() -> bool {
    false
}

/// The task that calls. Only inside an execution.
pub fn current() -> TaskId {
    TaskId(0)
}

/// A scheduling point before `op` on the object at address `object`, and its
/// event with the effect that [`Op::effect`] declares.
pub fn access(op: Op, object: usize, site: Site) {
    let _ = (op, object, site);
}

/// A scheduling point alone: [`effect`] must follow once the operation's
/// result is known, with no other scheduling point between.
pub fn before(op: Op, object: usize, site: Site) {
    let _ = (op, object, site);
}

/// The event of the operation announced by [`before`].
pub fn effect(op: Op, object: usize, effect: Effect, site: Site) {
    let _ = (op, object, effect, site);
}

/// A yield: a scheduling point at which switching away is free.
pub fn yield_now(op: Op, site: Site) {
    let _ = (op, site);
}

/// Whether this weak compare-exchange, which could succeed, is to fail: a
/// choice of the search that costs as a preemption does. Call it after
/// [`before`], only where the exchange would succeed.
pub fn fails_spuriously() -> bool {
    false
}

/// A scheduling point that the task passes only when the lock at `object` is
/// free for `mode`; the lock is then held by it.
pub fn acquire(op: Op, object: usize, mode: Mode, site: Site) {
    let _ = (op, object, mode, site);
}

/// A scheduling point, then an attempt to take the lock: whether it is now held.
pub fn try_acquire(op: Op, object: usize, mode: Mode, site: Site) -> bool {
    let _ = (op, object, mode, site);
    true
}

/// A scheduling point; the shim releases the real lock in `unlock`, which must
/// neither panic nor reach a scheduling point, and waiting tasks become enabled.
/// No `site`: a drop has no caller; the event shows where the lock was taken.
pub fn release(op: Op, object: usize, mode: Mode, unlock: impl FnOnce()) {
    let _ = (op, object, mode);
    unlock();
}

/// An exclusive holder becomes a shared one (a scheduling point first).
pub fn downgrade(op: Op, object: usize, change: impl FnOnce()) {
    let _ = (op, object);
    change();
}

/// `Condvar::wait`: a scheduling point; then, in one step, `unlock` releases the
/// real mutex and the task waits on `condvar`. Returns before the mutex is taken
/// again: the shim then calls [`acquire`] with [`Op::MutexRelock`].
/// `deadline` is in nanoseconds of [`now`].
pub fn condvar_wait(
    op: Op,
    condvar: usize,
    mutex: usize,
    deadline: Option<u64>,
    site: Site,
    unlock: impl FnOnce(),
) -> Wake {
    let _ = (op, condvar, mutex, deadline, site);
    unlock();
    Wake::Spurious
}

/// A scheduling point, then one waiter (a choice of the search) or all waiters
/// of `object` become enabled.
pub fn notify(op: Op, object: usize, all: bool, site: Site) {
    let _ = (op, object, all, site);
}

/// Blocks until [`wake_all`] names `object` or the deadline passes. No scheduling
/// point before it: call [`before`] first. For shims that are a state of their
/// own plus a wait (channels, barriers): loop over trying and waiting.
pub fn wait(op: Op, object: usize, deadline: Option<u64>, site: Site) -> Wake {
    let _ = (op, object, deadline, site);
    Wake::Notified
}

/// Enables every task that waits on `object`; no scheduling point.
pub fn wake_all(object: usize) {
    let _ = object;
}

/// For deadlock reports: the running task is what others wait for at `object`
/// (it runs an initialiser, say), until [`disown`].
pub fn own(object: usize, site: Site) {
    let _ = (object, site);
}

/// Ends [`own`].
pub fn disown(object: usize) {
    let _ = object;
}

/// Virtual time, in nanoseconds since the execution's start of time.
pub fn now() -> u64 {
    0
}

/// A new task that runs `entry(data)`; a scheduling point before it. `stack` is
/// the least stack size in bytes, `name` is copied.
///
/// # Safety
/// `entry(data)` must be sound to call once on another thread. It must not unwind.
pub unsafe fn spawn(
    entry: unsafe fn(*mut ()),
    data: *mut (),
    stack: usize,
    name: Option<&str>,
    site: Site,
) -> TaskId {
    let _ = (entry, data, stack, name, site);
    TaskId(0)
}

/// Waits until `task` has ended (a scheduling point before it).
pub fn join(task: TaskId, site: Site) {
    let _ = (task, site);
}

/// Whether `task` has ended (a scheduling point before it).
pub fn is_finished(task: TaskId, site: Site) -> bool {
    let _ = (task, site);
    true
}

/// The calling task's closure unwound. Unless [`panic_handled`] follows, the
/// test fails with that panic.
pub fn panicked() {}

/// The program received the panic of `task` from `join`.
pub fn panic_handled(task: TaskId) {
    let _ = task;
}

/// `thread::park` and `park_timeout`: a scheduling point, then waits for the
/// task's token. A spurious return is a choice of the search.
pub fn park(op: Op, deadline: Option<u64>, site: Site) {
    let _ = (op, deadline, site);
}

/// `Thread::unpark`: a scheduling point, then gives `task` its token.
pub fn unpark(task: TaskId, site: Site) {
    let _ = (task, site);
}

/// `thread::sleep` until `deadline`: a yield that ends by choice of the search.
pub fn sleep(deadline: u64, site: Site) {
    let _ = (deadline, site);
}
