//! Requests of a test to the scheduler of [cargo chess]: choices of data, rare events, crashes,
//! assumptions, invariants, liveness properties, models, checks of linearizability, and observed
//! states.
//!
//! A test that runs under `cargo chess test` is executed under many schedules. With this crate, a
//! part of its input becomes a choice of the search as well. All functions also work under plain
//! `cargo test`, where each has one documented behaviour.
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! use std::thread;
//!
//! let items = AtomicUsize::new(0);
//! // Under cargo chess: each number of producers, and each number of items of each of them.
//! thread::scope(|scope| {
//!     for _ in 0..chess_spec::choose(3) {
//!         let count = chess_spec::choose(2);
//!         let items = &items;
//!         scope.spawn(move || items.fetch_add(count, Ordering::Relaxed));
//!     }
//! });
//! assert!(items.into_inner() <= 2);
//! ```
//!
//! | function | under cargo chess | under plain `cargo test` |
//! |---|---|---|
//! | [`choose`], [`flip`], [`pick`] | every outcome, at no cost | the first outcome |
//! | [`rarely`] | both outcomes; `true` costs as much as a preemption | `false` |
//! | [`crash_and_recover`] | a crash before operations that others can see, which loses unsynced writes; then the recovery | the body, then the recovery |
//! | [`assume`] | the execution has no verdict if the condition does not hold | a panic |
//! | [`invariant`] | a check after each change of the objects that it reads | a check at its start and end |
//! | [`Liveness`] | a failure if an execution ends while it is hot | a panic at its drop |
//! | [`scheduling_point`] | another thread may run | a yield |
//! | [`Resource`] | a part of a model, to wait for and to signal | the same |
//! | [`Linearizability`] | every scenario, in every schedule | a hundred scenarios |
//! | [`observe`] | counts distinct states over all executions | nothing |
//!
//! Add this crate as a dev-dependency. It has no dependencies of its own, and no effect on code
//! that does not call it.
//!
//! [cargo chess]: https://github.com/cargo-chess/cargo-chess

#![forbid(unsafe_code)]

mod assumption;
mod choice;
mod crash;
mod invariant;
mod linearizability;
mod liveness;
mod model;
mod observe;
mod plain;

pub use assumption::assume;
pub use choice::{choose, flip, pick, rarely};
pub use crash::crash_and_recover;
pub use invariant::{invariant, Invariant};
pub use linearizability::Linearizability;
pub use liveness::Liveness;
pub use model::{scheduling_point, Resource};
pub use observe::observe;
