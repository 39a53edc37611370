//! How operations touch their objects, and so depend on each other.

/// How an operation touches its object (CHESS section 3.3: `is_write`, `is_release`).
///
/// The effects of two operations on one object say whether these depend on each
/// other (`Effect::depends`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Effect {
    /// Leaves the object as it was.
    Read,
    /// Finds that a lock is taken, and does without it.
    Fail,
    /// Takes a lock that others may hold, too, without waiting: in vain, and then
    /// [`Effect::Fail`], where one holds or awaits it alone.
    TryEnter,
    /// Takes a lock that others may hold, too; blocks while it cannot.
    Enter,
    /// Gives back what [`Effect::Enter`] or [`Effect::TryEnter`] took.
    Leave,
    /// Comes to wait until all have left, before [`Effect::Acquire`]: none enters any more.
    Queue,
    /// Changes the object in a way that commutes with other updates of it.
    Update,
    /// Lets one go on that [`Effect::Acquire`] or [`Effect::Enter`] keeps waiting.
    Release,
    /// Takes what others may not have; blocks while it cannot.
    Acquire,
    /// Writes what the object holds already: all that others can tell by it is what its task
    /// did before.
    Rewrite,
    /// May change the object in any way.
    Write,
}

/// How an operation depends on an earlier one of another task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dependence {
    /// They commute.
    None,
    /// The earlier one lets the later one go on: they cannot change places.
    Enables,
    /// They do not commute, and could change places.
    Races,
}

/// What [`Effect::depends`] says of each two: it is asked for all that meets.
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

impl Effect {
    /// All of them.
    pub(crate) const ALL: [Self; Self::Write as usize + 1] = [
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

    /// How an operation of this effect depends on an `earlier` one on its object.
    #[inline]
    pub(crate) fn depends(self, earlier: Self) -> Dependence {
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
    pub(crate) fn commutes(self, other: Self) -> bool {
        self.depends(other) == Dependence::None && other.depends(self) == Dependence::None
    }

    /// Whether the object is as it was, for a task that polls it: what is taken
    /// and given back is.
    pub(crate) const fn is_quiet(self) -> bool {
        matches!(
            self,
            Self::Read | Self::Fail | Self::TryEnter | Self::Enter | Self::Leave | Self::Rewrite
        )
    }
}

#[cfg(test)]
mod tests;
