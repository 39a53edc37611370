//! Faults: failures of calls of the standard library that the search may choose.

use crate::token::tokens;
use crate::words::shown;

/// A failure that the search may choose for a call of the standard library.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// A write to a file, the creation of a file or of a directory: the disk is full.
    NoSpace,
    /// `File::sync_all` or `File::sync_data`: an error of the device.
    Sync,
    /// `fs::rename`: an error of the device.
    Rename,
    /// A read or a write transfers half of the bytes.
    Short,
    /// A read or a write returns `ErrorKind::Interrupted`.
    Interrupted,
    /// A connection is refused.
    Refused,
    /// A connection is not made in time.
    TimedOut,
    /// A read from a connection or a write to it: the connection breaks.
    Reset,
    /// `thread::Builder::spawn`: there are no more threads.
    Spawn,
    /// `Command::spawn` and its kin: there are no more processes.
    Process,
    /// `try_reserve` and `try_reserve_exact`: there is no more memory.
    Allocation,
}

tokens! {
    Fault {
        NoSpace = "no-space",
        Sync = "sync",
        Rename = "rename",
        Short = "short",
        Interrupted = "interrupted",
        Refused = "refused",
        TimedOut = "timed-out",
        Reset = "reset",
        Spawn = "spawn",
        Process = "process",
        Allocation = "allocation",
    }
}

impl Fault {
    /// The fault with this [index](Self::index).
    pub fn of_index(index: u32) -> Option<Self> {
        let mut all = <Self as crate::Token>::ALL.iter().copied();
        all.find(|fault| fault.index() == index)
    }

    /// The index of this fault among all faults, from 0 on.
    pub const fn index(self) -> u32 {
        self as u32
    }

    /// The words for this fault in reports.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoSpace => shown!("no space is left on the device"),
            Self::Sync => shown!("the device fails to sync"),
            Self::Rename => shown!("the device fails to rename"),
            Self::Short => shown!("only half of the bytes are transferred"),
            Self::Interrupted => shown!("the call is interrupted"),
            Self::Refused => shown!("the connection is refused"),
            Self::TimedOut => shown!("the connection is not made in time"),
            Self::Reset => shown!("the connection is reset"),
            Self::Spawn => shown!("no thread can be spawned"),
            Self::Process => shown!("no process can be spawned"),
            Self::Allocation => shown!("no memory can be reserved"),
        }
    }
}
