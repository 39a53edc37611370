//! Memory models, and the meaning of orderings in them.

use super::word::Word;
use core::sync::atomic::Ordering;

/// A memory model: the executions that are explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Model {
    /// The interleavings: sequential consistency.
    #[default]
    Sc,
    /// The executions of x86: a store may reach memory after later loads of its task (Owens, Sarkar
    /// and Sewell, TPHOLs'09).
    Tso,
    /// The executions of the language: C++20's model, repaired as RC11 (Lahav, Vafeiadis, Kang, Hur
    /// and Dreyer, PLDI'17). A load reads no store that comes after it in program order and
    /// reads-from.
    C11,
}

impl Model {
    /// The model with this name in requests.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "sc" => Self::Sc,
            "tso" => Self::Tso,
            "c11" => Self::C11,
            _ => return None,
        })
    }

    /// Whether the model has executions that are no interleavings.
    #[inline]
    pub(crate) fn is_weak(self) -> bool {
        self != Self::Sc
    }
}

/// The kind of an access to an atomic location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Load,
    Store,
    /// A read-modify-write, which may fail: then it is a load.
    Update,
}

/// The effect of an update that reads a certain value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Would {
    /// The update fails, and is a load.
    Fail,
    /// The update writes the value that it reads, and other tasks cannot synchronize with its task
    /// through this store. The update is performed as a load. But like every update, it cannot read
    /// a store that another update has read.
    Keep,
    Write,
}

/// An access to an atomic location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) address: usize,
    /// The size in bytes, at most 8.
    pub(crate) size: usize,
    pub(crate) kind: Kind,
    pub(crate) order: Ordering,
    /// The ordering of an update that fails.
    pub(crate) failure: Ordering,
}

impl Access {
    /// The ordering of the access. `writes`: whether the access writes. An update that does not
    /// write has its ordering of failure.
    pub(crate) fn order_if(&self, writes: bool) -> Ordering {
        match self.kind {
            Kind::Update if !writes => self.failure,
            _ => self.order,
        }
    }
}

/// An access that was performed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Performed {
    /// The store that the access met, by its number among the offered stores.
    pub(crate) choice: u32,
    /// The value that the access wrote. `None` for a load, and for an update that left the value
    /// unchanged and is treated as a load.
    pub(crate) written: Option<Word>,
    /// The access is an update that left the value unchanged.
    pub(crate) is_kept: bool,
    /// The ordering that the access had.
    pub(crate) order: Ordering,
}

/// Whether a load, or a fence, with this ordering acquires.
#[inline]
pub(crate) fn acquires(order: Ordering) -> bool {
    matches!(
        order,
        Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst
    )
}

/// Whether a store with this ordering releases.
#[inline]
pub(crate) fn releases(order: Ordering) -> bool {
    matches!(
        order,
        Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
    )
}
