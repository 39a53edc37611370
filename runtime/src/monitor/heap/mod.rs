//! Memory errors: uses of memory that is free, and frees of what cannot be freed.

mod leak;
mod places;
mod words;

use core::ops::ControlFlow;

pub(crate) use self::leak::Leaks;
use self::places::Found;
use super::{DataAccess, End, Failure, Kind, Monitor, Place, SyncAccess};
use crate::base::memory::{EngineVec, engine_vec};
use crate::execution::{Ending, Execution, Op, Site};
use crate::platform::heap;

/// A block of the program's heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    /// How many bytes may be used there: at least as many as were asked for.
    pub(crate) size: usize,
    /// The number of its allocation.
    pub(crate) number: u32,
}

/// A block that a task was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Allocation {
    pub(crate) block: Block,
    /// It was free before.
    pub(crate) is_reused: bool,
}

/// What a task is about to free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Free {
    /// A block, as it should be.
    Live(Block),
    /// A block that is free already.
    Freed(Block),
    /// What was never handed out.
    Unknown(usize),
}

/// What a task does to memory that it may not do.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    Read(usize),
    Write(usize),
    Borrow(usize),
    Sync(Op),
    Free,
}

/// A memory error.
#[derive(Clone, Copy, Debug)]
struct Error {
    wrong: Wrong,
    site: Option<Site>,
    /// The block, if it ever was one.
    block: Option<Block>,
}

/// Judges accesses and frees.
pub(crate) struct Heap {
    error: Option<Error>,
    /// The execution is run once more, to find the places of an error that it led to.
    looks: bool,
    will_look: bool,
    /// The number of the newest allocation when the execution began.
    first: u32,
    /// The block whose places are wanted, by its number after that.
    wanted: Option<u32>,
    /// Of the allocation, the free and the error.
    found: EngineVec<Found>,
    /// Which of them, in the order in which they were found.
    roles: [Option<Role>; 3],
}

/// What a place is the place of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Allocation,
    Free,
    Error,
}

impl Heap {
    pub(super) const fn new() -> Self {
        Self {
            error: None,
            looks: false,
            will_look: false,
            first: 0,
            wanted: None,
            found: engine_vec(),
            roles: [None; 3],
        }
    }

    #[cold]
    fn fails(&mut self, execution: &Execution, error: Error) -> ControlFlow<()> {
        if self.looks {
            self.look(execution, Role::Error);
        }
        self.error = Some(error);
        ControlFlow::Break(())
    }

    fn is_wanted(&self, block: Block) -> bool {
        Some(block.number.wrapping_sub(self.first)) == self.wanted
    }

    /// Notes where the current task is.
    #[cold]
    fn look(&mut self, execution: &Execution, role: Role) {
        if self.found.len() < self.roles.len() {
            self.roles[self.found.len()] = Some(role);
            self.found.push(Found::here(execution));
            self.found.last_mut().map(places::find);
        }
    }

    #[cold]
    fn uses_object(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()> {
        if !touches(access.op) {
            return ControlFlow::Continue(());
        }
        let address = execution.objects.get(access.object).address;
        self.uses(execution, address, Wrong::Sync(access.op), access.site)
    }

    /// The current task does something to the memory at `address`, which may be free.
    #[inline]
    fn uses(
        &mut self,
        execution: &Execution,
        address: usize,
        wrong: Wrong,
        site: Option<Site>,
    ) -> ControlFlow<()> {
        match heap::block_around(address) {
            Some((block, false)) => {
                let block = Some(block);
                self.fails(execution, Error { wrong, site, block })
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Whether the operation touches its object's memory. Some only name an address.
const fn touches(op: Op) -> bool {
    let number = op as u8;
    let atomic = Op::AtomicLoad as u8 <= number && number < Op::Fence as u8;
    atomic || Op::MutexLock as u8 <= number && number <= Op::ArcCount as u8
}

impl Monitor for Heap {
    #[inline]
    fn begin(&mut self) {
        self.error = None;
        self.first = heap::allocations();
        self.looks = self.will_look;
        self.will_look = false;
        self.found.clear();
    }

    #[inline]
    fn sync_access(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()> {
        if access.may_be_free {
            return self.uses_object(execution, access);
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn data_access(&mut self, execution: &Execution, access: DataAccess) -> ControlFlow<()> {
        let wrong = match access.size {
            0 => return ControlFlow::Continue(()),
            size if access.is_borrow => Wrong::Borrow(size),
            size if access.is_write => Wrong::Write(size),
            size => Wrong::Read(size),
        };
        self.uses(execution, access.address, wrong, Some(access.site))
    }

    #[inline]
    fn watches_heap(&self) -> bool {
        self.looks
    }

    #[inline]
    fn allocated(&mut self, execution: &Execution, allocation: Allocation) {
        if self.looks && self.is_wanted(allocation.block) {
            self.look(execution, Role::Allocation);
        }
    }

    #[inline]
    fn frees(&mut self, execution: &Execution, free: Free) -> ControlFlow<()> {
        let block = match free {
            Free::Live(block) => {
                if self.looks && self.is_wanted(block) {
                    self.look(execution, Role::Free);
                }
                return ControlFlow::Continue(());
            }
            Free::Freed(block) => Some(block),
            Free::Unknown(_) => None,
        };
        let error = Error {
            wrong: Wrong::Free,
            site: None,
            block,
        };
        self.fails(execution, error)
    }

    #[inline]
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        let error = self
            .error
            .filter(|_| end.execution.ending == Ending::Stopped)?;
        // The words need places: they are found when it is reported.
        let kind = match error.wrong {
            Wrong::Free if error.block.is_some() => Kind::DoubleFree,
            Wrong::Free => Kind::InvalidFree,
            _ => Kind::UseAfterFree,
        };
        let mut failure = Failure::new(kind, "");
        failure.place = error.site.map(Place::of);
        Some(failure)
    }

    fn wants_another_look(&mut self) -> bool {
        let Some(error) = self.error.filter(|_| !self.looks) else {
            return false;
        };
        let block = error.block;
        self.wanted = block.map(|block| block.number.wrapping_sub(self.first));
        self.will_look = true;
        true
    }

    fn explain(&self, failure: &mut Failure) {
        if let Some(error) = &self.error {
            self.describe(error, failure);
        }
    }
}
