//! Notes: details of an event that its operation does not show, such as the task that it woke.

use core::fmt::{self, Display};

use crate::token::tokens;
use crate::words::shown;
use crate::{Fault, TaskId};

/// A detail of an event that its operation alone does not show. A note is one word, not an enum
/// with a field: every event writes and reads it, and store forwarding in the processor needs both
/// accesses to have the same width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note(u32);

/// The kinds of notes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoteKind {
    /// See [`Note::WOKE_SPURIOUSLY`].
    WokeSpuriously,
    /// See [`Note::TIMED_OUT`].
    TimedOut,
    /// See [`Note::FAILED_SPURIOUSLY`].
    FailedSpuriously,
    /// See [`Note::REUSED`].
    Reused,
    /// See [`Note::TIMED_OUT_EARLY`].
    TimedOutEarly,
    /// See [`Note::ENDED_EARLY`].
    EndedEarly,
    /// See [`Note::HAPPENS`].
    Happens,
    /// See [`Note::OVERSTAYS`].
    Overstays,
    /// See [`Note::fails`].
    Fails,
    /// See [`Note::loses`].
    Loses,
    /// See [`Note::late`].
    Late,
    /// See [`Note::wakes`].
    Wakes,
    /// See [`Note::drew`].
    Drew,
}

tokens! {
    NoteKind {
        WokeSpuriously = "woke-spuriously",
        TimedOut = "timed-out",
        FailedSpuriously = "failed-spuriously",
        Reused = "reused",
        TimedOutEarly = "timed-out-early",
        EndedEarly = "ended-early",
        Happens = "happens",
        Overstays = "overstays",
        Fails = "fails",
        Loses = "loses",
        Late = "late",
        Wakes = "wakes",
        Drew = "drew",
    }
}

impl NoteKind {
    /// Whether a note of this kind is about a choice of the search that costs as much as a
    /// preemption.
    pub const fn costs(self) -> bool {
        matches!(
            self,
            Self::WokeSpuriously
                | Self::FailedSpuriously
                | Self::Reused
                | Self::TimedOutEarly
                | Self::EndedEarly
                | Self::Happens
                | Self::Overstays
                | Self::Fails
                | Self::Late
        )
    }

    /// Whether the note is about the end of an operation: a timeout, a spurious wake-up or failure, a
    /// late effect, or a yield after which the task continues.
    pub const fn is_of_end(self) -> bool {
        !matches!(
            self,
            Self::Reused | Self::Happens | Self::Fails | Self::Loses | Self::Wakes | Self::Drew
        )
    }

    /// The words of notes of this kind in reports, without the notes' details.
    pub fn words(self) -> &'static str {
        match self {
            Self::WokeSpuriously => shown!("woke spuriously"),
            Self::TimedOut => shown!("timed out"),
            Self::FailedSpuriously => shown!("failed spuriously"),
            Self::Reused => shown!("after the allocation of freed memory"),
            Self::TimedOutEarly => shown!("timed out early"),
            Self::EndedEarly => shown!("ended early"),
            Self::Happens => shown!("happens"),
            Self::Overstays => shown!("continues although others wait for their turn"),
            Self::Fails => shown!("fails"),
            Self::Loses => shown!("lost:"),
            Self::Late => shown!("took effect before the store"),
            Self::Wakes => shown!("wakes"),
            Self::Drew => shown!("drew"),
        }
    }
}

impl Note {
    /// No detail.
    pub const NONE: Self = Self(0);
    /// The operation waited, and continued spuriously.
    pub const WOKE_SPURIOUSLY: Self = Self(1);
    /// The operation waited, and timed out.
    pub const TIMED_OUT: Self = Self(2);
    /// The operation could have succeeded, and failed spuriously.
    pub const FAILED_SPURIOUSLY: Self = Self(3);
    /// Before the operation, its task allocated memory that had been freed earlier.
    pub const REUSED: Self = Self(4);
    /// The operation waited, and timed out while other tasks could have run.
    pub const TIMED_OUT_EARLY: Self = Self(5);
    /// The operation was a sleep that ended while other tasks could have run.
    pub const ENDED_EARLY: Self = Self(6);
    /// The operation was a rare event of the test, or a possible crash, and it happened.
    pub const HAPPENS: Self = Self(7);
    /// The operation was a yield, or comes after one that is no event, and its task continued
    /// although a fair scheduler would have let other tasks run first.
    pub const OVERSTAYS: Self = Self(8);
    const FIRST_FAULT: u32 = 16;
    const FIRST_TASK: u32 = 32;
    const FIRST_LATE: u32 = 1 << 30;
    const FIRST_LOSS: u32 = Self::FIRST_DRAW - (1 << 16);
    const FIRST_DRAW: u32 = 1 << 31;

