//! Sets of tasks: one word for the first 64, a vector for programs with more.

use super::TaskId;
use crate::base::memory::{EngineVec, engine_vec};

const BITS: u32 = u64::BITS;

/// A set of tasks, of any size.
#[derive(Clone, Debug)]
pub(crate) struct TaskSet {
    first: u64,
    /// Its last word is not 0.
    rest: EngineVec<u64>,
}

impl TaskSet {
    pub(crate) const fn new() -> Self {
        Self {
            first: 0,
            rest: engine_vec(),
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.first = 0;
        self.rest.clear();
    }

    #[inline]
    pub(crate) fn insert(&mut self, task: TaskId) {
        if task.0 < BITS {
            self.first |= 1 << task.0;
        } else {
            self.insert_far(task);
        }
    }

    #[cold]
    fn insert_far(&mut self, task: TaskId) {
        let word = (task.0 / BITS - 1) as usize;
        if self.rest.len() <= word {
            self.rest.resize(word + 1, 0);
        }
        self.rest[word] |= 1 << (task.0 % BITS);
    }

    #[inline]
    pub(crate) fn remove(&mut self, task: TaskId) {
        if task.0 < BITS {
            self.first &= !(1 << task.0);
        } else {
            self.remove_far(task);
        }
    }

    #[cold]
    fn remove_far(&mut self, task: TaskId) {
        if let Some(word) = self.rest.get_mut((task.0 / BITS - 1) as usize) {
            *word &= !(1 << (task.0 % BITS));
        }
        while self.rest.last() == Some(&0) {
            self.rest.pop();
        }
    }

    #[inline]
    pub(crate) fn contains(&self, task: TaskId) -> bool {
        if task.0 < BITS {
            self.first >> task.0 & 1 != 0
        } else {
            let word = self.rest.get((task.0 / BITS - 1) as usize);
            word.is_some_and(|w| w >> (task.0 % BITS) & 1 != 0)
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == 0 && self.rest.is_empty()
    }

    /// Whether the set holds `task` and no other.
    #[inline]
    pub(crate) fn is_only(&self, task: TaskId) -> bool {
        if task.0 < BITS {
            self.first == 1 << task.0 && self.rest.is_empty()
        } else {
            self.is_only_far(task)
        }
    }

    #[cold]
    fn is_only_far(&self, task: TaskId) -> bool {
        let [others @ .., last] = &self.rest[..] else {
            return false;
        };
        let is_last = others.len() as u32 == task.0 / BITS - 1;
        is_last
            && *last == 1 << (task.0 % BITS)
            && self.first == 0
            && others.iter().all(|&w| w == 0)
    }

    /// Whether the two sets have a task in common.
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.first & other.first != 0 || self.rest.iter().zip(&other.rest).any(|(a, b)| a & b != 0)
    }

    /// The set as one word, if it has no task beyond the first 64.
    #[inline]
    pub(crate) fn small(&self) -> Option<u64> {
        self.rest.is_empty().then_some(self.first)
    }

    /// The tasks in ascending order.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = TaskId> {
        let words = core::iter::once(self.first).chain(self.rest.iter().copied());
        (0u32..)
            .step_by(BITS as usize)
            .zip(words)
            .flat_map(|(base, mut word)| {
                core::iter::from_fn(move || {
                    if word == 0 {
                        return None;
                    }
                    let bit = word.trailing_zeros();
                    word &= word - 1;
                    Some(TaskId(base + bit))
                })
            })
    }

    /// Appends the tasks that are not in `excluded`, in ascending order. This is faster than
    /// [`Self::iter`] with a filter, which is slow at each point of a program with many tasks.
    pub(crate) fn append_without(&self, excluded: &Self, tasks: &mut EngineVec<TaskId>) {
        let mut append = |base: u32, mut word: u64| {
            while word != 0 {
                tasks.push(TaskId(base + word.trailing_zeros()));
                word &= word - 1;
            }
        };
        append(0, self.first & !excluded.first);
        for (index, &word) in self.rest.iter().enumerate() {
            let excluded = excluded.rest.get(index).copied().unwrap_or(0);
            append((index as u32 + 1) * BITS, word & !excluded);
        }
    }

    /// A hash of the set. It is used to check that the prefix of an execution repeats.
    #[inline]
    pub(crate) fn fingerprint(&self) -> u64 {
        self.rest
            .iter()
            .fold(self.first, |sum, &word| sum.rotate_left(7) ^ word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_the_tasks_that_are_not_excluded() {
        let set_of = |tasks: &[u32]| {
            let mut set = TaskSet::new();
            for &task in tasks {
                set.insert(TaskId(task));
            }
            set
        };
        let all = set_of(&[0, 1, 63, 64, 65, 200, 300]);
        for excluded in [&[][..], &[1, 64], &[0, 63, 200, 400], &[2, 300]] {
            let mut tasks = engine_vec();
            all.append_without(&set_of(excluded), &mut tasks);
            let expected: Vec<TaskId> = all
                .iter()
                .filter(|task| !excluded.contains(&task.0))
                .collect();
            assert_eq!(tasks[..], expected);
        }
    }

    #[test]
    fn holds_tasks_beyond_one_word_in_order() {
        let mut set = TaskSet::new();
        for task in [300, 2, 64, 63, 0, 65] {
            set.insert(TaskId(task));
        }
        set.remove(TaskId(63));
        let tasks: Vec<u32> = set.iter().map(|t| t.0).collect();
        assert_eq!(tasks, [0, 2, 64, 65, 300]);
        assert!(set.contains(TaskId(300)) && !set.contains(TaskId(63)));
        assert!(!set.is_only(TaskId(0)));
        for task in [0, 2, 64, 300] {
            set.remove(TaskId(task));
        }
        assert!(!set.is_only(TaskId(64)) && !set.is_only(TaskId(129)));
        assert!(set.is_only(TaskId(65)) && set.small().is_none());
        set.remove(TaskId(65));
        assert!(set.is_empty() && set.small() == Some(0));
    }
}
