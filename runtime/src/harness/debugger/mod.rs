//! Executions under a debugger: the stops, and the text that is shown there.
//!
//! Only executions on ordinary threads are shown to a debugger. In such an execution each task is
//! a thread with its own stack. The debugger's script, which is in
//! `cargo-chess/src/commands/replay/debugger/`, finds the [`Board`] through the symbol
//! `chess_debugger`, and has a breakpoint on `chess_stop`. The execution waits until the script
//! has written to the board at which events it wants to stop.

mod stop_text;

use core::ffi::c_char;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::process;

use super::json::Object;
use super::{explorer_output, live_trace};
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::sys;
use crate::execution::stack::{self, Frame};
use crate::execution::{Detached, Ending, Execution, Listener, Panic, State, Task, TaskId};
use crate::platform::stack_pool::pool;

/// No debugger is attached yet.
const NOWHERE: u32 = 0;
/// Stop at preemptions, late effects and panics, and when a failure ends the execution.
const AT_PREEMPTIONS: u32 = 1;
/// Stop also at the next switch between tasks. Each stop changes this value to [`AT_PREEMPTIONS`].
const AT_NEXT_SWITCH: u32 = 2;

/// The suffix of the path of this file.
const OWN_FILE: &str = "harness/debugger/mod.rs";

/// The name of kernel threads that run no task.
const OWN_THREADS: &[u8] = b"(chess)";

/// The memory that the debugger's scripts read and write. The scripts rely on the order of the
/// fields.
#[repr(C)]
struct Board {
    /// The events to stop at: [`NOWHERE`], [`AT_PREEMPTIONS`] or [`AT_NEXT_SWITCH`]. The debugger
    /// writes this field.
    stops: AtomicU32,
    /// At a stop, the number of frames from the frame of `chess_stop` up to the innermost frame of
    /// the program's code.
    frame: AtomicU32,
    /// The number of strings in `lines`.
    count: AtomicU32,
    /// The reason for the stop. The text ends in a zero.
    text: AtomicPtr<c_char>,
    /// A line about each task. The text ends in a zero.
    tasks: AtomicPtr<c_char>,
    /// The lines of `tasks` as consecutive strings that end in a zero, for debuggers that cannot
    /// print several lines at once.
    lines: AtomicPtr<c_char>,
}

/// Points to the board. The board is in the engine's memory, because statics are restored before
/// each execution.
#[unsafe(no_mangle)]
static chess_debugger: AtomicPtr<Board> = AtomicPtr::new(core::ptr::null_mut());

/// The function at which the debugger has its breakpoint.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn chess_stop() {
    // SAFETY: no instruction. But the compiler must assume that memory is read and written here, as
    // debuggers do.
    unsafe { core::arch::asm!("", options(nostack, preserves_flags)) };
}

/// The cause of a stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopCause {
    /// An event of the task.
    Event,
    /// A signal, whose handler is running.
    Fault,
}

/// The state of the connection to a debugger.
pub(crate) struct Debugger {
    board: Board,
    is_on: bool,
    text: EngineVec<u8>,
    tasks: EngineVec<u8>,
    lines: EngineVec<u8>,
    /// The number of possible stops in this execution so far.
    places: u64,
    /// The largest number of possible stops that an attempt of this execution has passed. An
    /// attempt ends early, and is repeated, if it needs more threads.
    passed: u64,
    /// The number of preemptions up to the newest switch.
    preemptions: u32,
}

/// The place of the state of stops.
pub(super) const PLACE: Place<Debugger> = Place::after(&live_trace::PLACE);

impl Debugger {
    pub(crate) const fn new() -> Self {
        Self {
            board: Board {
                stops: AtomicU32::new(NOWHERE),
                frame: AtomicU32::new(0),
                count: AtomicU32::new(0),
                text: AtomicPtr::new(core::ptr::null_mut()),
                tasks: AtomicPtr::new(core::ptr::null_mut()),
                lines: AtomicPtr::new(core::ptr::null_mut()),
            },
            is_on: false,
            text: engine_vec(),
            tasks: engine_vec(),
            lines: engine_vec(),
            places: 0,
            passed: 0,
            preemptions: 0,
        }
    }

    /// Counts a place at which the execution may stop. Returns whether an earlier attempt of this
    /// execution has passed the same place.
    fn is_passed(&mut self) -> bool {
        self.places += 1;
        let is_passed = self.places <= self.passed;
        self.passed = self.passed.max(self.places);
        is_passed
    }

    /// Writes the texts of a stop to the board, and the number of frames between `chess_stop` and
    /// the program's code. Call it only within [`stack::in_a_copy`].
    fn show(&mut self, why: StopCause, text: &str, tasks: &str) {
        let frames = stack::frames();
        // The runtime knows the lines of functions, but not their whole names.
        let is_stop = |frame: &Frame| {
            let file = frame.place.as_ref().map(|(file, _)| file);
            frame.function.ends_with("stop") && file.is_some_and(|it| it.ends_with(OWN_FILE))
        };
        let here = frames.iter().position(is_stop);
        let user = stack::innermost(&frames);
        // At the breakpoint, `chess_stop` is called by `stop`.
        let above = here.zip(user).map_or(0, |(here, user)| user + 1 - here);
        // Debuggers count the return frame of a signal handler; std counts it only if it has a
        // name.
        let is_return = |frame: &Frame| frame.function == "__restore_rt";
        let uncounted = why == StopCause::Fault && above > 0 && !frames.iter().any(is_return);
        let above = above + usize::from(uncounted);
        self.board.frame.store(above as u32, Ordering::Relaxed);
        self.publish(text, tasks);
    }

