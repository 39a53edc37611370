//! Memory errors: accesses to free memory, outside of blocks or in dead stack frames, and invalid
//! frees.

mod leak;
mod message;
mod places;

use core::ops::ControlFlow;

pub(crate) use self::leak::Leaks;
use chess_vocabulary::Kind;

use self::places::BlockEvent;
use super::{End, Failure, Monitor};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::Place;
use crate::execution::{DataAccess, DeadFrame, SyncAccess};
use crate::execution::{Ending, Execution, Op, Site};
use crate::platform::heap::{self, Allocation, Block, Fault, Free};

/// A forbidden access to memory.
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
    /// The block that was freed, or the block next to the access if `outside` is set.
    block: Option<Block>,
    /// Set if the access begins or ends outside of the block.
    outside: Option<Outside>,
    /// The dead frame that contained the memory, if the memory is on a stack.
    frame: Option<DeadFrame>,
}

/// The place of an access that is not within a block.
#[derive(Clone, Copy, Debug)]
struct Outside {
    address: usize,
    /// Whether the block is live.
    is_live: bool,
}

/// Judges accesses and frees.
pub(crate) struct Heap {
    error: Option<Error>,
    /// This execution repeats an earlier one, to find the places of its error.
    looks: bool,
    will_look: bool,
    /// The number of the newest allocation when the execution began.
    first: u32,
    /// The number, relative to `first`, of the block whose allocation and free must be found.
    wanted: Option<u32>,
    /// The places of the allocation, the free and the error.
    found: EngineVec<BlockEvent>,
    /// The role of each place of `found`.
    roles: [Option<Role>; 3],
}

/// The event to which a place belongs.
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

    /// Records the current place in the program as the place of the event `role`.
    #[cold]
    fn look(&mut self, execution: &Execution, role: Role) {
        if self.found.len() < self.roles.len() {
            self.roles[self.found.len()] = Some(role);
            self.found.push(BlockEvent::here(execution));
            self.found.last_mut().map(places::find);
        }
    }

    #[cold]
    fn uses_object(&mut self, execution: &Execution, access: SyncAccess) -> ControlFlow<()> {
        if !touches(access.op) {
            return ControlFlow::Continue(());
        }
        let address = execution.objects.get(access.object).address;
        // The size of the object is not known.
        self.uses(execution, (address, 1), Wrong::Sync(access.op), access.site)
    }

    /// Checks an access of the current task to `length` bytes from `address` on: whether any of
    /// them are free or in no block, and whether the first one is in a dead stack frame.
    #[inline]
    fn uses(
        &mut self,
        execution: &Execution,
        (address, length): (usize, usize),
        wrong: Wrong,
        site: Option<Site>,
    ) -> ControlFlow<()> {
        if let Some(fault) = heap::fault_of(address, length) {
            return self.misuses(execution, (address, fault), wrong, site);
        }
        if let Some(frame) = execution.dead_frame_at(address) {
            let error = Error {
                wrong,
                site,
                block: None,
                outside: None,
                frame: Some(frame),
            };
            return self.fails(execution, error);
        }
        ControlFlow::Continue(())
    }

    #[cold]
    fn misuses(
        &mut self,
        execution: &Execution,
        (address, fault): (usize, Fault),
        wrong: Wrong,
        site: Option<Site>,
    ) -> ControlFlow<()> {
        let (block, outside) = match fault {
            Fault::Freed(block) => (block, None),
            Fault::Outside(block, is_live) => (block, Some(Outside { address, is_live })),
        };
        let error = Error {
            wrong,
            site,
            block: Some(block),
            outside,
            frame: None,
        };
        self.fails(execution, error)
    }
}

/// Whether the operation accesses its object's memory. Some operations only use the address of the
/// object as a name.
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
        let bytes = (access.address, access.size);
        self.uses(execution, bytes, wrong, Some(access.site))
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
            outside: None,
            frame: None,
        };
        self.fails(execution, error)
    }

    #[inline]
    fn end(&mut self, end: &End<'_>) -> Option<Failure> {
        let error = self
            .error
            .filter(|_| end.execution.ending == Ending::Stopped)?;
        // The message needs places. These are found when the failure is reported.
        let kind = match error.wrong {
            Wrong::Free if error.block.is_some() => Kind::DoubleFree,
            Wrong::Free => Kind::InvalidFree,
            _ if error.frame.is_some() => Kind::UseAfterReturn,
            _ if error.outside.is_some() => Kind::OutOfBounds,
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
