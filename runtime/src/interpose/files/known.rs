//! What is known of files in the running execution: their names, and which of them are open.

use core::ffi::c_int;

use super::touches::Touches;
use crate::base::fingerprint::mix;
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{self, number};
use crate::engine::engine;
use crate::execution::{Effect, Named, Site, TaskId, current, named};

/// A file's place: its device, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inode {
    pub(super) device: u64,
    pub(super) number: u64,
    pub(super) mode: u32,
}

impl Inode {
    /// In place of what is not open.
    pub(super) const NONE: Self = Self {
        device: 0,
        number: 0,
        mode: 0,
    };

    const KIND: u32 = 0o170_000;

    pub(super) fn is_directory(self) -> bool {
        self.mode & Self::KIND == 0o040_000
    }

    pub(super) fn is_link(self) -> bool {
        self.mode & Self::KIND == 0o120_000
    }

    fn is_file(self) -> bool {
        self.mode & Self::KIND == 0o100_000
    }

    /// Whether it is a terminal or a source of zeros, say.
    pub(super) fn is_device(self) -> bool {
        self.mode & Self::KIND == 0o020_000
    }

    fn is(self, other: Self) -> bool {
        (self.device, self.number) == (other.device, other.number)
    }

    /// What is at `path`, from `directory` on; a link itself with that flag.
    pub(super) unsafe fn at(
        directory: c_int,
        path: *const u8,
        flags: c_int,
    ) -> Result<Self, isize> {
        const INODE_AT: usize = 1;
        const MODE_AT: usize = 3;
        let mut stat = [0u64; 18];
        let at = &raw mut stat as usize;
        let (path, flags) = (path as usize, flags as usize);
        // SAFETY: the caller's path ends in a zero, and `stat` is as large as the kernel's
        // structure.
        let result = unsafe {
            sys::syscall(
                number::NEWFSTATAT,
                [directory as usize, path, at, flags, 0, 0],
            )
        };
        if result < 0 {
            return Err(result);
        }
        Ok(Self {
            device: stat[0],
            number: stat[INODE_AT],
            mode: stat[MODE_AT] as u32,
        })
    }

    /// What is open as `descriptor`.
    pub(super) fn of(descriptor: c_int) -> Option<Self> {
        const AT_EMPTY_PATH: c_int = 0x1000;
        // SAFETY: a path that ends in a zero.
        unsafe { Self::at(descriptor, c"".as_ptr().cast(), AT_EMPTY_PATH) }.ok()
    }
}

/// A lock that is held by an open file.
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
    /// The only task that has used it, as far as it is known.
    user: TaskId,
    /// Several tasks or descriptors use it.
    pub(super) is_shared: bool,
}

