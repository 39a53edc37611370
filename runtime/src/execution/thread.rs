//! The tasks as threads: start, end, join, and transfer of control.

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::Ordering;

use super::schedule::Step;
use super::state::{Ending, Execution, execution};
use super::task::{Entry, State, Task, Wait};
use super::watch::{How, Watch, Watcher};
use super::{Op, Site, TaskId, Wake, endless, mark, opaque};
use crate::base::sys::{self, ThreadStart};
use crate::interpose;
use crate::platform::donor::{DEFAULT_STACK, pool};
use crate::platform::handover::{self, Backend, Flow};
use crate::search::ObjectId;

/// The task of this thread-local block plus one; 0 where there is none. A task keeps its block
/// while it runs, so this value distinguishes tasks at no cost. It does not use the `thread_local!`
/// macro, because every shim reads it, also in code that is not optimised.
#[thread_local]
static TASK: Cell<u32> = Cell::new(0);

/// Whether the calling thread is a task of a running execution.
#[inline]
pub fn active() -> bool {
    TASK.get() != 0
}

/// The running execution, if the caller is one of its tasks.
///
/// The pointer may be used as a unique reference between two calls of [`perform`]: one task runs at
/// a time, and no other code accesses the execution meanwhile.
#[inline]
pub(crate) fn running() -> Option<*mut Execution> {
    active().then(execution)
}

/// Makes the calling thread an ordinary one, in the child of a `fork`.
pub(crate) fn forget_task() {
    TASK.set(0);
    Watcher::task_leaves();
}

/// Runs code of the current task as if the thread were no task: none of its operations is a
/// scheduling point.
pub(crate) fn aside(code: impl FnOnce()) {
    let _aside = Aside::step();
    code();
}

/// While it lives, the calling thread is no task.
pub(crate) struct Aside {
    task: u32,
    paused: <Watcher as Watch>::Paused,
}

impl Aside {
    pub(crate) fn step() -> Self {
        Self {
            task: TASK.replace(0),
            paused: Watcher::pause(),
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        TASK.set(self.task);
        Watcher::resume(&self.paused);
    }
}

/// Carries out the decision of a scheduling point. Returns when the current task runs again, and
/// never if the execution ends first.
///
/// # Safety
/// Only from a task that holds no reference into the engine.
#[inline]
pub(crate) unsafe fn perform(step: Step) {
    match step {
        Step::Continue => {}
        // SAFETY: the caller's promise.
        Step::Switch(next) => unsafe { switch_to(next) },
        // SAFETY: the caller's promise.
        Step::End => unsafe { leave_execution() },
    }
}

#[inline(never)]
unsafe fn switch_to(next: TaskId) {
    // SAFETY: one task runs at a time; the borrows end before the transfer.
    unsafe {
        let backend = (*pool()).backend();
        let execution = &mut *execution();
        if backend == Backend::Threads {
            execution.tell_switch(next);
        }
        Watcher::switched(execution.current, next);
        note_calls(execution);
        let from = execution.running().flow;
        let to = execution.task(next).flow;
        execution.run(next);
        handover::transfer(backend, from, to);
        if backend == Backend::Threads {
            interpose::credentials::follow();
        }
    }
    if mark::is_inside() {
        Watcher::opaque_resumed();
    }
}

/// Records the calls of the current task before it transfers control, if the execution is reported.
fn note_calls(execution: &mut Execution) {
    let (current, log) = (execution.current, &mut execution.log);
    if log.values.is_wanted {
        log.calls.task_waits(current);
    }
}

/// Returns to the exploring thread. The current task is never resumed.
#[inline(never)]
unsafe fn leave_execution() {
    // SAFETY: as `switch_to`.
    unsafe {
        let backend = (*pool()).backend();
        let execution = &mut *execution();
        if backend == Backend::Threads {
            execution.tell_end();
        }
        note_calls(execution);
        let from = execution.running().flow;
        handover::transfer(backend, from, Flow::of_explorer());
    }
}

/// Detaches `task`, which no task will join, and names it `name`.
pub(crate) fn leave_alone(task: TaskId, name: &str) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        let task = (*execution).task_mut(task);
        task.detached = true;
        task.name.extend_from_slice(name.as_bytes());
    }
}

/// Ensures that `task`, which sleeps or has not begun, never continues.
pub(crate) fn strand(task: TaskId) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        if task != current() && (*execution).task(task).state != State::Finished {
            (*execution).enabled.remove(task);
            (*execution).late.remove(task);
            let stranded = (*execution).task_mut(task);
            stranded.state = State::Blocked(Wait::Nothing);
            stranded.deadline = None;
        }
    }
}

