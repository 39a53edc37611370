//! The checkpoints of tasks, effects and progress, which every search saves.

use super::Progress;
use crate::base::stored::{Stored, stored};
use crate::base::written::Written;
use chess_vocabulary::{Effect, TaskId};

stored!(Progress {
    bound,
    bound_completed,
    delays_completed,
    pruned,
    complete,
});

impl Stored for TaskId {
    fn write(&self, out: &mut Written) {
        self.0.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        u32::read(input).map(Self)
    }
}

impl Stored for Effect {
    fn write(&self, out: &mut Written) {
        (*self as u8).write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let number = u8::read(input)?;
        Effect::ALL.get(usize::from(number)).copied()
    }
}