    fn publish(&mut self, text: &str, tasks: &str) {
        let Self { board, .. } = self;
        let write = |bytes: &mut EngineVec<u8>, text: &str, at: &AtomicPtr<c_char>| {
            bytes.clear();
            bytes.extend(text.bytes().filter(|&byte| byte != 0));
            bytes.push(0);
            at.store(bytes.as_mut_ptr().cast(), Ordering::Relaxed);
        };
        write(&mut self.text, text, &board.text);
        write(&mut self.tasks, tasks, &board.tasks);
        write(&mut self.lines, tasks, &board.lines);
        let ends = self.lines.iter_mut().filter(|byte| **byte == b'\n');
        let count = ends.map(|end| *end = 0).count();
        board.count.store(count as u32, Ordering::Relaxed);
    }
}

fn debugger() -> &'static mut Debugger {
    // SAFETY: one thread runs engine code at a time, and each borrow ends before another thread
    // runs.
    unsafe { &mut *PLACE.get() }
}

/// Whether the running execution is shown to a debugger.
#[inline]
pub(crate) fn is_on() -> bool {
    debugger().is_on
}

/// Sets whether the next execution is shown to a debugger.
pub(super) fn set_enabled(on: bool) {
    debugger().is_on = on;
}

/// Prepares a process in which an execution will be shown to a debugger. Names the calling thread
/// as one without a task. Threads that it starts later inherit this name.
pub(super) fn prepare() {
    sys::name_thread(sys::kernel_thread_id(), OWN_THREADS);
    chess_debugger.store(&raw mut debugger().board, Ordering::Release);
}

/// If the execution is shown to a debugger, waits until one is attached. Call it in the process
/// that is about to run the execution.
pub(super) fn await_one() {
    if !is_on() {
        return;
    }
    let debugger = debugger();
    debugger.places = 0;
    debugger.preemptions = 0;
    debugger.publish("", "");
    if debugger.board.stops.load(Ordering::Acquire) != NOWHERE {
        return;
    }
    sys::let_anyone_trace();
    let process = process::id();
    // This happens in a copy, because the allocations for a line would be in the program's memory.
    stack::in_a_copy(|| {
        let waits = Object::new().string("type", "debuggee");
        explorer_output::line(&waits.number("process", process.into()).finish());
    });
    while debugger.board.stops.load(Ordering::Acquire) == NOWHERE {
        sys::nap();
    }
    stack::in_a_copy(|| {
        explorer_output::line(&Object::new().string("type", "debugging").finish());
    });
}

/// The stops of an execution at the events that the debugger asks for.
pub(crate) struct LiveDebugger;

impl Listener for LiveDebugger {
    #[cold]
    fn switches(&self, execution: &Execution, next: TaskId) {
        if !is_on() {
            return;
        }
        let debugger = debugger();
        let is_passed = debugger.is_passed();
        let preemptions = execution.recording.preemptions - execution.recording.late_effects;
        let costs = preemptions > debugger.preemptions;
        debugger.preemptions = preemptions;
        let wanted = debugger.board.stops.load(Ordering::Relaxed);
        if !is_passed && (costs || wanted == AT_NEXT_SWITCH) {
            stop(execution, StopCause::Event, &|| {
                stop_text::switch(execution, next, costs)
            });
        }
    }

    #[cold]
    fn late_effect(&self, execution: &Execution, overtaken: u32) {
        if is_on() && !debugger().is_passed() {
            stop(execution, StopCause::Event, &|| {
                stop_text::late_effect(execution, overtaken)
            });
        }
    }

    #[cold]
    fn execution_ends(&self, execution: &Execution) {
        let is_failure = !matches!(
            execution.ending,
            Ending::Finished | Ending::NoDonor(_) | Ending::Unclean | Ending::NeedsProcess(_)
        );
        if is_on() && is_failure && !debugger().is_passed() {
            stop(execution, StopCause::Event, &|| stop_text::end(execution));
        }
    }

    #[cold]
    fn panics(&self, execution: &Execution, panic: &Panic) {
        if is_on() && !debugger().is_passed() {
            stop(execution, StopCause::Event, &|| {
                stop_text::panic(execution, panic)
            });
        }
    }

    #[cold]
    fn faults(&self, execution: &Execution, address: usize) {
        if is_on() && !debugger().is_passed() {
            stop(execution, StopCause::Fault, &|| {
                stop_text::fault(execution, address)
            });
        }
    }
}

/// Gives each thread the name of its task.
fn name_threads(execution: &Execution) {
    // SAFETY: one thread runs engine code at a time.
    let pool = unsafe { &*pool() };
    let name = &mut debugger().text;
    let is_gone =
        |task: &Task, id| task.state == State::Finished && id != execution.schedule.current;
    for wanted in [true, false] {
        // First the threads of tasks that have ended lose their names. A thread that runs another
        // task by now then gets the name of that task.
        for (id, task) in execution.live_tasks() {
            if task.donor == Task::NO_DONOR || is_gone(task, id) != wanted {
                continue;
            }
            name.clear();
            if wanted {
                name.extend_from_slice(OWN_THREADS);
            } else {
                stop_text::write_name(execution, id, name);
            }
            sys::name_thread(pool.get(task.donor).kernel_thread, name);
        }
    }
}

/// Stops the execution at the breakpoint of the debugger, which then shows `words`.
#[inline(never)]
fn stop(execution: &Execution, why: StopCause, words: &dyn Fn() -> String) {
    name_threads(execution);
    stack::in_a_copy(|| debugger().show(why, &words(), &stop_text::tasks(execution)));
    debugger()
        .board
        .stops
        .store(AT_PREEMPTIONS, Ordering::Relaxed);
    // At the stop, the user may call functions of the program.
    let _detached = Detached::step();
    chess_stop();
}
