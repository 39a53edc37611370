//! The composition of the engine: creates all parts, and renews them for the next explorer.

use core::mem::{self, offset_of};

use super::debugger::{self, Debugger, LiveDebugger};
use super::exploration::{self, Exploration};
use super::explorer_output::{self, ExplorerOutput};
use super::live_trace::{self, LiveTrace, Trace};
use crate::base::memory;
use crate::execution::{self, Execution};
use crate::interpose::{self, Files, Process, TaskThreads};
use crate::monitor::{self, Monitors};
use crate::platform::handover::{self, Backend, Explorer};
use crate::platform::image::{self, Image};
use crate::platform::leftovers::{self, Leftovers};
use crate::platform::stack_pool::{self, Pool};

/// All parts of the engine. The zygote reads them after the explorer's death.
///
/// Each part has a [`Place`](memory::Place) in its own module. This structure has the parts at the
/// same addresses.
#[repr(C)]
pub(crate) struct Engine {
    pub(crate) image: Image,
    /// The state of the exploring thread, which is suspended while a task runs.
    pub(crate) explorer: Explorer,
    pub(crate) pool: Pool,
    pub(crate) leftovers: Leftovers,
    pub(crate) execution: Execution,
    pub(crate) monitors: Monitors,
    pub(crate) process: Process,
    /// The descriptor for lines to the supervisor.
    pub(super) explorer_output: ExplorerOutput,
    pub(super) trace: Trace,
    pub(super) debugger: Debugger,
    pub(crate) exploration: Exploration,
}

const _: () = {
    assert!(offset_of!(Engine, image) == image::PLACE.offset());
    assert!(offset_of!(Engine, explorer) == handover::PLACE.offset());
    assert!(offset_of!(Engine, pool) == stack_pool::PLACE.offset());
    assert!(offset_of!(Engine, leftovers) == leftovers::PLACE.offset());
    assert!(offset_of!(Engine, execution) == execution::PLACE.offset());
    assert!(offset_of!(Engine, monitors) == monitor::PLACE.offset());
    assert!(offset_of!(Engine, process) == interpose::PLACE.offset());
    assert!(offset_of!(Engine, explorer_output) == explorer_output::PLACE.offset());
    assert!(offset_of!(Engine, trace) == live_trace::PLACE.offset());
    assert!(offset_of!(Engine, debugger) == debugger::PLACE.offset());
    assert!(offset_of!(Engine, exploration) == exploration::PLACE.offset());
};

/// All parts of the engine. The pointer is valid if [`create`] has run in this process, or in a
/// process from which this one was forked.
#[inline]
pub(crate) fn engine() -> *mut Engine {
    image::PLACE.get().cast()
}

/// Maps the engine's memory and puts an empty engine there.
///
/// # Errors
/// A sentence for the user if the kernel refuses the memory.
pub(crate) fn create(backend: Backend) -> Result<(), &'static str> {
    memory::map()?;
    // SAFETY: the memory was just mapped, has room for all parts, and is not used yet.
    unsafe { engine().write(empty(backend)) };
    Ok(())
}

/// A new engine for the next explorer. It takes over from `before` only the state that every
/// explorer of a test needs.
pub(crate) fn after(before: &mut Engine) -> Engine {
    let mut engine = empty(before.pool.backend());
    mem::swap(
        &mut engine.exploration.shared_file,
        &mut before.exploration.shared_file,
    );
    mem::swap(
        &mut engine.exploration.first_endless,
        &mut before.exploration.first_endless,
    );
    mem::swap(&mut engine.process.elsewhere, &mut before.process.elsewhere);
    mem::swap(&mut engine.leftovers.scratch, &mut before.leftovers.scratch);
    mem::swap(&mut engine.execution.endless, &mut before.execution.endless);
    engine
}

/// An engine that has done nothing.
pub(crate) fn empty(backend: Backend) -> Engine {
    let mut execution = Execution::new();
    execution.listeners = &[&LiveTrace, &LiveDebugger];
    execution.thread_work = &TaskThreads;
    execution.disk = &Files;
    Engine {
        image: Image::new(),
        explorer: Explorer::new(),
        pool: Pool::new(backend, execution::task_main),
        leftovers: Leftovers::new(),
        execution,
        monitors: Monitors::new(),
        process: Process::new(),
        explorer_output: ExplorerOutput::NOWHERE,
        trace: Trace::new(),
        debugger: Debugger::new(),
        exploration: Exploration::new(),
    }
}
