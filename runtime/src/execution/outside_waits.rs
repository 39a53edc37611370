//! The real wait for events outside the process, and the notes about it for the user.
//!
//! No schedule could repeat the times of events outside the process. Therefore the engine assumes
//! that such an event comes later than the steps of all tasks. It polls for events only when no
//! task is enabled, or when the only enabled task does nothing but yield. Then the process waits in
//! the kernel, at most until the earliest deadline.

use core::ffi::c_int;

use chess_vocabulary::OutsideEffect;

use super::TaskId;
use super::arrived_signals::{ARRIVALS, Arrivals};
use super::outside_source;
use super::running::{running, with};
use super::state::{Execution, execution};
use super::task::Wait;
use super::terms::{Site, Step};
use crate::base::memory::engine_vec;
use crate::base::source_path::Place;
use crate::base::sys::{self, number, timespec};
use crate::platform::descriptor::{self, POLLIN, PollEntry};
use crate::platform::leftovers::first_descriptor;

/// The real time, in nanoseconds, for which the engine waits for events outside the process when
/// the only enabled task yields.
const BREATH: u64 = 1_000_000;
/// The least value of [`Descriptors::grace`].
const LEAST_GRACE: u32 = 4;

impl Execution {
    /// Whether the engine must poll for events outside the process if no task is enabled.
    #[inline]
    pub(super) fn awaits_outside(&self) -> bool {
        let descriptors = &self.descriptors;
        (descriptors.waiting > 0
            || !descriptors.children.is_empty()
            || descriptors.arrivals.are_there())
            && !self.body_done
    }

    /// Blocks the current task until something outside the process makes it ready. The number of
    /// such waits does not depend on the schedule alone, so this is no step.
    pub(super) fn sleep_uncounted(&mut self, wait: Wait, deadline: Option<u64>) -> Step {
        self.pulse += 1;
        self.block(wait, deadline);
        self.choose_next(false)
    }

    /// Keeps a note for the user: an effect outside control, with the line `site` of the operation
    /// if there is one. Each note is kept once.
    pub(super) fn note_outside(&mut self, effect: OutsideEffect, site: Option<Site>) {
        let is_known = self.outside.iter().any(|(known, place)| {
            let is_at_site = match (place, site) {
                (Some(place), Some(site)) => place.is_line_of(site),
                (place, site) => place.is_none() && site.is_none(),
            };
            *known == effect && is_at_site
        });
        if !is_known {
            self.outside.push((effect, site.map(Place::of)));
        }
    }

    /// Yields for the current task, whose poll for something outside the process found nothing.
    /// The number of such yields does not depend on the schedule alone, so this is no step.
    fn yield_uncounted(&mut self) -> Step {
        self.pulse += 1;
        if !self.awaits_outside() {
            self.wait_outside(true);
        }
        self.choose_next(true)
    }

    /// If no task is enabled except by timing out, waits in the kernel until something outside the
    /// process has made a descriptor ready, and enables the tasks that wait for this descriptor.
    /// The wait ends at the earliest deadline. If `yielded` and only the current task is enabled,
    /// waits for at most [`BREATH`]. Children that the engine stops run only after several such
    /// yields.
    #[cold]
    pub(super) fn wait_outside(&mut self, yielded: bool) {
        let (first, second) = {
            let late = &self.schedule.late;
            let mut runnable = self
                .schedule
                .enabled
                .iter()
                .filter(|&task| !late.contains(task));
            (runnable.next(), runnable.next())
        };
        let stuck = first.is_none();
        if stuck {
            self.descriptors.children.tasks_block();
        } else if !yielded {
            return;
        } else if first != Some(self.schedule.current) || second.is_some() {
            return self.yielded_beside_children();
        } else if self.descriptors.children.rest_after_yield_of_only_task() {
            return;
        }
        let is_awaited = self.descriptors.waiting > 0 || self.descriptors.arrivals.are_open();
        if stuck && !is_awaited && self.schedule.late.is_empty() {
            return;
        }
        self.wait_for_events(stuck);
        self.stop_children();
    }

    /// Waits for events outside the process. `stuck` states that no task is enabled, except by
    /// timing out.
    fn wait_for_events(&mut self, stuck: bool) {
        loop {
            self.let_children_run();
            self.wait_for_signals_of_children();
            if self.wake_for_arrivals() {
                return;
            }
            // Children that the engine stops have run as far as they can.
            if stuck && self.descriptors.watchful && !self.descriptors.stops_children() {
                self.wait_for_the_others();
            }
            if self.wake_ready(true) {
                return;
            }
            // `gather` costs more than everything else here.
            let worth_it = self.descriptors.watchful || self.schedule.enabled.is_empty();
            if !worth_it || !self.gather() {
                return;
            }
            let limit = if stuck {
                self.until_deadline()
            } else {
                Some(BREATH)
            };
            if !self.wait_in_kernel(limit) {
                return;
            }
            self.wait_for_signals_of_children();
            let arrived = self.descriptors.arrivals.are_there();
            if limit.is_some() && !arrived && !self.wakes_by_now() {
                // A child has ended for which no task waits.
                return;
            }
        }
    }

    /// Whether a descriptor that a task waits for is ready.
    fn wakes_by_now(&self) -> bool {
        self.all_awaited()
            .any(|(_, entries, _)| descriptor::poll_now(entries) != 0)
    }

    /// Once a task that waits for something outside the process is ready, gives the other such
    /// tasks time to become ready, too. If not all tasks become ready in this time, the time is
    /// halved: the other tasks may wait for an effect of the ready task.
    fn wait_for_the_others(&mut self) {
        for _ in 0..self.descriptors.grace {
            let (mut answered, mut waiting) = (false, false);
            for (_, entries, _) in self.all_awaited().filter(|(_, _, outside)| *outside) {
                let ready = descriptor::poll_now(entries) != 0;
                answered |= ready;
                waiting |= !ready;
            }
            if !answered || !waiting {
                return;
            }
            sys::nap();
        }
        self.descriptors.grace = (self.descriptors.grace / 2).max(LEAST_GRACE);
    }

