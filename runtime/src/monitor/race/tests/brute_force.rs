//! The races of random programs, found by the monitor and by brute force.

use std::collections::HashSet;

use super::*;

/// An access in the brute-force model.
struct Known {
    task: usize,
    is_write: bool,
    is_atomic: bool,
    /// The number of steps of each task that happened before it, its own included.
    clock: Vec<usize>,
}

/// All accesses to a byte in the brute-force model.
#[derive(Default)]
struct Byte(Vec<Known>);

impl Byte {
    /// Records an access. Returns whether it races with an earlier one.
    fn access(&mut self, access: Known) -> bool {
        let is_racy = self.0.iter().any(|known| {
            (known.is_write || access.is_write)
                && !(known.is_atomic && access.is_atomic)
                && known.clock[known.task] > access.clock[known.task]
        });
        self.0.push(access);
        is_racy
    }
}

/// Runs a random program. Returns whether it has a race.
#[expect(clippy::too_many_lines, reason = "a branch for each kind of step")]
fn run_random(machine: &mut Machine, seed: u64) -> bool {
    const TASKS: usize = 3;
    const LOCKS: u64 = 2;
    let mut rng = Rng::new(seed);
    let steps = 4 + rng.below(40);
    let mixes_sizes = rng.below(3) == 0;
    let order = 1 + rng.below(3);
    let frees = machine.has_blocks || rng.below(4) == 0;
    let atomics = rng.below(3) * 2;
    let mut clocks = vec![vec![0; TASKS]; TASKS];
    let mut locks = vec![vec![0; TASKS]; LOCKS as usize];
    let mut bytes: Vec<Byte> = (0..64).map(|_| Byte::default()).collect();
    let mut is_racy = false;
    machine.begin(TASKS as u32);
    // Each block is allocated by a task of the execution, or before it.
    let mut allocations = 0;
    BLOCKS.set([rng.below(2) == 0; 2].map(|is_old| is_old.then_some(0)));
    let mut task = 0;
    for _ in 0..steps {
        if rng.below(3) == 0 {
            task = rng.below(TASKS as u64) as usize;
            machine.run(task as u32);
        }
        clocks[task][task] += 1;
        let lock = rng.below(LOCKS) as usize;
        let join = |into: &mut Vec<usize>, from: &[usize]| {
            into.iter_mut()
                .zip(from)
                .for_each(|(into, from)| *into = *from.max(into));
        };
        if rng.below(4) < order {
            if rng.below(2) == 0 {
                machine.acquire(LOCK + lock);
                join(&mut clocks[task], &locks[lock]);
            } else {
                machine.release(LOCK + lock);
                join(&mut locks[lock], &clocks[task]);
            }
            continue;
        }
        let access = |is_write, is_atomic| Known {
            task,
            is_write,
            is_atomic,
            clock: clocks[task].clone(),
        };
        let block = rng.below(2) as usize;
        let place = block * BLOCK;
        let mut blocks = BLOCKS.get();
        if machine.has_blocks && blocks[block].is_none() {
            allocations += 1;
            blocks[block] = Some(allocations);
            BLOCKS.set(blocks);
            let allocated = (HEAP.block)(PLACE + place).unwrap();
            let site = Some(sites()[1]);
            machine.races.allocate(TaskId(task as u32), allocated, site);
            for byte in &mut bytes[place..place + BLOCK] {
                assert!(!byte.access(access(true, false)), "it is new");
            }
            continue;
        }
        if frees && rng.below(8) == 0 {
            let site = Some(sites()[0]);
            machine
                .races
                .free(TaskId(task as u32), PLACE + place, BLOCK, site);
            for granule in bytes[place..place + BLOCK].chunks_mut(8) {
                // The monitor does not detect a race of a free with the allocation of a granule
                // without accesses.
                let is_accessed = !machine.has_blocks
                    || blocks[block] == Some(0)
                    || granule.iter().any(|byte| byte.0.len() > 1);
                for byte in granule {
                    is_racy |= byte.access(access(true, false)) && is_accessed;
                    byte.0.clear();
                }
            }
            blocks[block] = None;
            BLOCKS.set(blocks);
            continue;
        }
        let length = if mixes_sizes { 1 << rng.below(5) } else { 8 };
        let start = (rng.below(32) as usize & !(length - 1)) % 32;
        if machine.has_blocks && blocks[start / BLOCK].is_none() {
            // The block is free.
            continue;
        }
        let is_write = rng.below(2) == 0;
        let is_atomic = length <= 8 && rng.below(8) < atomics;
        let site = sites()[rng.below(4) as usize];
        if is_atomic {
            let (op, how) = if is_write {
                (Op::AtomicFetchAdd, How::Exchange)
            } else {
                (Op::AtomicLoad, How::Load)
            };
            let atomic = Atomic {
                op,
                how,
                order: Ordering::Relaxed,
                site: Some(site),
            };
            let id = TaskId(task as u32);
            machine.races.atomic(id, PLACE + start, length, atomic);
        } else {
            let what = [What::Read, What::Write, What::Borrow, What::BorrowMut]
                [usize::from(is_write) + 2 * rng.below(2) as usize];
            machine.access(PLACE + start, length, what, site);
        }
        for byte in &mut bytes[start..start + length] {
            is_racy |= byte.access(access(is_write, is_atomic));
        }
    }
    is_racy
}

#[test]
fn a_race_is_found_if_and_only_if_there_is_one_and_the_same_without_tables() {
    for new in [|| Machine::new(1), Machine::with_blocks] {
        let [mut seeing, mut blind, mut rewritten] = [(); 3].map(|()| new());
        blind.is_blind = true;
        rewritten.is_rewritten = true;
        let mut outcomes = HashSet::new();
        for seed in 0..20_000 {
            let is_racy = run_random(&mut seeing, seed);
            assert_eq!(
                is_racy,
                seeing.is_racy(),
                "seed {seed}: {:?}",
                seeing.words()
            );
            for other in [&mut blind, &mut rewritten] {
                run_random(other, seed);
                assert_eq!(seeing.words(), other.words(), "seed {seed}");
            }
            outcomes.insert(is_racy);
        }
        assert_eq!(outcomes.len(), 2, "there are both kinds");
    }
}
