//! The actions for signals, and the mask of blocked signals. Before the next execution, the runtime
//! undoes the changes by tasks. The program cannot undo them, because its memory is restored then,
//! and contains no record of the changes.

use core::ffi::c_int;

use super::signal::Info;
use super::timerfd;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::sys::{self, SIGSEGV, number, sigaction_t};
use crate::execution::{TaskId, active, arrivals};

pub(super) const SIG_DFL: usize = 0;
pub(super) const SIG_IGN: usize = 1;
pub(super) const SIG_SETMASK: usize = 2;
pub(super) const SA_NOCLDSTOP: c_int = 1;
pub(super) const SA_RESTART: c_int = 0x1000_0000;

/// The place of this state in the engine's memory.
pub(super) const PLACE: Place<Signals> = Place::after(&timerfd::PLACE);

/// The engine's state of the signals of the running execution.
pub(crate) struct Signals {
    /// The signals whose dispositions tasks changed, with their dispositions before the first
    /// change.
    changed: EngineVec<(c_int, Disposition)>,
    /// The program's own action for SIGSEGV. The kernel has the runtime's handler of page faults
    /// as the action.
    pub(super) fault: Disposition,
    /// The signals that tasks have blocked. All tasks have one mask, because tasks that run on one
    /// kernel thread share the mask of this thread.
    pub(super) blocked: u64,
    /// The mask of the exploring thread before a task changed it; `None` if no task has.
    pub(super) mask: Option<u64>,
    /// The blocked signals that tasks have sent and no task has received yet. Used only if each
    /// task runs on a kernel thread of its own. There, the kernel keeps a sent signal for one
    /// kernel thread, so the tasks on other kernel threads could not receive it.
    pub(super) pending: EngineVec<(c_int, Info)>,
    /// The handlers of signals from outside the process.
    pub(super) caught: Caught,
    /// The running handlers, except those with the flag `SA_NODEFER`.
    pub(super) handling: EngineVec<Handling>,
}

/// A handler that runs on a task.
#[derive(Clone, Copy)]
pub(super) struct Handling {
    pub(super) task: TaskId,
    pub(super) signal: c_int,
    /// Whether the signal was sent again since the handler has started.
    pub(super) again: bool,
}

/// The number of signals.
pub(super) const COUNT: usize = 64;

/// The handlers of signals from outside.
pub(super) struct Caught {
    /// The process that receives the signals; 0 until a task has started a child.
    pub(super) process: c_int,
    /// The program's actions for the signals whose handler is the runtime's.
    pub(super) actions: EngineVec<(c_int, Disposition)>,
    /// Whether a task waits for signals.
    pub(super) has_task: bool,
    /// The information of the signals that have arrived.
    pub(super) arrived: [Info; COUNT],
}

impl Caught {
    pub(super) const fn new() -> Self {
        Self {
            process: 0,
            actions: engine_vec(),
            has_task: false,
            arrived: [[0; 16]; COUNT],
        }
    }

    /// Resets the state for a new execution. Must be called after the former handlers were put back
    /// in the kernel.
    #[inline]
    pub(super) fn clear(&mut self) {
        if self.process != 0 {
            arrivals().close();
            self.process = 0;
            self.actions.clear();
            self.has_task = false;
        }
    }

    /// The program's action for `signal`, if the kernel has the runtime's handler.
    pub(super) fn action(&self, signal: c_int) -> Option<Disposition> {
        let mut known = self.actions.iter();
        known
            .find(|(it, _)| *it == signal)
            .map(|&(_, action)| action)
    }

    /// Forgets the program's action for `signal`.
    pub(super) fn forget(&mut self, signal: c_int) {
        self.actions.retain(|&(known, _)| known != signal);
        arrivals().catch(bit(signal), false);
    }
}

/// The action for a signal: the kernel's `struct sigaction`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Disposition {
    pub(super) handler: usize,
    pub(super) flags: u64,
    restorer: usize,
    pub(super) mask: u64,
}

impl Disposition {
    const DEFAULT: Self = Self {
        handler: SIG_DFL,
        flags: 0,
        restorer: 0,
        mask: 0,
    };

    /// Returns the kernel's disposition; `None` if there is no such signal.
    pub(super) fn of(signal: c_int) -> Option<Self> {
        let mut now = Self::DEFAULT;
        let at = &raw mut now as usize;
        // SAFETY: room for the kernel's structure.
        let result =
            unsafe { sys::syscall(number::RT_SIGACTION, [signal as usize, 0, at, 8, 0, 0]) };
        (result == 0).then_some(now)
    }

    /// Returns the action in the kernel's form.
    pub(super) fn from_libc(action: &sigaction_t) -> Self {
        Self {
            handler: action.handler,
            flags: u64::from(action.flags.cast_unsigned()),
            restorer: 0,
            mask: action.mask[0],
        }
    }

