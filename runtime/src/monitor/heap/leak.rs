//! Leaks: blocks that an execution allocated and did not free, and to which no reference exists.
//!
//! Every word that may be a pointer to any byte of a block counts as a reference to this block. The
//! words are searched in statics, in blocks that are older than the execution, on the stacks and in
//! the thread-locals of tasks that have not ended, and in all blocks to which such words refer.
//! Blocks that were allocated before the first execution are not leaks.

use std::fmt::Write;

use chess_vocabulary::Kind;

use super::super::{End, Failure, Monitor};
use super::places::{self, BlockEvent};
use crate::base::memory::{EngineVec, engine_vec};
use crate::base::source_path::{line_of, line_of_place};
use crate::execution::{Ending, Execution, State, Task, called};
use crate::platform::heap;
use crate::platform::heap::{Allocation, Block};
use crate::platform::image::image;
use crate::platform::stack_pool::pool;

/// The maximum number of lost blocks that are described.
const MOST_SHOWN: usize = 8;

/// Finds leaks, if the search for leaks is on.
pub(crate) struct Leaks {
    pub(crate) is_on: bool,
    /// The address of the first block of this execution.
    start: usize,
    /// The number of the newest allocation when the execution began.
    first: u32,
    /// The lost blocks (those that leak) to which no other lost block refers. If there are none,
    /// the first lost block.
    lost: EngineVec<Block>,
    /// The number of all lost blocks.
    count: usize,
    /// This execution repeats an earlier one, to find the places at which the lost blocks were
    /// allocated.
    looks: bool,
    will_look: bool,
    wanted: EngineVec<u32>,
    found: EngineVec<BlockEvent>,
}

/// A block that may be lost.
struct Candidate {
    block: Block,
    is_reached: bool,
    /// Another lost block refers to this one.
    is_inner: bool,
}

impl Leaks {
    pub(in crate::monitor) const fn new() -> Self {
        Self {
            is_on: false,
            start: 0,
            first: 0,
            lost: engine_vec(),
            count: 0,
            looks: false,
            will_look: false,
            wanted: engine_vec(),
            found: engine_vec(),
        }
    }

    fn number(&self, block: Block) -> u32 {
        block.number.wrapping_sub(self.first)
    }

    #[cold]
    fn look(&mut self, execution: &Execution) {
        self.found.push(BlockEvent::here(execution));
        self.found.last_mut().map(places::find);
    }

    #[cold]
    fn search(&mut self, execution: &Execution) {
        let mut candidates = engine_vec::<Candidate>();
        let live = heap::blocks_from(self.start).filter(|(_, is_live)| *is_live);
        candidates.extend(live.map(|(block, _)| Candidate {
            block,
            is_reached: false,
            is_inner: false,
        }));
        let mut reached = engine_vec();
        roots(execution, self.start, |low, high| {
            reach(&mut candidates, &mut reached, low, high);
        });
        while let Some(Block { start, size, .. }) = reached.pop() {
            reach(&mut candidates, &mut reached, start, start + size);
        }
        candidates.retain(|candidate| !candidate.is_reached);
        self.count = candidates.len();
        for at in 0..candidates.len() {
            let Block { start, size, .. } = candidates[at].block;
            each_word(start, start + size, |word| {
                if let Some(inner) = find(&candidates, word)
                    && inner != at
                {
                    candidates[inner].is_inner = true;
                }
            });
        }
        let outer = candidates.iter().filter(|candidate| !candidate.is_inner);
        self.lost.extend(outer.map(|candidate| candidate.block));
        if self.lost.is_empty() {
            // All lost blocks are inner ones: they refer to each other in a cycle.
            self.lost
                .extend(candidates.first().map(|first| first.block));
        }
    }
}

/// Calls `part` with the bounds of each root: memory from which the search for references begins.
fn roots(execution: &Execution, start: usize, mut part: impl FnMut(usize, usize)) {
    // SAFETY: no task runs, so that neither changes.
    let (pool, image) = unsafe { (&*pool(), &*image()) };
    image.written(&mut part);
    if !image.is_taken() {
        part(heap::FIRST, start);
    }
    for (_, task) in execution.live_tasks() {
        let result = (&raw const task.result).addr();
        part(result, result + size_of::<usize>());
        let values = task.key_values.as_ptr().addr();
        part(values, values + size_of_val(&task.key_values[..]));
        if task.state != State::Finished && task.donor != Task::NO_DONOR {
            for memory in pool.memory_of(task.donor) {
                part(memory.start, memory.end);
            }
        }
    }
}

/// Marks the candidates to which words between `low` and `high` refer. Adds the blocks that were
/// not marked before to `reached`.
fn reach(
    candidates: &mut EngineVec<Candidate>,
    reached: &mut EngineVec<Block>,
    low: usize,
    high: usize,
) {
    each_word(low, high, |word| {
        if let Some(at) = find(candidates, word)
            && !core::mem::replace(&mut candidates[at].is_reached, true)
        {
            reached.push(candidates[at].block);
        }
    });
}

