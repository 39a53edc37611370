//! The tasks as threads: start, end, join, and transfer of control.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use super::crash::may_crash;
use super::current::{self, current};
use super::monitor_calls::Hooks;
use super::monitor_hooks::{How, MonitorHooks as _};
use super::running::{running, with};
use super::state::{Ending, Execution, execution};
use super::task::{Entry, State, Task, Wait, finish_object, thread_object};
use super::tasks::search_on;
use super::terms::{Site, Step, Wake};
use super::transfer::do_thread_work;
use super::{Op, TaskId, mark, opaque, set_aside};
use crate::base::fingerprint::mix;
use crate::base::sys::{self, ThreadStart};
use crate::platform::handover::{self, Backend, Flow};
use crate::platform::stack_pool::{DEFAULT_STACK, Pool, pool};
use crate::search::{ObjectId, TraceStep};

/// Detaches `task`, which no task will join, and names it `name`.
pub(crate) fn detach_and_name(task: TaskId, name: &str) {
    with(|execution| {
        let task = execution.task_mut(task);
        task.detached = true;
        task.name.extend_from_slice(name.as_bytes());
    });
}

/// Ensures that `task`, which sleeps or has not begun, never continues. No effect if it is the
/// calling task or has ended.
pub(crate) fn stop_forever(task: TaskId) {
    with(|execution| {
        if task != current() && execution.task(task).state != State::Finished {
            execution.stop_task(task);
        }
    });
}

/// Whether a task other than the calling one can continue, and not only by a timeout.
pub(crate) fn others_can_run() -> bool {
    with(|execution| {
        let runs = |task| task != current() && !execution.schedule.late.contains(task);
        execution.schedule.enabled.iter().any(runs)
    })
    .unwrap_or(false)
}

/// Whether the caller is a task, in a process that may run further executions.
pub(crate) fn shares_process() -> bool {
    running().is_some_and(|execution| execution.with(|it| !it.options.has_processes))
}

/// Announces that the calling task is about to call the function `name`, which changes its process
/// permanently. Ends the execution if it does not have a process of its own.
pub(crate) fn needs_process(name: &'static str) {
    let Some(execution) = running() else { return };
    if !execution.with(|it| it.options.has_processes) {
        execution.step(|it| it.end(Ending::NeedsProcess(name)));
    }
}

/// Runs the current task from its start to its end, on the stack of its donor (the thread that
/// lends it its stack).
pub(crate) unsafe extern "C" fn task_main() -> ! {
    // SAFETY: entered by the first switch to a task, which is then the current one.
    current::enter(unsafe { (*execution()).schedule.current });
    mark::leave();
    Hooks::task_begins();
    // SAFETY: the field does not change.
    if unsafe { (*pool()).backend() } == Backend::Threads {
        do_thread_work();
    }
    let execution = running().expect("the thread has just become a task");
    execution.with(|it| {
        let own = it.object_of_task(it.schedule.current);
        it.record(Op::Start, own, Op::Start.effect(), None);
    });
    set_aside::look(execution, true);
    // SAFETY: the entry is called once, and the task ends after it.
    unsafe {
        let result = match execution.with(|it| it.running().entry) {
            Entry::Rust(entry, data) => {
                entry(data);
                core::ptr::null_mut()
            }
            Entry::C(entry, argument) => entry(argument),
        };
        end_task(result)
    }
}

/// Ends the calling task, from any of its frames. This is the last step of the task.
///
/// # Safety
/// Only from a task; its frames are abandoned.
pub(crate) unsafe fn end_task(result: *mut c_void) -> ! {
    // SAFETY: the field does not change while tasks run; no reference is kept.
    let work = unsafe { (*execution()).thread_work };
    work.ends();
    let Some(execution) = running() else {
        // The child of a fork has nowhere to return to.
        sys::exit_now(0);
    };
    // A task's end is a step of its own, also directly after `atomic` code.
    mark::leave();
    let id = current();
    let own = execution.with(|it| it.object_of_task(id));
    if execution.with(|it| it.is_end_observed()) {
        execution.step(|it| it.arrive(Op::Exit, own, None));
    }
    current::leave();
    // SAFETY: the field does not change.
    let backend = unsafe { (*pool()).backend() };
    let (from, to) = execution.with(|it| {
        let step = it.finish(own, result);
        if backend == Backend::Threads {
            it.report_task_end(step);
        }
        let from = it.task(id).flow;
        let to = match step {
            Step::Switch(next) => {
                Hooks::switched(id, next);
                it.run(next);
                it.task(next).flow
            }
            Step::Continue | Step::Spin | Step::End => Flow::of_explorer(),
        };
        (from, to)
    });
    Hooks::task_leaves();
    // SAFETY: the caller's promise. The borrow has ended; `from` is the flow of this task, which is
    // finished, and `to` that of the next one.
    unsafe { handover::leave_to(backend, from, to) }
}

