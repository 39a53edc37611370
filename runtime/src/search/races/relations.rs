//! How operations depend on each other, as tables: it is asked for all that meets.

use crate::execution::{Dependence, Effect};

const COUNT: usize = Effect::Write as usize + 1;
const EFFECTS: [Effect; COUNT] = [
    Effect::Read,
    Effect::Enter,
    Effect::Leave,
    Effect::Update,
    Effect::Release,
    Effect::Acquire,
    Effect::Write,
];

/// How an operation depends on an earlier one, by their effects.
static DEPENDS: [[Dependence; COUNT]; COUNT] = {
    let mut table = [[Dependence::None; COUNT]; COUNT];
    let mut at = 0;
    while at < COUNT * COUNT {
        let (effect, earlier) = (EFFECTS[at / COUNT], EFFECTS[at % COUNT]);
        table[effect as usize][earlier as usize] = effect.depends(earlier);
        at += 1;
    }
    table
};

/// As [`Effect::depends`].
#[inline]
pub(super) fn depends(effect: Effect, earlier: Effect) -> Dependence {
    DEPENDS[effect as usize][earlier as usize]
}

/// As [`Effect::commutes`].
#[inline]
pub(super) fn commutes(one: Effect, other: Effect) -> bool {
    depends(one, other) == Dependence::None && depends(other, one) == Dependence::None
}
