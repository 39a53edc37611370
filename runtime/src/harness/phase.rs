//! The phase of a search, and the reach of the phases before it.

use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::execution::Timers;

/// The extent of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Whether all schedules of the requested part of the space are explored.
    pub(crate) complete: bool,
    /// Whether all schedules are explored, including those of the other parts. `false` if the space
    /// is divided, because the search of one part does not know the other parts.
    pub(crate) complete_of_all: bool,
    /// The largest finished bound of the requested part.
    pub(crate) bound_completed: Option<u32>,
    /// The largest bound that is finished in the whole space. If the space is divided, this is a
    /// bound that was finished before the division.
    pub(crate) bound_of_all: Option<u32>,
    /// The largest number of delays with which every schedule of the whole space was run.
    pub(crate) delays_completed: Option<u32>,
}

impl Reach {
    /// The reach of a search that finished nothing.
    pub(crate) const NONE: Self = Self {
        complete: false,
        complete_of_all: false,
        bound_completed: None,
        bound_of_all: None,
        delays_completed: None,
    };
}

crate::base::codec::codec!(Reach {
    complete,
    complete_of_all,
    bound_completed,
    bound_of_all,
    delays_completed,
});

/// The current phase of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// The search has only one phase.
    Only,
    /// Time passes only when no task can run; another phase may follow.
    Last,
    /// Time passes at any time. This phase follows [`Self::Last`].
    Early,
}

/// The current phase of a search, and the results of the phases before it.
#[derive(Clone, Copy)]
pub(crate) struct Phases {
    pub(crate) phase: Phase,
    /// The number of schedules that are reserved for the second phase; `None` as long as no
    /// execution has shown that this phase is needed.
    pub(crate) kept: Option<u64>,
    /// The work that is reserved for the second phase, if work is limited.
    pub(super) kept_work: u64,
    /// The work of the whole search at which the phase ends; `None` for no limit.
    pub(super) work_limit: Option<u64>,
    /// The reach of the first phase, after its end.
    pub(crate) last: Option<Reach>,
    /// The rule for timeouts in the schedule of the reported failure.
    pub(crate) timers: Timers,
    /// The number of early timeouts in the schedule of the reported failure.
    pub(crate) early: u32,
}

impl Phases {
    pub(crate) const NONE: Self = Self {
        phase: Phase::Only,
        kept: None,
        kept_work: 0,
        work_limit: None,
        last: None,
        timers: Timers::Any,
        early: 0,
    };

    /// The work that the phase may still do when the whole search has done `work`; `None` for no
    /// limit.
    pub(super) fn work_left(&self, work: u64) -> Option<u64> {
        self.work_limit.map(|limit| limit.saturating_sub(work))
    }

    /// Whether the reported failure needs an early timeout, as far as is known.
    pub(crate) fn is_timing(&self) -> bool {
        self.phase == Phase::Early && self.early > 0
    }
}

/// The facts about a failure are not saved, because only a search without a failure is saved.
impl Codec for Phases {
    fn write(&self, out: &mut Checkpoint) {
        self.phase.write(out);
        self.kept.write(out);
        self.kept_work.write(out);
        self.work_limit.write(out);
        self.last.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        Some(Self {
            phase: Codec::read(input)?,
            kept: Codec::read(input)?,
            kept_work: Codec::read(input)?,
            work_limit: Codec::read(input)?,
            last: Codec::read(input)?,
            ..Self::NONE
        })
    }
}

impl Codec for Phase {
    fn write(&self, out: &mut Checkpoint) {
        (*self as u8).write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let all = [Self::Only, Self::Last, Self::Early];
        all.get(usize::from(u8::read(input)?)).copied()
    }
}