impl Execution {
    /// Adds a task that runs `entry` on a stack of at least `stack` bytes. `None` if no donor (a
    /// thread that lends its stack to a task) is left.
    pub(crate) fn add_task(
        &mut self,
        pool: &mut Pool,
        entry: Entry,
        stack: usize,
    ) -> Option<TaskId> {
        let donor = match pool.acquire(stack) {
            Some(donor) => donor,
            None => self.retired_donor(pool, stack)?,
        };
        let flow = pool.prepare(donor);
        let id = TaskId(self.schedule.live as u32);
        // A child's identity is the history of its parent so far.
        let (parent, site, history) = if self.schedule.live == 0 {
            (None, None, 0)
        } else {
            let parent = self.task(self.schedule.current);
            (Some(self.schedule.current), parent.site, parent.last_event)
        };
        let last_event = mix(history, 0x5eed);
        match self.schedule.tasks.get_mut(self.schedule.live) {
            Some(task) => {
                task.renew(entry, donor, flow);
                task.last_event = last_event;
            }
            None => self.schedule.tasks.push(Task {
                last_event,
                ..Task::new(entry, donor, flow)
            }),
        }
        let stack = pool.get(donor);
        Hooks::task_added(parent, id, site, (stack.stack_low, stack.stack_top));
        if let Some(parent) = parent {
            self.task_mut(id).component = self.task(parent).component;
            self.files.spawned(parent, id);
        }
        if self.schedule.live == 0 {
            let none = TraceStep::NONE;
            self.log.trace.begin(id, none, none, false);
        }
        self.schedule.live += 1;
        self.schedule.enabled.insert(id);
        self.schedule.fairness.add(id, self.budget.steps);
        self.budget.last_spawn = self.budget.steps;
        Some(id)
    }

    /// Takes the donor (the thread that lends a task its stack) from an ended task to which the
    /// program can no longer refer. The stack of the donor has at least `stack` bytes. `None` if
    /// there is no such task.
    #[cold]
    fn retired_donor(&mut self, pool: &mut Pool, stack: usize) -> Option<usize> {
        let fits = |task: &Task| {
            task.released
                && task.state == State::Finished
                && task.donor != Task::NO_DONOR
                && pool.get(task.donor).stack_size >= stack
        };
        let at = search_on(self.schedule.live, self.schedule.retired, |task| {
            fits(&self.schedule.tasks[task])
        })?;
        self.schedule.retired = at + 1;
        let donor = core::mem::replace(&mut self.schedule.tasks[at].donor, Task::NO_DONOR);
        let stack = pool.get(donor);
        Hooks::stack_reused(stack.stack_low, stack.stack_low + stack.stack_size);
        Some(donor)
    }

    /// Records the end of the current task, and returns the next step.
    fn finish(&mut self, own: ObjectId, result: *mut c_void) -> Step {
        let current = self.schedule.current;
        self.record(Op::Exit, own, Op::Exit.effect(), None);
        let task = self.running();
        task.op = Op::Exit;
        task.state = State::Finished;
        task.result = result;
        // The program has no way to refer to a detached task after its end.
        task.released |= task.detached;
        let is_awaited = task.is_awaited;
        self.schedule.enabled.remove(current);
        if is_awaited {
            for other in (0..self.schedule.live as u32).map(TaskId) {
                if self.task(other).state == State::Blocked(Wait::Task(current)) {
                    self.wake(other, Wake::Notified);
                }
            }
        }
        if current == TaskId(0) {
            self.body_done = true;
        }
        self.end_stack();
        self.decide(false)
    }

    /// Records that all frames of the current task are dead, because the task ends.
    fn end_stack(&mut self) {
        let current = self.schedule.current;
        // SAFETY: one thread at a time runs code of the engine, and this borrow ends here.
        let donor = unsafe { (*pool()).get(self.running().donor) };
        let (low, top) = (donor.stack_low, donor.stack_top);
        Hooks::stack_ends(current, low, top);
        if current == TaskId(0) {
            // The memory of the synchronization objects there may be free.
            self.objects.mark_maybe_freed(low, top - low);
        }
    }

    /// Whether the program can observe the end of the current task other than by waiting for it. If
    /// not, the end commutes with all operations of other tasks, and belongs to the task's last
    /// step.
    fn is_end_observed(&self) -> bool {
        let is_pthread = matches!(self.schedule.tasks.running().entry, Entry::C(..));
        is_pthread || self.observers.of_ends
    }

    /// Records that the current task has observed the end of `task`.
    pub(super) fn follows(&mut self, task: TaskId) {
        Hooks::joined(self.schedule.current, task);
        self.files.joined(self.schedule.current, task);
    }

    /// The object that stands for `task`.
    #[inline]
    fn object_of_task(&mut self, task: TaskId) -> ObjectId {
        let own = self.task(task).own_object;
        if own != ObjectId::NONE {
            return own;
        }
        let own = self.object(thread_object(task));
        self.task_mut(task).own_object = own;
        own
    }

    /// The scheduling point of the current task before it joins `task`, for which `object` stands.
    fn arrive_to_join(&mut self, task: TaskId, object: ObjectId, site: Site) -> Step {
        if self.task(task).state == State::Finished {
            return self.arrive(Op::Join, object, Some(site));
        }
        self.announce(Op::Join, object, Some(site));
        self.block(Wait::Task(task), None);
        self.decide(false)
    }
}

