//! The runtime that cargo chess links into a test: a deterministic scheduler, the search
//! over its schedules, and the shims in place of `std`'s concurrency.
//!
//! The folders, from the ground up: `base` (system calls, the engine's memory), `platform`
//! (stacks, context switches, the heap), `memory` (memory models), `execution` (tasks, objects,
//! events), `monitor` (the kinds of failure), `shim` (mirrors of `std`'s modules), `interpose` (C
//! functions in place of libc's), and `harness` (the exploration of one test).

#![feature(
    allocator_api,
    clone_from_ref,
    clone_to_uninit,
    coerce_unsized,
    const_eval_select,
    const_type_name,
    core_intrinsics,
    deref_pure_trait,
    dispatch_from_dyn,
    dropck_eyepatch,
    fn_traits,
    freeze,
    layout_for_ptr,
    lazy_get,
    legacy_receiver_trait,
    mutex_data_ptr,
    pin_coerce_unsized_trait,
    rustc_attrs,
    rwlock_data_ptr,
    sanitize,
    specialization,
    thread_local,
    thread_raw,
    thread_spawn_hook,
    unboxed_closures,
    unsize
)]
// `shim::memory` asks whether the user's crate has UB checks. The answer must not be fixed when
// this crate is compiled.
#![rustc_preserve_ub_checks]
// Generic functions of this crate are compiled with the user's crates. They announce their own
// accesses, so they must not be instrumented as well.
#![sanitize(thread = "off")]
#![allow(
    incomplete_features,
    internal_features,
    reason = "an `Arc` of our own and marks in `const fn` need them; whether a type has cells does, too"
)]
#![allow(
    stable_features,
    reason = "what is stable with the newest compiler is not with the two before it"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "addresses and the kernel's words, on 64-bit machines only"
)]

mod base;
pub mod execution;
pub mod harness;
mod interpose;
mod memory;
mod monitor;
mod platform;
pub mod shim;

use chess_search as search;