    /// Returns the action in libc's form.
    pub(super) fn to_libc(self) -> sigaction_t {
        let mut action = sigaction_t {
            handler: self.handler,
            mask: [0; 16],
            flags: self.flags as c_int,
            restorer: 0,
        };
        action.mask[0] = self.mask;
        action
    }

    pub(super) fn put(self, signal: c_int) {
        let at = &raw const self as usize;
        // SAFETY: an action that the kernel held before, or the default one.
        unsafe { sys::syscall(number::RT_SIGACTION, [signal as usize, at, 0, 8, 0, 0]) };
    }
}

impl Signals {
    pub(crate) const fn new() -> Self {
        Self {
            changed: engine_vec(),
            fault: Disposition::DEFAULT,
            blocked: 0,
            mask: None,
            pending: engine_vec(),
            caught: Caught::new(),
            handling: engine_vec(),
        }
    }

    /// Undoes the changes by tasks of the former execution.
    #[inline]
    pub(crate) fn put_back(&mut self) {
        self.handling.clear();
        self.pending.clear();
        self.fault = Disposition::DEFAULT;
        for (signal, before) in self.changed.drain(..) {
            before.put(signal);
        }
        self.caught.clear();
        if let Some(mask) = self.mask.take() {
            self.put_back_mask(mask);
        }
    }

    #[cold]
    fn put_back_mask(&mut self, mask: u64) {
        let (blocked, no_time) = (core::mem::take(&mut self.blocked), [0u64; 2]);
        let (set, time) = (&raw const blocked as usize, &raw const no_time as usize);
        let mask_at = &raw const mask as usize;
        // SAFETY: readable sets and a time; signals that no task received are dropped.
        unsafe {
            while sys::syscall(number::RT_SIGTIMEDWAIT, [set, 0, time, 8, 0, 0]) > 0 {}
            sys::syscall(number::RT_SIGPROCMASK, [SIG_SETMASK, mask_at, 0, 8, 0, 0]);
        }
    }

    /// Adds `signal`, which a task has sent and which is blocked, to the pending signals. Only a
    /// real-time signal can be pending more than once.
    pub(super) fn pend(&mut self, signal: c_int, info: &Info) {
        const FIRST_REAL_TIME: c_int = 32;
        let is_pending = self.pending.iter().any(|(known, _)| *known == signal);
        if !is_pending || signal >= FIRST_REAL_TIME {
            self.pending.push((signal, *info));
        }
    }

    /// Removes and returns the first pending signal that is in `set`.
    pub(super) fn take_pending(&mut self, set: u64) -> Option<(c_int, Info)> {
        let is_in_set = |&(signal, _): &(c_int, Info)| set & bit(signal) != 0;
        let at = self.pending.iter().position(is_in_set)?;
        Some(self.pending.remove(at))
    }

    /// The set of the signals in [`Self::pending`].
    pub(super) fn pending_set(&self) -> u64 {
        let bits = self.pending.iter().map(|&(signal, _)| bit(signal));
        bits.fold(0, |set, bit| set | bit)
    }

    /// The program's action for `signal`. `None` if there is no such signal.
    pub(super) fn disposition(&self, signal: c_int) -> Option<Disposition> {
        if signal == SIGSEGV {
            return Some(self.fault);
        }
        let caught = self.caught.action(signal);
        caught.or_else(|| Disposition::of(signal))
    }

    /// Sets the program's action for `signal` to the default.
    pub(super) fn reset(&mut self, signal: c_int) {
        if signal == SIGSEGV {
            self.fault = Disposition::DEFAULT;
        } else {
            self.remember(signal);
            self.caught.forget(signal);
            Disposition::DEFAULT.put(signal);
        }
    }

    pub(super) fn is_blocked(&self, signal: c_int) -> bool {
        self.blocked & bit(signal) != 0
    }

    /// Saves the action for `signal` before its first change in the execution.
    pub(super) fn remember(&mut self, signal: c_int) {
        let is_known = self.changed.iter().any(|(known, _)| *known == signal);
        if !is_known && let Some(before) = Disposition::of(signal) {
            self.changed.push((signal, before));
        }
    }
}

/// Returns the state of the signals. The reference must not be held across a handler or a
/// scheduling point, because other tasks may run there.
pub(super) fn signals() -> &'static mut Signals {
    // SAFETY: as above.
    unsafe { &mut *PLACE.get() }
}

/// The program's handler for SIGSEGV. It must be called for a page fault that is not the first
/// write to a page of the memory image. `None` if the program has no handler, or the caller is not
/// a task.
pub(crate) fn fault_handler() -> Option<usize> {
    let handler = signals().fault.handler;
    (active() && handler > SIG_IGN).then_some(handler)
}

pub(super) fn bit(signal: c_int) -> u64 {
    1u64.checked_shl(signal.wrapping_sub(1).cast_unsigned())
        .unwrap_or(0)
}