    /// The note of an event that woke the waiting task `task`.
    #[inline]
    pub fn wakes(task: TaskId) -> Self {
        Self(Self::FIRST_TASK + task.0)
    }

    /// The waiting task that the event woke.
    #[inline]
    pub fn woken(self) -> Option<TaskId> {
        let is_task = (Self::FIRST_TASK..Self::FIRST_LATE).contains(&self.0);
        is_task.then(|| TaskId(self.0 - Self::FIRST_TASK))
    }

    /// The note of a call that fails.
    #[inline]
    pub fn fails(fault: Fault) -> Self {
        Self(Self::FIRST_FAULT + fault.index())
    }

    /// The fault with which the call failed.
    #[inline]
    pub fn fault(self) -> Option<Fault> {
        let is_fault = (Self::FIRST_FAULT..Self::FIRST_TASK).contains(&self.0);
        is_fault
            .then(|| self.0 - Self::FIRST_FAULT)
            .and_then(Fault::of_index)
    }

    /// The note of an atomic operation with a late effect: the operation took effect before the
    /// store of the event `overtaken`, although this store had been performed before.
    #[inline]
    pub fn late(overtaken: u32) -> Self {
        Self(Self::FIRST_LATE + overtaken.min(Self::FIRST_LOSS - Self::FIRST_LATE - 1))
    }

    /// The event whose store the operation overtook, see [`Note::late`].
    #[inline]
    pub fn overtaken(self) -> Option<u32> {
        let is_late = (Self::FIRST_LATE..Self::FIRST_LOSS).contains(&self.0);
        is_late.then(|| self.0 - Self::FIRST_LATE)
    }

    /// The note of a crash that loses this number of writes of a file.
    #[inline]
    pub fn loses(writes: u32) -> Self {
        Self(Self::FIRST_LOSS + writes.min(Self::FIRST_DRAW - Self::FIRST_LOSS - 1))
    }

    /// The number of writes of a file that are lost.
    #[inline]
    pub fn lost(self) -> Option<u32> {
        let is_loss = (Self::FIRST_LOSS..Self::FIRST_DRAW).contains(&self.0);
        is_loss.then(|| self.0 - Self::FIRST_LOSS)
    }

    /// The note of an event that drew this number.
    #[inline]
    pub fn drew(outcome: u32) -> Self {
        Self(Self::FIRST_DRAW.saturating_add(outcome))
    }

    /// The number that the event drew.
    #[inline]
    pub fn drawn(self) -> Option<u32> {
        self.0.checked_sub(Self::FIRST_DRAW)
    }

    /// The kind of the note; `None` for [`Note::NONE`].
    pub fn kind(self) -> Option<NoteKind> {
        match self {
            Self::WOKE_SPURIOUSLY => Some(NoteKind::WokeSpuriously),
            Self::TIMED_OUT => Some(NoteKind::TimedOut),
            Self::FAILED_SPURIOUSLY => Some(NoteKind::FailedSpuriously),
            Self::REUSED => Some(NoteKind::Reused),
            Self::TIMED_OUT_EARLY => Some(NoteKind::TimedOutEarly),
            Self::ENDED_EARLY => Some(NoteKind::EndedEarly),
            Self::HAPPENS => Some(NoteKind::Happens),
            Self::OVERSTAYS => Some(NoteKind::Overstays),
            _ if self.fault().is_some() => Some(NoteKind::Fails),
            _ if self.overtaken().is_some() => Some(NoteKind::Late),
            _ if self.lost().is_some() => Some(NoteKind::Loses),
            _ if self.woken().is_some() => Some(NoteKind::Wakes),
            _ => self.drawn().map(|_| NoteKind::Drew),
        }
    }