/// Whether a task other than the calling one can continue, and not only by a timeout.
pub(crate) fn others_can_go_on() -> bool {
    running().is_some_and(|execution| {
        // SAFETY: see `running`.
        unsafe {
            let runs = |task| task != current() && !(*execution).late.contains(task);
            (*execution).enabled.iter().any(runs)
        }
    })
}

/// Announces that the calling task is about to call the function `name`, which changes its process
/// permanently. Ends the execution if it does not have a process of its own.
pub(crate) fn needs_process(name: &'static str) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        if !(*execution).has_processes {
            perform((*execution).end(Ending::NeedsProcess(name)));
        }
    }
}

/// The whole life of a task, on its donor's stack.
pub(crate) unsafe extern "C" fn task_main() -> ! {
    // SAFETY: entered by the first switch to a task, which is then the current one.
    unsafe {
        let execution = execution();
        let id = (*execution).current;
        TASK.set(id.0 + 1);
        mark::leave();
        Watcher::task_begins();
        if (*pool()).backend() == Backend::Threads {
            interpose::credentials::follow();
        }
        let own = (*execution).object_of_task(id);
        (*execution).record(Op::Start, own, Op::Start.effect(), None);
        endless::look(execution, true);
        let result = match (*execution).running().entry {
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
    interpose::run_thread_destructors();
    interpose::robust::give_up();
    // SAFETY: the caller's promise; no reference lives across `perform`.
    unsafe {
        let execution = execution();
        if !active() {
            // The child of a fork has nowhere to return to.
            sys::exit_now(0);
        }
        // A task's end is a step of its own, also directly after `atomic` code.
        mark::leave();
        let id = current();
        let own = (*execution).object_of_task(id);
        if (*execution).is_end_observed() {
            perform((*execution).arrive(Op::Exit, own, None));
        }
        TASK.set(0);
        let step = (*execution).finish(own, result);
        let backend = (*pool()).backend();
        if backend == Backend::Threads {
            (*execution).tell_task_end(step);
        }
        let from = (*execution).task(id).flow;
        let to = match step {
            Step::Switch(next) => {
                Watcher::switched(id, next);
                (*execution).run(next);
                (*execution).task(next).flow
            }
            Step::Continue | Step::End => Flow::of_explorer(),
        };
        Watcher::task_leaves();
        handover::leave_to(backend, from, to)
    }
}

impl Execution {
    /// Records the end of the current task, and returns the next step.
    fn finish(&mut self, own: ObjectId, result: *mut c_void) -> Step {
        let current = self.current;
        self.record(Op::Exit, own, Op::Exit.effect(), None);
        let task = self.running();
        task.op = Op::Exit;
        task.state = State::Finished;
        task.result = result;
        // The program has no way to refer to a detached task after its end.
        task.released |= task.detached;
        let is_awaited = task.is_awaited;
        self.enabled.remove(current);
        if is_awaited {
            for other in (0..self.live as u32).map(TaskId) {
                if self.task(other).state == State::Blocked(Wait::Task(current)) {
                    self.wake(other, Wake::Notified);
                }
            }
        }
        if current == TaskId(0) {
            self.body_done = true;
        }
        self.decide(false)
    }

    /// Whether the end of the current task can be observed other than by waiting for it. If it
    /// cannot, the end commutes with all operations of other tasks, and belongs to the task's last
    /// step.
    fn is_end_observed(&self) -> bool {
        let is_pthread = matches!(self.tasks.running().entry, Entry::C(..));
        is_pthread || self.observers.of_ends
    }

    /// Records that the current task has observed the end of `task`.
    pub(super) fn follows(&mut self, task: TaskId) {
        Watcher::joined(self.current, task);
        self.files.joined(self.current, task);
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

/// The address that stands for a task in the side table; no object lies there.
#[inline]
pub(crate) fn thread_object(task: TaskId) -> usize {
    (1 << 12) + ((task.0 as usize) << 4)
}

/// The address that stands for the token of a task's `park`. It is separate from [`thread_object`],
/// because the start and the end of the task do not depend on the token.
pub(crate) fn token_object(task: TaskId) -> usize {
    thread_object(task) + 8
}

/// The address that stands for the end of a task's main function.
fn finish_object(task: TaskId) -> usize {
    thread_object(task) + 4
}

/// The task that an address of the side table stands for.
pub(crate) fn task_of_object(address: usize) -> Option<TaskId> {
    const END: usize = 1 << 36;
    (1 << 12..END)
        .contains(&address)
        .then(|| TaskId(((address - (1 << 12)) >> 4) as u32))
}

/// The calling task. Only inside an execution.
#[inline]
pub fn current() -> TaskId {
    TaskId(TASK.get().wrapping_sub(1))
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

/// Starts a new task; `own` is the line and the name of a task of our own `spawn`.
#[inline]
fn start(entry: Entry, stack: usize, own: Option<(Site, Option<&str>)>) -> TaskId {
    let Some(execution) = running() else {
        return TaskId(0);
    };
    let stack = stack.max(DEFAULT_STACK);
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        match own {
            // The existence of a task commutes with all operations of other tasks.
            Some((site, _)) => perform((*execution).pass(Op::Spawn, site)),
            None => {
                opaque::arrive(Op::Spawn, 0);
            }
        }
        let pool = &mut *pool();
        let Some(task) = (*execution).add_task(pool, entry, stack) else {
            perform((*execution).end(Ending::NoDonor(stack)));
            unreachable!("the execution has ended");
        };
        let waker = (*execution).log.trace.step();
        let child = (*execution).task_mut(task);
        child.waker = waker;
        if let Some((_, name)) = own {
            // The program does not have a pthread for this task.
            child.released = true;
            child
                .name
                .extend_from_slice(name.unwrap_or_default().as_bytes());
        }
        let object = (*execution).object_of_task(task);
        let site = own.map(|(site, _)| site);
        (*execution).record(Op::Spawn, object, Op::Spawn.effect(), site);
        endless::look(execution, true);
        task
    }
}

/// Waits until `task` has ended, with a scheduling point before that.
pub fn join(task: TaskId, site: Site) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        let object = (*execution).object_of_task(task);
        perform((*execution).arrive_to_join(task, object, site));
        (*execution).record(Op::Join, object, Op::Join.effect(), Some(site));
        (*execution).follows(task);
        endless::look(execution, true);
    }
}

/// Records that the main function of the calling task has returned and that its result is stored,
/// which [`is_finished`] observes. It has a scheduling point before it, if the program calls that
/// function. Thread-local destructors run after that.
pub fn finish() {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`; no reference lives across `perform`.
    unsafe {
        if !(*execution).observers.of_finishes {
            return;
        }
        // This is a step of its own, also directly after `atomic` code.
        mark::leave();
        let object = finish_object(current());
        let id = (*execution).object(object);
        perform((*execution).arrive(Op::Finish, id, None));
        // In std, the task drops its share of the result here.
        Watcher::counted(object, (How::Exchange, Ordering::Release), Op::Finish);
        (*execution).running().has_finished = true;
        perform((*execution).record(Op::Finish, id, Op::Finish.effect(), None));
    }
}

/// Whether the main function of `task` has returned, with a scheduling point before the check.
pub fn is_finished(task: TaskId, site: Site) -> bool {
    let Some(execution) = running() else {
        return true;
    };
    let object = finish_object(task);
    super::access(Op::IsFinished, object, site);
    // In std, this reads the count of the result's shares, which alone orders nothing.
    Watcher::counted(object, (How::Load, Ordering::Relaxed), Op::IsFinished);
    // SAFETY: see `running`.
    unsafe { (*execution).task(task).has_finished }
}

/// The pthread on whose stack `task` runs; the program may join it.
pub fn pthread_of(task: TaskId) -> usize {
    let Some(execution) = running() else {
        return 0;
    };
    // SAFETY: see `running`.
    unsafe {
        let named = (*execution).task_mut(task);
        if named.donor == Task::NO_DONOR {
            // It ended, and its donor serves another task: it gets an identifier of its own.
            return thread_object(task);
        }
        named.released = false;
        (*pool()).get(named.donor).pthread
    }
}

/// Records that the calling task's closure unwound. Unless [`panic_handled`] follows, the test
/// fails with that panic.
pub fn panicked() {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe {
        let task = (*execution).running();
        task.panicked = true;
        task.unhandled_panic = true;
    };
}

/// Records that the program received the panic of `task` from `join`.
pub fn panic_handled(task: TaskId) {
    let Some(execution) = running() else { return };
    // SAFETY: see `running`.
    unsafe { (*execution).task_mut(task).unhandled_panic = false };
}
