//! The root of the engine's state: one structure at a fixed place in the engine's memory.

use core::mem;

use crate::base::memory;
use crate::execution::Execution;
use crate::harness::{Exploration, LiveDebugger, LiveTrace};
use crate::interpose::Process;
use crate::monitor::Monitors;
use crate::platform::context::Context;
use crate::platform::donor::Pool;
use crate::platform::handover::{Backend, Baton};
use crate::platform::image::Image;

/// All that the engine keeps. The zygote reads it after the explorer's death.
pub(crate) struct Engine {
    pub(crate) image: Image,
    pub(crate) pool: Pool,
    /// The exploring thread, while a task runs.
    pub(crate) explorer: Context,
    /// What the exploring thread waits for with the `threads` backend.
    pub(crate) explorer_baton: Baton,
    pub(crate) execution: Execution,
    pub(crate) monitors: Monitors,
    pub(crate) exploration: Exploration,
    pub(crate) process: Process,
}

const _: () = assert!(size_of::<Engine>() <= memory::ROOT_SIZE);

/// The engine's root. Valid once [`create`] has run in this process or in one
/// that it was forked from.
#[inline]
pub(crate) fn engine() -> *mut Engine {
    memory::ROOT as *mut Engine
}

/// Maps the engine's memory and puts an empty engine there.
///
/// # Errors
/// A sentence for the user where the kernel refuses the memory.
pub(crate) fn create(backend: Backend) -> Result<(), &'static str> {
    memory::map()?;
    // SAFETY: the root was just mapped, is large enough, and nobody else knows of it.
    unsafe { engine().write(empty(backend)) };
    Ok(())
}

/// An engine that has done nothing, and keeps what every explorer of a test is to know.
pub(crate) fn after(before: &mut Engine) -> Engine {
    let mut engine = empty(before.pool.backend());
    mem::swap(
        &mut engine.exploration.mailbox,
        &mut before.exploration.mailbox,
    );
    mem::swap(
        &mut engine.exploration.first_endless,
        &mut before.exploration.first_endless,
    );
    mem::swap(
        &mut engine.exploration.elsewhere,
        &mut before.exploration.elsewhere,
    );
    mem::swap(&mut engine.execution.endless, &mut before.execution.endless);
    engine
}

/// An engine that has done nothing.
pub(crate) fn empty(backend: Backend) -> Engine {
    let mut execution = Execution::new();
    execution.listeners = &[&LiveTrace, &LiveDebugger];
    Engine {
        image: Image::new(),
        pool: Pool::new(backend),
        explorer: Context::EMPTY,
        explorer_baton: Baton::new(),
        execution,
        monitors: Monitors::new(),
        exploration: Exploration::new(),
        process: Process::new(),
    }
}
