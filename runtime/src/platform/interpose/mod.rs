//! The C functions through which Rust programs block, spawn, read clocks and draw
//! random numbers, defined here in place of libc's.
//!
//! Each asks first whether the caller is a task; where it is not, the call goes
//! on to the kernel or to libc. So code that nobody redirected is controlled
//! and deterministic too: what blocks there parks the task, never the machine.

mod futex;
mod keys;
mod locks;
mod mcount;
mod output;
mod process;
mod pthread_cond;
mod pthread_mutex;
mod pthread_once;
mod pthread_rwlock;
mod random;
pub(crate) mod real;
mod semaphore;
mod syscall;
mod thread_exit;
mod threads;
mod time;

pub(crate) use keys::run_thread_destructors;
pub(crate) use process::{Process, tidy_descriptors};