    /// The note of this kind. Depending on the kind, `number` is the woken task, the overtaken
    /// event, the index of the fault, the number of lost writes, or the drawn number; for other
    /// kinds it is ignored.
    pub fn of(kind: NoteKind, number: u32) -> Self {
        match kind {
            NoteKind::WokeSpuriously => Self::WOKE_SPURIOUSLY,
            NoteKind::TimedOut => Self::TIMED_OUT,
            NoteKind::FailedSpuriously => Self::FAILED_SPURIOUSLY,
            NoteKind::Reused => Self::REUSED,
            NoteKind::TimedOutEarly => Self::TIMED_OUT_EARLY,
            NoteKind::EndedEarly => Self::ENDED_EARLY,
            NoteKind::Happens => Self::HAPPENS,
            NoteKind::Overstays => Self::OVERSTAYS,
            NoteKind::Fails => Fault::of_index(number).map_or(Self::NONE, Self::fails),
            NoteKind::Loses => Self::loses(number),
            NoteKind::Late => Self::late(number),
            NoteKind::Wakes => Self::wakes(TaskId(number)),
            NoteKind::Drew => Self::drew(number),
        }
    }

    /// The words of the note, without the remark that it counts as a preemption. `woken` is the
    /// name of the woken task.
    pub fn without_cost(self, woken: &dyn Display) -> impl Display {
        fmt::from_fn(move |f| {
            let Some(kind) = self.kind() else {
                return Ok(());
            };
            if let Some(fault) = self.fault() {
                return f.write_str(fault.words());
            }
            f.write_str(kind.words())?;
            if let Some(writes) = self.lost() {
                return match writes {
                    1 => f.write_str(" the last write"),
                    _ => write!(f, " the last {writes} writes"),
                };
            }
            match (self.woken(), self.drawn()) {
                (Some(_), _) => write!(f, " {woken}"),
                (_, Some(outcome)) => write!(f, " {outcome}"),
                _ => match self.overtaken() {
                    // Reports number events from 1 on.
                    Some(event) => write!(f, " of step {}", event + 1),
                    None => Ok(()),
                },
            }
        })
    }

    /// The words of the note, with a remark if it counts as a preemption. Empty for [`Note::NONE`].
    /// `woken` is the name of the woken task.
    pub fn in_words(self, woken: &dyn Display) -> impl Display {
        fmt::from_fn(move |f| {
            self.without_cost(woken).fmt(f)?;
            match self.kind() {
                Some(kind) if kind.costs() => f.write_str(" (counts as a preemption)"),
                _ => Ok(()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Token;

    #[test]
    fn each_note_is_made_anew_of_its_kind_and_number() {
        for &kind in NoteKind::ALL {
            assert_eq!(Note::of(kind, 3).kind(), Some(kind));
        }
        assert_eq!(Note::of(NoteKind::Wakes, 3).woken(), Some(TaskId(3)));
        assert_eq!(Note::of(NoteKind::Drew, 3).drawn(), Some(3));
        assert_eq!(Note::of(NoteKind::Late, 3).overtaken(), Some(3));
        assert_eq!(Note::of(NoteKind::Fails, 3).fault(), Some(Fault::Short));
        assert_eq!(Note::NONE.kind(), None);
    }

    #[test]
    fn notes_name_tasks_and_state_their_cost() {
        let words = |note: Note| note.in_words(&"logger").to_string();
        assert_eq!(words(Note::wakes(TaskId(2))), "wakes logger");
        assert_eq!(
            words(Note::TIMED_OUT_EARLY),
            "timed out early (counts as a preemption)"
        );
        assert_eq!(
            words(Note::late(4)),
            "took effect before the store of step 5 (counts as a preemption)"
        );
        assert_eq!(
            words(Note::fails(Fault::Short)),
            "only half of the bytes are transferred (counts as a preemption)"
        );
        assert_eq!(words(Note::TIMED_OUT), "timed out");
        assert_eq!(words(Note::NONE), "");
    }
}
