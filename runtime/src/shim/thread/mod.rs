//! `std::thread`: inside an execution a thread is a task, which the engine spawns without the real
//! `std::thread`. `thread_local!` and `LocalKey` are those of `std`.

mod builder;
mod current;
mod functions;
mod handle;
mod id;
mod packet;
mod park;
mod scope;
mod scope_data;

pub use std::thread::*;

pub use builder::Builder;
pub use current::{Thread, current};
#[allow(deprecated, reason = "std still exports it")]
pub use functions::sleep_ms;
pub use functions::{available_parallelism, sleep, spawn, yield_now};
pub use handle::JoinHandle;
pub use id::ThreadId;
#[allow(deprecated, reason = "std still exports it")]
pub use park::park_timeout_ms;
pub use park::{park, park_timeout};
pub use scope::{Scope, ScopedJoinHandle, scope};
