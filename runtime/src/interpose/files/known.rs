//! The files of the running execution: their names, and the open files.

use core::ffi::c_int;

use super::fifo_ends::FifoEnds;
pub(super) use super::inode::Inode;
use super::journal::Journal;
use super::shared_maps::SharedMaps;
use super::times::Times;
use super::touches::Touches;
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::sys::{self, number};
use crate::execution::{Effect, Named, Site, TaskId, current, ended_descriptor, files, named};
use crate::interpose::virtual_timer;
use crate::platform::leftovers::first_descriptor;

/// A lock that an open file holds.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) task: TaskId,
    pub(super) site: Option<Site>,
}

/// An open file, which several descriptors may share.
#[derive(Clone, Copy)]
pub(super) struct Opened {
    pub(super) name: u64,
    pub(super) inode: Inode,
    pub(super) lock: Option<Held>,
    /// The task that opened the file. It is the only user of the open file unless `is_shared` is
    /// set.
    user: TaskId,
    /// Whether several tasks or descriptors have used the open file.
    pub(super) is_shared: bool,
}

/// The place of this state in the engine's memory.
pub(crate) const PLACE: Place<Known> = Place::after(&virtual_timer::PLACE);

/// The state of files in one execution.
pub(crate) struct Known {
    /// The files that this execution has created, and their names.
    made: EngineVec<(Inode, u64)>,
    opened: EngineVec<Opened>,
    /// The descriptors, with the indices of their open files in `opened`.
    descriptors: EngineVec<(c_int, usize)>,
    /// The number of names that each task has assigned to opened files.
    counts: EngineVec<u64>,
    /// The resolved part of a path. After the resolution, the path of the found entry.
    pub(super) at: EngineVec<u8>,
    /// The part of a path that is left to resolve.
    pub(super) rest: EngineVec<u8>,
    /// The path of the directory in which all executions begin; empty if no execution has left it.
    pub(super) home: EngineVec<u8>,
    pub(super) has_moved: bool,
    /// The devices of the pseudo file systems `/proc` and `/sys`.
    made_up: Option<[u64; 2]>,
    /// The unsynced writes of components that may crash.
    pub(super) journal: Journal,
    pub(super) shared_maps: SharedMaps,
    pub(super) times: Times,
    pub(super) fifo_ends: FifoEnds,
}

impl Known {
    pub(crate) const fn new() -> Self {
        Self {
            made: engine_vec(),
            opened: engine_vec(),
            descriptors: engine_vec(),
            counts: engine_vec(),
            at: engine_vec(),
            rest: engine_vec(),
            home: engine_vec(),
            has_moved: false,
            made_up: None,
            journal: Journal::new(),
            shared_maps: SharedMaps::new(),
            times: Times::new(),
            fifo_ends: FifoEnds::new(),
        }
    }