/// The index of the candidate that contains `address`, or ends directly before `address`.
/// `candidates` must be sorted.
fn find(candidates: &[Candidate], address: usize) -> Option<usize> {
    let first = candidates.first()?.block.start;
    if address < first || !heap::contains(address) {
        return None;
    }
    let after = candidates.partition_point(|candidate| candidate.block.start <= address);
    let at = after.checked_sub(1)?;
    let Block { start, size, .. } = candidates[at].block;
    // A pointer directly after the last byte may belong to an iterator at its end.
    (address - start <= size).then_some(at)
}

fn each_word(low: usize, high: usize, mut word: impl FnMut(usize)) {
    const WORD: usize = size_of::<usize>();
    let low = low.next_multiple_of(WORD);
    for at in (low..(high & !(WORD - 1)).max(low)).step_by(WORD) {
        // SAFETY: memory of the program that stays mapped, and no task runs.
        word(unsafe { (at as *const usize).read_volatile() });
    }
}

impl Monitor for Leaks {
    #[inline]
    fn begin(&mut self) {
        if self.is_on {
            self.start = heap::end();
            self.first = heap::allocations();
            self.lost.clear();
            self.looks = self.will_look;
            self.will_look = false;
            self.found.clear();
        }
    }

    #[inline]
    fn watches_heap(&self) -> bool {
        self.looks
    }

    #[inline]
    fn allocated(&mut self, execution: &Execution, allocation: Allocation) {
        if self.looks && self.wanted.contains(&self.number(allocation.block)) {
            self.look(execution);
        }
    }

    #[inline]
    fn ended(&mut self, execution: &Execution) {
        if self.is_on && execution.ending == Ending::Finished {
            self.search(execution);
        }
    }

    #[inline]
    fn end(&mut self, _: &End<'_>) -> Option<Failure> {
        // The message needs places. These are found when the failure is reported.
        (!self.lost.is_empty()).then(|| Failure::new(Kind::Leak, ""))
    }

    fn wants_another_look(&mut self) -> bool {
        if self.lost.is_empty() || self.looks {
            return false;
        }
        self.wanted.clear();
        for at in 0..self.lost.len().min(MOST_SHOWN) {
            let number = self.number(self.lost[at]);
            self.wanted.push(number);
        }
        self.will_look = true;
        true
    }

    fn explain(&self, failure: &mut Failure) {
        if self.lost.is_empty() || failure.kind != Kind::Leak {
            return;
        }
        let blocks = match self.count {
            1 => "a block of memory is".to_owned(),
            count => format!("{count} blocks of memory are"),
        };
        let mut text = format!("{blocks} not freed, and nothing refers to it");
        if self.count > 1 {
            text = text.replace("refers to it", "refers to them");
        }
        // Blocks that were allocated at one place are described once.
        let mut lines: Vec<(String, usize)> = Vec::new();
        for found in &self.found {
            let line = line(found);
            match lines.iter_mut().find(|(known, _)| *known == line) {
                Some((_, count)) => *count += 1,
                None => lines.push((line, 1)),
            }
        }
        for (line, count) in lines {
            let _ = match count {
                1 => write!(text, "\n{line}"),
                _ => write!(text, "\n{line} ({count} times)"),
            };
        }
        failure.message.extend_from_slice(text.as_bytes());
        let first = self.found.iter().find_map(|found| found.place.clone());
        failure.place = failure.place.take().or(first);
    }
}

fn line(found: &BlockEvent) -> String {
    let who = called(found.task);
    match (&found.place, found.after) {
        (Some(place), _) => format!("allocated by {who} at {}", line_of_place(place)),
        (None, Some(site)) => format!("allocated by {who} after {}", line_of(site)),
        (None, None) => format!("allocated by {who}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(sizes: &[usize]) -> EngineVec<Candidate> {
        let mut all = engine_vec();
        let mut start = heap::FIRST + 16;
        for &size in sizes {
            let number = all.len() as u32;
            all.push(Candidate {
                block: Block {
                    start,
                    size,
                    requested: (start, start + size),
                    number,
                },
                is_reached: false,
                is_inner: false,
            });
            start += size + 16;
        }
        all
    }

    #[test]
    fn a_pointer_anywhere_into_a_block_refers_to_it() {
        let all = candidates(&[32, 64]);
        let (first, second) = (all[0].block.start, all[1].block.start);
        assert_eq!(find(&all, first), Some(0));
        assert_eq!(find(&all, first + 31), Some(0));
        assert_eq!(find(&all, first + 32), Some(0), "behind its last byte");
        assert_eq!(find(&all, second + 8), Some(1));
        assert_eq!(find(&all, first - 1), None);
        assert_eq!(find(&all, second + 65), None);
        assert_eq!(find(&all, 17), None);
    }

    #[test]
    fn a_referenced_block_is_reached_once() {
        let mut all = candidates(&[32, 64]);
        let words = [all[1].block.start + 8, 5, all[1].block.start];
        let low = words.as_ptr().addr();
        let mut reached = engine_vec();
        reach(&mut all, &mut reached, low, low + size_of_val(&words));
        assert_eq!(reached.len(), 1);
        assert!(all[1].is_reached && !all[0].is_reached);
    }
}
