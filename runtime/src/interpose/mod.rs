//! The C functions through which Rust programs block, spawn threads, read clocks and
//! draw random numbers, defined here in place of libc's.
//!
//! Each function first checks whether the caller is a task. If the caller is not a task, the
//! function passes the call to the kernel or to libc. For a task the function has a deterministic
//! effect, and a call that must wait parks the task. So code that was not redirected to the shims
//! is also under control.
//!
//! A new function goes into the file of its subject. The steps are in CONTRIBUTING.md, "Add a
//! function of libc".

mod accesses;
mod alarm;
mod allocator;
mod buffers;
mod c11_threads;
mod call;
mod child_wait;
mod connection;
mod content_length;
mod creation;
mod credentials;
mod disposition;
mod environment;
mod epoll;
mod event_counter;
mod failing;
mod files;
mod flagged_transfers;
mod fork;
mod futex;
mod kernel_writes;
mod libraries;
mod locks;
mod loopback;
mod low_water;
mod many_messages;
mod mcount;
mod memory_maps;
mod number;
mod output;
mod outside_signals;
mod page_fault;
mod poll;
mod posix_timer;
mod process;
mod process_attributes;
mod pthread_cond;
mod pthread_exit;
mod pthread_mutex;
mod pthread_once;
mod pthread_rwlock;
mod random;
mod receive;
mod replacement;
mod robust;
mod semaphore;
mod send;
mod sigaction;
mod signal;
mod socket_options;
mod splice;
mod stopped_start;
mod syscall;
mod task_threads;
mod thread_attributes;
mod thread_locals;
mod threads;
mod time;
mod timerfd;
mod virtual_timer;
mod wait_signal;

pub(crate) use accesses::entry;
pub(crate) use environment::{
    Use as EnvironmentUse, announced as announced_environment,
    move_to_heap as move_environment_to_heap,
};
pub(crate) use files::Files;
pub(crate) use page_fault::install_fault_handler;
pub(crate) use process::{PLACE, Process};
pub(crate) use task_threads::TaskThreads;