/// Starts a new task that runs `entry(data)`, as part of the calling task's step. `stack` is the
/// minimum stack size in bytes; `name` is copied.
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
    let entry = Entry::Rust(entry, data);
    start(entry, stack, Some((site, name)))
}

/// Starts a new task with the arguments of `pthread_create`.
pub(crate) fn spawn_pthread(
    start_routine: ThreadStart,
    argument: *mut c_void,
    stack: usize,
) -> TaskId {
    start(Entry::C(start_routine, argument), stack, None)
}

/// Starts a new task. `own` has the line and the name for a task of our own `spawn`; it is `None`
/// for a task of `pthread_create`.
#[inline]
fn start(entry: Entry, stack: usize, own: Option<(Site, Option<&str>)>) -> TaskId {
    let Some(execution) = running() else {
        return TaskId(0);
    };
    let stack = stack.max(DEFAULT_STACK);
    match own {
        // The existence of a task commutes with all operations of other tasks.
        Some((site, _)) => execution.step(|it| it.pass(Op::Spawn, site)),
        None => {
            opaque::arrive(Op::Spawn, 0);
        }
    }
    // SAFETY: one thread at a time runs code of the engine, and this borrow ends in the call.
    let added = execution.with(|it| it.add_task(unsafe { &mut *pool() }, entry, stack));
    let Some(task) = added else {
        execution.step(|it| it.end(Ending::NoDonor(stack)));
        unreachable!("the execution has ended");
    };
    execution.with(|it| {
        let waker = it.log.trace.step();
        let child = it.task_mut(task);
        child.waker = waker;
        if let Some((_, name)) = own {
            // The program does not have a pthread for this task.
            child.released = true;
            child
                .name
                .extend_from_slice(name.unwrap_or_default().as_bytes());
        }
        let object = it.object_of_task(task);
        let site = own.map(|(site, _)| site);
        it.record(Op::Spawn, object, Op::Spawn.effect(), site);
    });
    set_aside::look(execution, true);
    task
}

/// Reaches a scheduling point, which the calling task passes only when `task` has ended.
pub fn join(task: TaskId, site: Site) {
    let Some(execution) = running() else { return };
    may_crash(execution, Op::Join, Some(site));
    let object = execution.with(|it| it.object_of_task(task));
    execution.step(|it| it.arrive_to_join(task, object, site));
    execution.with(|it| {
        it.record(Op::Join, object, Op::Join.effect(), Some(site));
        it.follows(task);
    });
    set_aside::look(execution, true);
}

/// Reaches a scheduling point, and then records for [`is_finished`] that the main function of the
/// calling task has returned, and that its result is stored. Thread-local destructors run later. No
/// effect if the program never calls `is_finished`.
pub fn finish() {
    let Some(execution) = running() else { return };
    if !execution.with(|it| it.observers.of_finishes) {
        return;
    }
    // This is a step of its own, also directly after `atomic` code.
    mark::leave();
    let object = finish_object(current());
    let id = execution.object(object);
    execution.step(|it| it.arrive(Op::Finish, id, None));
    // In std, the task drops its `Arc` of the result here.
    Hooks::counted(object, (How::Exchange, Ordering::Release), Op::Finish);
    execution.step(|it| {
        it.running().has_finished = true;
        it.record(Op::Finish, id, Op::Finish.effect(), None)
    });
}

/// Reaches a scheduling point, and then returns whether the main function of `task` has returned.
/// Returns `true` outside an execution.
pub fn is_finished(task: TaskId, site: Site) -> bool {
    let Some(execution) = running() else {
        return true;
    };
    let object = finish_object(task);
    super::access(Op::IsFinished, object, site);
    // In std, this reads the number of `Arc`s of the result, which alone orders nothing.
    Hooks::counted(object, (How::Load, Ordering::Relaxed), Op::IsFinished);
    execution.with(|it| it.task(task).has_finished)
}

/// The identifier of the pthread on whose stack `task` runs. The program may join this pthread. If
/// `task` has ended and another task uses its stack, the identifier belongs to no pthread. It is 0
/// outside an execution.
pub fn pthread_of(task: TaskId) -> usize {
    with(|execution| {
        let named = execution.task_mut(task);
        if named.donor == Task::NO_DONOR {
            // The task has ended, and its donor serves another task.
            return thread_object(task);
        }
        named.released = false;
        // SAFETY: one thread at a time runs code of the engine, and no borrow is kept.
        unsafe { (*pool()).get(named.donor).pthread }
    })
    .unwrap_or(0)
}

/// Records that the calling task's closure unwound. Unless [`panic_handled`] follows, the test
/// fails with that panic.
pub fn panicked() {
    with(|execution| {
        let task = execution.running();
        task.panicked = true;
        task.unhandled_panic = true;
    });
}

/// Records that the program received the panic of `task` from `join`.
pub fn panic_handled(task: TaskId) {
    with(|execution| execution.task_mut(task).unhandled_panic = false);
}
