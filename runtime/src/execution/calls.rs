//! The calls in progress at each event, kept only for executions that are reported.
//!
//! Calls form a tree: a call is a return address within the call that made it. The tool looks up
//! the functions and the source lines of the addresses; this process does not need them.

use super::TaskId;
use crate::base::memory::{EngineVec, engine_vec};
use crate::platform::executable;

/// The maximum depth of a kept stack. Of a deeper stack, only the innermost calls are kept.
const MOST_DEEP: usize = 512;

/// The maximum number of calls that are kept of an execution. Later calls are not kept.
const MOST: usize = 1 << 17;

/// A call in progress. Its number is its index in [`Calls::made`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// The call that contains this one, or [`NONE`] for an outermost call.
    pub(crate) within: u32,
    /// Its return address, relative to the start of the executable.
    pub(crate) address: usize,
    /// The newest call that this call made directly; [`NONE`] if there is none.
    newest: u32,
    /// The previous call that the same caller made; [`NONE`] if there is none.
    earlier: u32,
}

/// No call.
pub(crate) const NONE: u32 = u32::MAX;

/// A function that writes the return addresses of the calls in progress, the innermost first, and
/// returns the number of these addresses.
type Look = fn(&mut [usize]) -> usize;

/// The calls of an execution.
pub(crate) struct Calls {
    pub(crate) made: EngineVec<Call>,
    /// The innermost call of each event.
    of_events: EngineVec<u32>,
    /// By task: the innermost call in progress when the task last transferred control.
    of_tasks: EngineVec<u32>,
    /// The newest of the outermost calls.
    newest: u32,
    addresses: EngineVec<usize>,
}

impl Calls {
    pub(crate) const fn new() -> Self {
        Self {
            made: engine_vec(),
            of_events: engine_vec(),
            of_tasks: engine_vec(),
            newest: NONE,
            addresses: engine_vec(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.made.clear();
        self.of_events.clear();
        self.of_tasks.clear();
        self.newest = NONE;
    }

    /// The innermost call of the event numbered `event`, if it was kept.
    pub(crate) fn of_event(&self, event: usize) -> Option<u32> {
        self.of_events.get(event).copied().filter(|it| *it != NONE)
    }

    /// The innermost call of a task that does not run, if it was kept.
    pub(crate) fn of_task(&self, task: TaskId) -> Option<u32> {
        let call = self.of_tasks.get(task.0 as usize);
        call.copied().filter(|it| *it != NONE)
    }

    /// Records the calls in progress at the event numbered `event`, which happens now. `look`
    /// returns the calls.
    #[cold]
    pub(super) fn event_happens(&mut self, event: usize, look: Look) {
        let call = self.here(look);
        set(&mut self.of_events, event, call);
    }

    /// Records the calls in progress of `task`, which transfers control. `look` returns the calls.
    #[cold]
    pub(super) fn task_waits(&mut self, task: TaskId, look: Look) {
        let call = self.here(look);
        set(&mut self.of_tasks, task.0 as usize, call);
    }

    /// The number of the innermost call in progress in the executable. [`NONE`] if there is no such
    /// call, or no room for it. `look` returns all calls in progress. Those that are new are added.
    fn here(&mut self, look: Look) -> u32 {
        self.addresses.resize(MOST_DEEP, 0);
        let count = look(&mut self.addresses);
        let start = executable::bounds().0;
        let mut call = NONE;
        for place in (0..count).rev() {
            // An address before the executable belongs to another object file, and has no lines.
            if let Some(address) = self.addresses[place].checked_sub(start) {
                call = self.call(call, address);
                if call == NONE {
                    break;
                }
            }
        }
        call
    }

    /// The number of the call with this return address that was made within `within`. Adds the
    /// call if it is new. Returns [`NONE`] if there is no room for it.
    fn call(&mut self, within: u32, address: usize) -> u32 {
        let newest = match within {
            NONE => self.newest,
            within => self.made[within as usize].newest,
        };
        let mut known = newest;
        while known != NONE {
            let call = self.made[known as usize];
            if call.address == address {
                return known;
            }
            known = call.earlier;
        }
        if self.made.len() == MOST {
            return NONE;
        }
        let call = self.made.len() as u32;
        self.made.push(Call {
            within,
            address,
            newest: NONE,
            earlier: newest,
        });
        match within {
            NONE => self.newest = call,
            within => self.made[within as usize].newest = call,
        }
        call
    }
}

fn set(calls: &mut EngineVec<u32>, place: usize, call: u32) {
    if calls.len() <= place {
        calls.resize(place + 1, NONE);
    }
    calls[place] = call;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_has_one_number() {
        let mut calls = Calls::new();
        let outer = calls.call(NONE, 10);
        let inner = calls.call(outer, 20);
        let other = calls.call(outer, 30);
        assert_eq!(calls.call(outer, 20), inner);
        assert_eq!(calls.call(NONE, 10), outer);
        let apart = calls.call(NONE, 20);
        assert_eq!(calls.made.len(), 4);
        assert!(inner != other && apart != inner);
        assert_eq!(calls.made[inner as usize].within, outer);
    }

    #[test]
    fn an_event_without_calls_has_none() {
        let mut calls = Calls::new();
        set(&mut calls.of_events, 2, 7);
        assert_eq!(calls.of_event(0), None);
        assert_eq!(calls.of_event(2), Some(7));
        assert_eq!(calls.of_event(3), None);
        calls.clear();
        assert_eq!(calls.of_event(2), None);
    }
}
