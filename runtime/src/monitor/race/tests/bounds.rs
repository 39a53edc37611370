//! Tests with random programs that access memory outside of blocks. The fast path must not record
//! such an access, because a monitor must report it.

use core::cell::RefCell;

use super::*;

/// A block of the model's heap.
#[derive(Clone, Copy)]
struct Slot {
    block: Block,
    is_live: bool,
}

impl Slot {
    /// Makes the block a new allocation.
    fn renew(&mut self, size: usize, number: u32) {
        let start = self.block.start;
        self.block.requested = (start, start + size);
        self.block.number = number;
        self.is_live = true;
    }
}

/// The bytes before each block.
const HEADER: usize = 16;
/// If memory is restored, all blocks that an execution allocates are at or after this address.
const FRESH: usize = PLACE + PAGE;

thread_local! {
    /// The blocks of the heap, by address.
    static TABLE: RefCell<Vec<Slot>> = const { RefCell::new(Vec::new()) };
    /// The address after the last block.
    static END: Cell<usize> = const { Cell::new(0) };
}

const MODEL: Arena = Arena {
    block: |address| {
        let around = |slot: &&Slot| {
            let Block { start, size, .. } = slot.block;
            slot.is_live && (start..start + size).contains(&address)
        };
        TABLE.with_borrow(|table| table.iter().find(around).map(|slot| slot.block))
    },
    end: || END.get(),
};

/// Whether all bytes were requested in one live block.
fn is_inside(address: usize, length: usize) -> bool {
    (MODEL.block)(address)
        .is_some_and(|block| block.requested.0 <= address && address + length <= block.requested.1)
}

/// Adds a block to the heap.
fn add(size: usize, number: u32) -> Block {
    let start = END.get() + HEADER;
    let mut slot = Slot {
        block: Block {
            start,
            size: size.next_multiple_of(16).max(16),
            requested: (0, 0),
            number,
        },
        is_live: false,
    };
    slot.renew(size, number);
    END.set(start + slot.block.size);
    TABLE.with_borrow_mut(|table| table.push(slot));
    slot.block
}

/// A program, and the ways in which its accesses were recorded.
struct Run<'a> {
    machine: &'a mut Machine,
    rng: &'a mut Rng,
    number: u32,
    ways: &'a mut Vec<Way>,
    /// The accesses so far, also those of earlier executions.
    seen: &'a mut Vec<(usize, usize)>,
}

impl Run<'_> {
    fn allocate(&mut self, block: Block) {
        let site = Some(sites()[1]);
        self.machine.races.allocate(self.machine.task, block, site);
    }

    /// Frees a block, allocates a block in place of a free one, does both, or adds a new block.
    fn change_heap(&mut self) {
        let count = TABLE.with_borrow(Vec::len);
        self.number += 1;
        let Some(mut slot) = self.slot(count) else {
            let block = add(self.rng.below(40) as usize, self.number);
            return self.allocate(block);
        };
        let place = slot.1;
        let slot = &mut slot.0;
        let Block { start, size, .. } = slot.block;
        let has_freed = slot.is_live;
        if has_freed {
            let task = self.machine.task;
            self.machine.races.free(task, start, size, None);
            slot.is_live = false;
        }
        let allocates = !has_freed || self.rng.below(2) == 0;
        if allocates {
            slot.renew(self.rng.below(size as u64 + 1) as usize, self.number);
        }
        TABLE.with_borrow_mut(|table| table[place] = *slot);
        if allocates {
            self.allocate(slot.block);
        }
    }

    /// One of the blocks, and its place in the table.
    fn slot(&mut self, count: usize) -> Option<(Slot, usize)> {
        let place = self.rng.below(count as u64 + 2) as usize;
        TABLE.with_borrow(|table| table.get(place).map(|slot| (*slot, place)))
    }

    /// Makes an access near a block. Returns `false` if the access is an error, which ends the
    /// execution.
    fn access(&mut self) -> bool {
        let count = TABLE.with_borrow(Vec::len);
        let Some((slot, _)) = self.slot(count) else {
            return true;
        };
        let rng = &mut *self.rng;
        // Most accesses are correct, so that executions are long.
        let mut chosen = (0, 0);
        for _ in 0..8 {
            let length = match rng.below(4) {
                0 => 1 + rng.below(40) as usize,
                _ => 1 << rng.below(5),
            };
            let aligned = slot.block.start + rng.below(5) as usize * 8;
            let address = match rng.below(4) {
                0 => slot.block.start - 4 + rng.below(48) as usize,
                _ => aligned + rng.below(8) as usize / length.min(8) * length.min(8),
            };
            chosen = (address, length);
            if is_inside(address, length) {
                break;
            }
        }
        if rng.below(3) == 0 && !self.seen.is_empty() {
            chosen = self.seen[rng.below(self.seen.len() as u64) as usize];
        }
        self.seen.push(chosen);
        let (address, length) = chosen;
        let is_write = rng.below(2) == 0;
        let what = if is_write { What::Write } else { What::Read };
        let site = sites()[rng.below(4) as usize];
        let is_correct = is_inside(address, length);
        let task = self.machine.task;
        if self
            .machine
            .races
            .is_repeated(task, address, length, is_write)
        {
            assert!(is_correct, "it is repeated");
        }
        // If the access is not correct, the execution ends before the access is recorded.
        self.machine.is_free = !is_correct;
        let way = self.machine.access(address, length, what, site);
        assert!(
            is_correct || way == Way::Judged,
            "{way:?}: {length} bytes at {address:x}, of {:x?}",
            slot.block
        );
        if is_correct {
            self.ways.push(way);
        }
        is_correct
    }

    fn step(&mut self) -> bool {
        match self.rng.below(12) {
            0 => {
                let task = self.rng.below(2) as u32;
                self.machine.run(task);
            }
            1 => self.machine.release(LOCK),
            2 => self.machine.acquire(LOCK),
            3 | 4 => self.change_heap(),
            _ => return self.access(),
        }
        true
    }
}

#[test]
fn no_access_outside_of_a_block_is_recorded_without_a_call() {
    let mut ways = Vec::new();
    let mut ended = 0;
    for seed in 0..2_000 {
        let mut rng = Rng::new(seed);
        let is_put_back = rng.below(3) != 0;
        let mut machine = Machine::new(1);
        machine.races.allocations.set_heap(MODEL);
        machine.has_blocks = true;
        machine.is_rewritten = rng.below(2) == 0;
        TABLE.take();
        END.set(PLACE);
        for _ in 0..4 {
            add(rng.below(40) as usize, 0);
        }
        if is_put_back {
            END.set(FRESH);
        }
        let image = TABLE.with_borrow(Clone::clone);
        let mut number = 0;
        let mut seen = Vec::new();
        for _ in 0..6 {
            if is_put_back {
                TABLE.set(image.clone());
                END.set(FRESH);
                number = 0;
            }
            machine.races.renew(is_put_back);
            for task in 0..2 {
                assert!(machine.races.add_task(TaskId(task), None));
            }
            machine.task = TaskId(0);
            let mut run = Run {
                machine: &mut machine,
                rng: &mut rng,
                number,
                ways: &mut ways,
                seen: &mut seen,
            };
            let all_ran = (0..60).all(|_| run.step());
            number = run.number;
            ended += usize::from(!all_ran);
        }
    }
    for way in [Way::FastPath, Way::Note, Way::Judged] {
        let count = ways.iter().filter(|&&each| each == way).count();
        assert!(count > 1_000, "{count} accesses are recorded: {way:?}");
    }
    assert!(ended > 1_000, "{ended} executions have an error");
}
