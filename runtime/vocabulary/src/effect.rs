//! The effects of operations on their objects, and the dependences that follow from them.

use crate::token::tokens;

/// The effect of an operation on its object (CHESS, section 3.3: `isWrite` and `isRelease`).
///
/// The effects of two operations on one object determine whether the operations depend on each
/// other (`Effect::depends`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Effect {
    /// Leaves the object unchanged.
    Read,
    /// Does not acquire a lock, because another task holds it or waits for it.
    Fail,
    /// Acquires a lock in shared mode, without waiting. If another task holds the lock exclusively
    /// or waits to do so, the attempt fails, with the effect [`Effect::Fail`].
    TryEnter,
    /// Acquires a lock in shared mode. Blocks until this is possible.
    Enter,
    /// Releases a lock that [`Effect::Enter`] or [`Effect::TryEnter`] acquired.
    Leave,
    /// Begins to wait until all shared holders of a lock have left. From then on, no new shared
    /// holder enters. [`Effect::Acquire`] follows.
    Queue,
    /// Changes the object in a way that commutes with other updates of it.
    Update,
    /// Enables a task that [`Effect::Acquire`] or [`Effect::Enter`] blocks.
    Release,
    /// Acquires the object exclusively. Blocks until this is possible.
    Acquire,
    /// Writes the value that the object already holds. A task that reads the value can observe only
    /// that the earlier operations of the writing task came before.
    Rewrite,
    /// May change the object in any way.
    Write,
}

/// The dependence of an operation on an earlier one of another task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dependence {
    /// The two operations commute.
    None,
    /// The earlier operation enables the later one: the two cannot be reversed.
    Enables,
    /// The two operations do not commute, and could be reversed.
    Races,
}

/// The result of [`Effect::depends`] for each pair of effects. It is a table, because the search
/// compares very many pairs of accesses.
static DEPENDENCES: [[Dependence; Effect::ALL.len()]; Effect::ALL.len()] = {
    const COUNT: usize = Effect::ALL.len();
    let mut table = [[Dependence::None; COUNT]; COUNT];
    let mut at = 0;
    while at < COUNT * COUNT {
        let (effect, earlier) = (Effect::ALL[at / COUNT], Effect::ALL[at % COUNT]);
        table[effect as usize][earlier as usize] = effect.dependence_on(earlier);
        at += 1;
    }
    table
};

tokens! {
    Effect {
        Read = "read",
        Fail = "fail",
        TryEnter = "try-enter",
        Enter = "enter",
        Leave = "leave",
        Queue = "queue",
        Update = "update",
        Release = "release",
        Acquire = "acquire",
        Rewrite = "rewrite",
        Write = "write",
    }
}

impl Effect {
    /// All effects.
    pub const ALL: [Self; Self::Write as usize + 1] = [
        Self::Read,
        Self::Fail,
        Self::TryEnter,
        Self::Enter,
        Self::Leave,
        Self::Queue,
        Self::Update,
        Self::Release,
        Self::Acquire,
        Self::Rewrite,
        Self::Write,
    ];

    /// The dependence of an operation with this effect on an earlier operation on the same object,
    /// which had the effect `earlier`.
    #[inline]
    pub fn depends(self, earlier: Self) -> Dependence {
        DEPENDENCES[self as usize][earlier as usize]
    }

    const fn dependence_on(self, earlier: Self) -> Dependence {
        use Dependence::{Enables, None, Races};
        use Effect::{
            Acquire, Enter, Fail, Leave, Queue, Read, Release, Rewrite, TryEnter, Update, Write,
        };
        match (earlier, self) {
            (Read, Read | Fail | TryEnter | Enter)
            | (Fail, Read | Fail)
            | (TryEnter | Enter, Read | TryEnter | Enter | Leave)
            | (Leave, TryEnter | Enter | Leave | Queue | Update | Release)
            | (Queue, Leave | Queue)
            | (Update | Release, Leave | Update | Release) => None,
            (Release, Queue | Acquire | Enter) | (Leave, Acquire) => Enables,
            (
                Read | Fail | TryEnter | Enter | Leave | Queue | Update | Release | Acquire
                | Rewrite | Write,
                _,
            ) => Races,
        }
    }

    /// Whether two operations with these effects on one object commute.
    #[inline]
    pub fn commutes(self, other: Self) -> bool {
        self.depends(other) == Dependence::None && other.depends(self) == Dependence::None
    }

    /// Whether a task that polls the object sees no change by an operation with this effect. A
    /// shared acquisition of a lock and its release are no change, for example.
    pub const fn is_quiet(self) -> bool {
        matches!(
            self,
            Self::Read | Self::Fail | Self::TryEnter | Self::Enter | Self::Leave | Self::Rewrite
        )
    }
}

#[cfg(test)]
mod tests;
