//! The engine: scheduling points, blocking, and the tasks of the running execution. The public
//! functions are its interface for the shims.
//!
//! Outside an execution, the functions for the shims have no effect on the engine. [`active`]
//! states whether the calling thread is a task of an execution. If the thread is no task, a shim
//! performs only the real operation.

mod access;
mod address_reuse;
mod arrived_signals;
mod awaited;
mod blocking;
mod borrow;
mod budget;
pub(crate) mod calls;
mod child_calls;
mod children;
mod clock_read;
mod component;
mod component_set;
mod conflicts;
mod crash;
mod current;
mod cycle;
mod data_choice;
mod dead_frames;
mod descriptor_calls;
mod descriptors;
mod detached;
mod endless_computation;
mod event;
mod exclusive;
mod exclusive_calls;
mod fairness;
mod fault_choice;
mod file_use;
pub(crate) mod files;
mod free_blocks;
pub(crate) mod futex;
mod hot;
mod idle;
mod invariant;
mod invariant_set;
mod late_effect;
mod listener;
mod liveness;
mod lock;
mod mark;
mod memory_calls;
mod monitor_calls;
mod monitor_hooks;
mod object;
mod observed;
pub(crate) mod opaque;
mod options;
mod outside_source;
mod outside_waits;
mod overstay;
mod panic_hook;
mod park;
mod park_token;
mod parking;
mod policy;
mod preemption;
mod random_draw;
mod recording;
mod resource;
mod running;
mod schedule;
mod scheduler;
mod scheduling_point;
mod set_aside;
mod spin;
mod spurious_choice;
pub(crate) mod stack;
mod state;
mod step_limit;
pub(crate) mod stream_lock;
mod streams;
mod task;
mod task_set;
mod tasks;
mod terms;
mod thread;
mod transfer;
mod values;
mod virtual_time;
mod waiting;
mod waiting_loops;

pub use access::{
    access, access_in_drop, access_with, before, counters_matter, disown, drop_with, effect,
    has_fenced, is_owned, leave_scope, now, own, task_name, touch,
};
pub(crate) use access::{note_fault, note_panic, print, saw, touch_unseen};
pub use address_reuse::read_pointer;
pub(crate) use address_reuse::reused;
pub(crate) use arrived_signals::ARRIVALS;
pub(crate) use chess_vocabulary::Note;
pub use chess_vocabulary::{Effect, Op, TaskId};
pub(crate) use child_calls::{
    add_child, earlier_ends_are_signalled, ended_child, for_each_child, forget_child,
    has_child_ended, kill_child, let_children_run_freely, note_wait_for_child,
};
pub(crate) use clock_read::read_clock;
pub use component::{end_component, run_component};
pub(crate) use component_set::{ComponentId, Disk, Unsynced};
pub(crate) use conflicts::Groups;
pub(crate) use crash::{component_of, has_components, may_crash_here, own_component};
pub use current::{active, checks, current};
pub use data_choice::{assumption_fails, choose, happens_rarely, note_in_history, observe};
pub(crate) use dead_frames::DeadFrame;
pub(crate) use descriptor_calls::{
    after_call, await_descriptors, await_other_end, before_call, descriptor_ends,
    descriptor_object, descriptors_changed, ended_descriptor, name_descriptor, uses_number,
    wake_all_awaiting,
};
pub(crate) use descriptors::{Named, address_of, descriptor_of_object, named, state_of};
pub(crate) use detached::{Detached, detached, forget_task};
pub(crate) use endless_computation::Known;
pub(crate) use event::{Early, Event, Label};
pub use exclusive::{begin_call, end_call};
pub(crate) use exclusive_calls::Overlap;
pub(crate) use fault_choice::fault_of;
pub use files::end_scope;
pub(crate) use files::rules_change;
pub use idle::until_idle;
pub use invariant::{
    add_invariant, before_change, condition_locks, condition_reads, remove_invariant,
};
pub use invariant_set::Condition;
pub(crate) use late_effect::{choose_store, place, reads_version, version_of, view};
pub(crate) use listener::{Listener, Panic, ThreadWork};
pub use liveness::{become_cold, become_hot, forget_hot};
pub use lock::{acquire, clear_poison, downgrade, release, try_acquire};
pub(crate) use mark::leave as leave_atomic_code;
pub use mark::{mark, marked_line};
pub(crate) use memory_calls::{allocated, frees, frees_objects, plain_access, reallocated};
pub(crate) use monitor_hooks::{DataAccess, How, MonitorHooks, SyncAccess};
pub(crate) use options::{Faults, Limit, Spurious, Timers};
pub(crate) use outside_source::{open_process, process_of};
pub(crate) use outside_waits::{
    arrivals, is_outside, note as note_outside, note_at as note_outside_at, note_connection,
    yield_to_outside,
};
pub use panic_hook::change_hook;
pub(crate) use panic_hook::{is_panic_hook, pass_hook, run_hook};
pub use park::{before_scope_wait, park, unpark, wait_parked};
pub use parking::{park_at, unpark_at};
pub(crate) use policy::{Policy, covers};
pub use random_draw::{draw, runs_on_one_thread};
pub use resource::{scheduling_point, signal, signals, wait_for_signals};
pub(crate) use running::{Running, running, unfinished_tasks, with};
pub(crate) use spin::Access;
pub use spurious_choice::fails_spuriously;
pub(crate) use state::{Ending, Execution, PLACE, START_OF_TIME, execution};
pub(crate) use task::{Entry, State, Task, Wait, called, task_of_object, token_object};
pub use terms::{Mode, Site, Wake};
pub(crate) use terms::{NO_LINE, Step};
pub(crate) use thread::{
    detach_and_name, end_task, needs_process, others_can_run, shares_process, spawn_pthread,
    stop_forever, task_main,
};
pub use thread::{finish, is_finished, join, panic_handled, panicked, pthread_of, spawn};
pub(crate) use values::Value;
pub(crate) use waiting::sleep_until;
pub use waiting::{
    condvar_wait, failed_attempt, notify, sleep, wait, wait_quietly, wake_all, yield_now,
};

pub(crate) use crate::search::ObjectId;
