//! The engine's state of the kernel objects that executions use or leave behind.

use core::mem::offset_of;

use super::credentials::{self, Credentials};
use super::disposition::{self, Signals};
use super::files::{self, Elsewhere, Known};
use super::libraries::{self, Libraries};
use super::loopback::{self, Links};
use super::process_attributes::{self, Attributes};
use super::timerfd::{self, Timers};
use super::virtual_timer::{self, VirtualTimers};
use crate::base::memory::Place;
use crate::monitor;

/// The engine's state of the kernel objects of the process.
#[repr(C)]
pub(crate) struct Process {
    /// Sockets of the running execution.
    pub(super) links: Links,
    /// Timer descriptors of the running execution.
    pub(super) timers: Timers,
    /// Signals of the running execution.
    pub(super) signals: Signals,
    /// The alarm and the timers of `timer_create` of the running execution.
    pub(super) virtual_timers: VirtualTimers,
    /// Files of the running execution.
    pub(super) files: Known,
    /// The changes by the running execution to the user and groups of the process.
    pub(super) credentials: Credentials,
    /// The paths that the test has used outside of its own directory.
    pub(crate) elsewhere: Elsewhere,
    /// The calls of `getaddrinfo` that were tried before.
    pub(super) libraries: Libraries,
    /// The attributes of the process that the running execution has changed.
    pub(super) attributes: Attributes,
}

/// The place of this state in the engine's memory. The module of each part has a constant for the
/// place of the part.
pub(crate) const PLACE: Place<Process> = Place::after(&monitor::PLACE);

const _: () = {
    const START: usize = PLACE.offset();
    assert!(START + offset_of!(Process, links) == loopback::PLACE.offset());
    assert!(START + offset_of!(Process, timers) == timerfd::PLACE.offset());
    assert!(START + offset_of!(Process, signals) == disposition::PLACE.offset());
    assert!(START + offset_of!(Process, virtual_timers) == virtual_timer::PLACE.offset());
    assert!(START + offset_of!(Process, files) == files::KNOWN_PLACE.offset());
    assert!(START + offset_of!(Process, credentials) == credentials::PLACE.offset());
    assert!(START + offset_of!(Process, elsewhere) == files::ELSEWHERE_PLACE.offset());
    assert!(START + offset_of!(Process, libraries) == libraries::PLACE.offset());
    assert!(START + offset_of!(Process, attributes) == process_attributes::PLACE.offset());
};

impl Process {
    pub(crate) const fn new() -> Self {
        Self {
            links: Links::new(),
            virtual_timers: VirtualTimers::new(),
            timers: Timers::new(),
            signals: Signals::new(),
            files: Known::new(),
            credentials: Credentials::new(),
            elsewhere: Elsewhere::new(),
            libraries: Libraries::new(),
            attributes: Attributes::new(),
        }
    }

    /// Begins a new execution. Discards the state of the kernel objects of the former execution,
    /// and undoes its changes of signals and of the attributes of the process.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.links.clear();
        self.virtual_timers.clear();
        self.timers.clear();
        self.signals.put_back();
        self.files.begin();
        self.credentials.clear();
        self.attributes.put_back();
    }

    /// Undoes the changes of the process's attributes by the former execution.
    #[inline]
    pub(crate) fn put_back_attributes(&mut self) {
        self.attributes.put_back();
    }

    /// Whether the execution is known to have left a descriptor open.
    #[inline]
    pub(crate) fn leaves_open(&self) -> bool {
        self.files.leaves_open()
    }

    /// Whether the execution is known to have made files.
    #[inline]
    pub(crate) fn makes_files(&self) -> bool {
        self.files.makes_files()
    }
}