/// What is known of files in one execution.
pub(crate) struct Known {
    /// Files that were made in it, and what they are called.
    made: EngineVec<(Inode, u64)>,
    opened: EngineVec<Opened>,
    /// Descriptors, and the places of what they have opened.
    descriptors: EngineVec<(c_int, usize)>,
    /// How many files each task has opened.
    counts: EngineVec<u64>,
    /// Where the path of a call leads, and what of it is still to be followed.
    pub(super) at: EngineVec<u8>,
    pub(super) rest: EngineVec<u8>,
    /// The current directory of an exploration's first execution, if one has changed it.
    pub(super) home: EngineVec<u8>,
    pub(super) has_moved: bool,
    /// The devices of which the kernel makes up the files.
    made_up: Option<[u64; 2]>,
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
        }
    }

    /// A new execution begins, in the directory in which all begin.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.made.clear();
        self.opened.clear();
        self.descriptors.clear();
        self.counts.clear();
        if core::mem::take(&mut self.has_moved) {
            let path = self.home.as_ptr() as usize;
            // SAFETY: a path that ends in a zero.
            unsafe { sys::syscall(number::CHDIR, [path, 0, 0, 0, 0, 0]) };
        }
    }

    /// Whether files are still open.
    pub(in super::super) fn leaves_open(&self) -> bool {
        !self.descriptors.is_empty()
    }

    /// The name of a file: that of its path where this execution has made it.
    pub(super) fn name(&self, inode: Inode) -> u64 {
        let made = self.made.iter().rev().find(|(made, _)| made.is(inode));
        made.map_or_else(|| mix(inode.device, inode.number) << 4, |&(_, name)| name)
    }

    /// A file was made that has this name. Its number may have been another file's before.
    pub(super) fn made(&mut self, inode: Inode, name: u64) {
        match self.made.iter_mut().find(|(made, _)| made.is(inode)) {
            Some(known) => *known = (inode, name),
            None => self.made.push((inode, name)),
        }
    }

    /// A name for the next thing that the running task opens.
    pub(super) fn next_name(&mut self) -> u64 {
        let task = current().0 as usize;
        if self.counts.len() <= task {
            self.counts.resize(task + 1, 0);
        }
        self.counts[task] += 1;
        mix(task as u64, self.counts[task])
    }

    /// `descriptor` was opened by the running task.
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

    /// `copy` has what `descriptor` has.
    pub(super) fn duplicate(&mut self, descriptor: c_int, copy: c_int) {
        self.forget(copy);
        if let Some(place) = self.place(descriptor) {
            self.descriptors.push((copy, place));
            self.opened[place].is_shared = true;
        }
    }

    /// `descriptor` is closed.
    pub(super) fn forget(&mut self, descriptor: c_int) {
        self.descriptors.retain(|&(known, _)| known != descriptor);
    }

    fn place(&self, descriptor: c_int) -> Option<usize> {
        let mut known = self.descriptors.iter();
        known
            .find(|(known, _)| *known == descriptor)
            .map(|&(_, place)| place)
    }

    /// What `descriptor` has opened, if that is known.
    pub(super) fn opened(&mut self, descriptor: c_int) -> Option<&mut Opened> {
        let place = self.place(descriptor)?;
        Some(&mut self.opened[place])
    }

    /// Whether no other descriptor has what `descriptor` has.
    pub(super) fn is_last(&self, descriptor: c_int) -> bool {
        let place = self.place(descriptor);
        let same = self.descriptors.iter().filter(|(_, at)| Some(*at) == place);
        same.count() <= 1
    }

    /// A lock on the file that an open file holds.
    pub(super) fn holder(&self, inode: Inode) -> Option<Held> {
        let mut same = self.opened.iter().filter(|opened| opened.inode.is(inode));
        same.find_map(|opened| opened.lock)
    }
}

/// What is known of files in the running execution.
pub(super) fn known() -> &'static mut Known {
    // SAFETY: one task runs at a time, and each use ends before the next scheduling point.
    unsafe { &mut (*engine()).process.files }
}

/// What stands for the bytes of a file.
pub(super) fn contents(inode: Inode) -> usize {
    named(Named::Contents, known().name(inode))
}

/// What stands for what is known of a file besides.
pub(super) fn attributes(inode: Inode) -> usize {
    named(Named::Attributes, known().name(inode))
}

/// The file that a call on `descriptor` is about, `None` where that is nothing that
/// counts: a pipe, a device, what the kernel makes up, or what was open before.
pub(super) fn file_of(descriptor: c_int, touches: &mut Touches) -> Option<Inode> {
    // SAFETY: the engine's root is mapped where a task runs.
    if descriptor < unsafe { (*engine()).process.first_descriptor() } {
        return None;
    }
    let Some(inode) = Inode::of(descriptor) else {
        // It is closed: perhaps because others were first.
        touches.use_everything();
        return Some(Inode::NONE);
    };
    if !(inode.is_file() || inode.is_directory()) || is_made_up(inode.device) {
        return None;
    }
    use_opened(descriptor, touches);
    Some(inode)
}

/// A call reads what `descriptor` has opened.
fn use_opened(descriptor: c_int, touches: &mut Touches) {
    match known().opened(descriptor) {
        Some(opened) => {
            opened.is_shared |= opened.user != current();
            let position = named(Named::Opened, opened.name);
            touches.is_about(position, Effect::Read);
        }
        // It was opened where that is not seen: what the file is called may differ from
        // one execution to the next.
        None => touches.use_everything(),
    }
}

/// What stands for the position in the file that `descriptor` has opened.
pub(super) fn position(descriptor: c_int) -> Option<usize> {
    let opened = known().opened(descriptor)?;
    Some(named(Named::Opened, opened.name))
}

/// Whether a device has files that the kernel makes up.
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
