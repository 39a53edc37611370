//! Serialization of tasks, effects and progress, for the saved states of searches.

use super::Progress;
use crate::base::checkpoint::Checkpoint;
use crate::base::codec::{Codec, codec};
use chess_vocabulary::{Effect, TaskId};

codec!(Progress {
    bound,
    bound_completed,
    delays_completed,
    pruned,
    complete,
});

impl Codec for TaskId {
    fn write(&self, out: &mut Checkpoint) {
        self.0.write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        u32::read(input).map(Self)
    }
}

impl Codec for Effect {
    fn write(&self, out: &mut Checkpoint) {
        (*self as u8).write(out);
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let number = u8::read(input)?;
        Effect::ALL.get(usize::from(number)).copied()
    }
}