    /// Begins a new execution, in the directory in which all executions begin.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.made.clear();
        self.opened.clear();
        self.descriptors.clear();
        self.counts.clear();
        self.journal.clear();
        self.shared_maps.clear();
        self.times.clear();
        self.fifo_ends.clear();
        if core::mem::take(&mut self.has_moved) {
            let path = self.home.as_ptr() as usize;
            // SAFETY: a path that ends in a zero.
            unsafe { sys::syscall(number::CHDIR, [path, 0, 0, 0, 0, 0]) };
        }
    }

    /// Whether the runtime knows a descriptor that the execution has left open.
    pub(in super::super) fn leaves_open(&self) -> bool {
        !self.descriptors.is_empty() || self.journal.leaves_open()
    }

    /// Whether the execution has made a file or a directory.
    pub(in super::super) fn makes_files(&self) -> bool {
        !self.made.is_empty()
    }

    /// Returns the number that names a file. A file that this execution has created has the name
    /// that [`Self::made`] has recorded. The name of another file is computed from its inode.
    pub(super) fn name(&self, inode: Inode) -> u64 {
        let made = self.made.iter().rev().find(|(made, _)| made.is(inode));
        made.map_or_else(|| mix(inode.device, inode.number) << 4, |&(_, name)| name)
    }

    /// Records a created file under `name`. Replaces the record of a removed file that had the
    /// same inode number.
    pub(super) fn made(&mut self, inode: Inode, name: u64) {
        match self.made.iter_mut().find(|(made, _)| made.is(inode)) {
            Some(known) => *known = (inode, name),
            None => self.made.push((inode, name)),
        }
    }

    /// Returns a name for the next file that the running task opens.
    pub(super) fn next_name(&mut self) -> u64 {
        let task = current().0 as usize;
        if self.counts.len() <= task {
            self.counts.resize(task + 1, 0);
        }
        self.counts[task] += 1;
        mix(task as u64, self.counts[task])
    }

    /// Records that the running task has opened `descriptor`.
    pub(super) fn open(&mut self, descriptor: c_int, inode: Inode) {
        self.forget(descriptor);
        let name = self.next_name();
        self.descriptors.push((descriptor, self.opened.len()));
        self.opened.push(Opened {
            name,
            inode,
            lock: None,
            user: current(),
            is_shared: false,
        });
    }

    /// Records that `copy` is a duplicate of `descriptor`.
    pub(super) fn duplicate(&mut self, descriptor: c_int, copy: c_int) {
        self.forget(copy);
        if let Some(place) = self.place(descriptor) {
            self.descriptors.push((copy, place));
            self.opened[place].is_shared = true;
        }
    }

    /// Removes the closed `descriptor`.
    pub(super) fn forget(&mut self, descriptor: c_int) {
        self.descriptors.retain(|&(known, _)| known != descriptor);
    }

    fn place(&self, descriptor: c_int) -> Option<usize> {
        let mut known = self.descriptors.iter();
        known
            .find(|(known, _)| *known == descriptor)
            .map(|&(_, place)| place)
    }

    /// Returns a descriptor of a file that was opened by a task for which `is_user` is true.
    pub(super) fn opened_by(&self, is_user: impl Fn(TaskId) -> bool) -> Option<c_int> {
        let mut known = self.descriptors.iter();
        let found = known.find(|&&(_, place)| is_user(self.opened[place].user));
        found.map(|&(descriptor, _)| descriptor)
    }

    /// Returns the open file of `descriptor`; `None` if no recorded call has opened it.
    pub(super) fn opened(&mut self, descriptor: c_int) -> Option<&mut Opened> {
        let place = self.place(descriptor)?;
        Some(&mut self.opened[place])
    }

    /// Whether no other descriptor shares the open file of `descriptor`.
    pub(super) fn is_last(&self, descriptor: c_int) -> bool {
        let place = self.place(descriptor);
        let same = self.descriptors.iter().filter(|(_, at)| Some(*at) == place);
        same.count() <= 1
    }

    /// Returns the lock on the file if some open file of this process holds it.
    pub(super) fn holder(&self, inode: Inode) -> Option<Held> {
        let mut same = self.opened.iter().filter(|opened| opened.inode.is(inode));
        same.find_map(|opened| opened.lock)
    }
}

/// The state of files in the running execution.
pub(super) fn known() -> &'static mut Known {
    // SAFETY: one task runs at a time, and each use ends before the next scheduling point.
    unsafe { &mut *PLACE.get() }
}

/// Returns the object that stands for the bytes of a file.
pub(super) fn contents(inode: Inode) -> usize {
    named(Named::Contents, known().name(inode))
}

/// Returns the object that stands for the attributes of a file.
pub(super) fn attributes(inode: Inode) -> usize {
    named(Named::Attributes, known().name(inode))
}

/// Returns the file that a call on `descriptor` uses. Returns `None` if uses of the file are not
/// recorded: for a pipe, a device, a file of a pseudo file system, or a file that was open before
/// the program's own code ran.
pub(super) fn file_of(descriptor: c_int, touches: &mut Touches) -> Option<Inode> {
    if descriptor < first_descriptor() {
        return None;
    }
    let Some(inode) = Inode::of(descriptor) else {
        touches.use_everything();
        if let Some(object) = ended_descriptor(descriptor, true) {
            touches.add(object, Effect::Read);
            // The close must be a scheduling point, even if the task that closed the file was its
            // only user so far.
            files::finds_ended(object);
        }
        return Some(Inode::NONE);
    };
    if !(inode.is_file() || inode.is_directory()) || is_made_up(inode.device) {
        return None;
    }
    use_opened(descriptor, touches);
    if let Some(object) = ended_descriptor(descriptor, false) {
        touches.add(object, Effect::Read);
    }
    Some(inode)
}

/// Records that a call uses the open file of `descriptor`.
fn use_opened(descriptor: c_int, touches: &mut Touches) {
    match known().opened(descriptor) {
        Some(opened) => {
            opened.is_shared |= opened.user != current();
            let position = named(Named::Opened, opened.name);
            touches.is_about(position, Effect::Read);
        }
        // A call that the runtime does not see has opened the file, so the file has no name that
        // is the same in all executions.
        None => touches.use_everything(),
    }
}

/// Returns the object that stands for the position in the open file of `descriptor`; `None` if the
/// open file is not known.
pub(super) fn position(descriptor: c_int) -> Option<usize> {
    let opened = known().opened(descriptor)?;
    Some(named(Named::Opened, opened.name))
}

/// Whether a device belongs to a pseudo file system.
fn is_made_up(device: u64) -> bool {
    let made_up = *known().made_up.get_or_insert_with(|| {
        [c"/proc", c"/sys"].map(|path| {
            // SAFETY: a path that ends in a zero.
            let found = unsafe { Inode::at(super::AT_FDCWD, path.as_ptr().cast(), 0) };
            found.map_or(0, |inode| inode.device)
        })
    });
    made_up.contains(&device)
}
