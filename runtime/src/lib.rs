//! What cargo chess links into a test: a deterministic scheduler, the search
//! over its schedules, and the shims that stand where `std`'s concurrency was.
//!
//! The folders are `platform` (how tasks run and what is interposed),
//! `execution` (tasks, objects, events), `search` (strategies), `monitor`
//! (what counts as a failure), `shim` (mirrors of `std`'s modules), and
//! `harness` (the exploration of one test).

pub mod execution;