    /// The time until the earliest deadline, in virtual nanoseconds. `None` if there is no
    /// deadline. The caller waits in the kernel for at most this number of real nanoseconds.
    fn until_deadline(&self) -> Option<u64> {
        let deadlines = self
            .schedule
            .late
            .iter()
            .filter_map(|task| self.task(task).deadline);
        Some(deadlines.min()?.saturating_sub(self.clock))
    }

    /// Collects all descriptors that something outside the process may make ready. Returns whether
    /// there are any.
    fn gather(&mut self) -> bool {
        let mut gathered = core::mem::replace(&mut self.descriptors.gathered, engine_vec());
        gathered.clear();
        for child in self.descriptors.children.running() {
            gathered.push(PollEntry::new(outside_source::open_process(child), POLLIN));
        }
        let handles = gathered.len();
        if handles > 0 {
            self.note_outside(OutsideEffect::Child, None);
        }
        for task in (0..self.schedule.live as u32).map(TaskId) {
            let Some((entries, outside)) = self.awaited(task) else {
                continue;
            };
            let mut asked = outside || handles > 0;
            // For a wait only for something outside the process, `is_outside` has already kept a
            // note.
            let unknown = if outside { &[][..] } else { &*entries };
            for entry in unknown {
                if let Some(effect) = outside_source::of(entry.descriptor, entry.wanted) {
                    self.note_outside(effect, None);
                    asked = true;
                }
            }
            if asked {
                gathered.extend_from_slice(entries);
            }
        }
        let is_awaited = !gathered.is_empty();
        gathered.extend(self.descriptors.arrivals.entry());
        self.descriptors.handles = handles;
        self.descriptors.gathered = gathered;
        is_awaited
    }

    /// Waits until a collected descriptor is ready, for at most `limit` nanoseconds. Returns
    /// whether a descriptor is ready.
    fn wait_in_kernel(&mut self, limit: Option<u64>) -> bool {
        let mut time = limit.map(timespec::from_nanos);
        let time = time
            .as_mut()
            .map_or(0, |time| core::ptr::from_mut(time).addr());
        let interrupted = -(sys::EINTR as isize);
        let ready = self.descriptors.wait_in_kernel(|it| {
            let (at, count) = (it.gathered.as_mut_ptr() as usize, it.gathered.len());
            loop {
                // SAFETY: `at` points to `count` writable entries, and `time` is null or points to
                // a time that the kernel may write to.
                let ready = unsafe { sys::syscall(number::PPOLL, [at, count, time, 0, 8, 0]) };
                if ready != interrupted {
                    break ready;
                }
            }
        });
        for handle in &self.descriptors.gathered[..self.descriptors.handles] {
            descriptor::close(handle.descriptor);
        }
        ready > 0
    }

    /// Enables the task that handles signals, if a signal has arrived and the task waits. Returns
    /// whether the task was enabled.
    fn wake_for_arrivals(&mut self) -> bool {
        if !self.descriptors.arrivals.are_there() {
            return false;
        }
        let object = self.object(ARRIVALS);
        let waits = self.objects.get(object).waiters > 0;
        if waits {
            self.descriptors.arrivals.grant(|_| true);
            // A child may have ended since the engine last looked at the children. If a task
            // handles its signal, the tasks must see its end, too.
            self.descriptors.children.show_ends();
            self.descriptors.children.note_ends();
            self.wake_waiters(object);
        }
        waits
    }
}

/// Returns the arrivals of the running execution.
pub(crate) fn arrivals() -> &'static Arrivals {
    // SAFETY: all fields of the arrivals are atomic, so references may exist beside a borrow of the
    // execution by the engine.
    unsafe { &(*execution()).descriptors.arrivals }
}

/// Records the connection of a socket. If its peer is outside the process, the peers of all
/// sockets are checked from now on.
pub(crate) fn note_connection(socket: c_int) {
    if let Some(execution) = running()
        && outside_source::of_one(socket, POLLIN).is_some()
    {
        execution.with(|it| it.descriptors.watchful = true);
    }
}

/// Whether only something outside the process makes `descriptor` ready for the events `wanted` of
/// `poll`. If so, notes this for the user.
#[inline]
pub(crate) fn is_outside(descriptor: c_int, wanted: i16) -> bool {
    let Some(execution) = running() else {
        return false;
    };
    if !execution.with(|it| it.descriptors.watchful) && descriptor >= first_descriptor() {
        return false;
    }
    let Some(effect) = outside_source::of_one(descriptor, wanted) else {
        return false;
    };
    execution.with(|it| {
        it.descriptors.watchful = true;
        it.note_outside(effect, None);
    });
    true
}

/// Yields for the calling task, whose poll for something outside the process found nothing.
pub(crate) fn yield_to_outside() {
    if let Some(execution) = running() {
        execution.step(Execution::yield_uncounted);
    }
}

/// Records an effect outside control for the user.
pub(crate) fn note(effect: OutsideEffect) {
    add(effect, None);
}

/// As [`note`], for an operation of the program at `site`.
pub(crate) fn note_at(effect: OutsideEffect, site: Site) {
    add(effect, Some(site));
}

fn add(effect: OutsideEffect, site: Option<Site>) {
    if with(|execution| execution.note_outside(effect, site)).is_none() {
        // SAFETY: one thread at a time runs code of the program. It is no task, and so holds no
        // borrow.
        unsafe { (*execution()).note_outside(effect, site) };
    }
}
