//! Relations over the events of a graph, as bit matrices.

use crate::base::memory::{EngineVec, engine_vec};

/// A relation on the numbers below `size`.
pub(super) struct Relation {
    size: usize,
    /// The number of words of each row.
    width: usize,
    /// The rows, one after another: bit `b` of row `a` is set if the relation has the pair (a, b).
    bits: EngineVec<u64>,
}

impl Relation {
    pub(super) const fn new() -> Self {
        Self {
            size: 0,
            width: 0,
            bits: engine_vec(),
        }
    }

    /// Makes this the empty relation on the numbers below `size`.
    pub(super) fn clear(&mut self, size: usize) {
        self.size = size;
        self.width = size.div_ceil(64);
        self.bits.clear();
        self.bits.resize(size * self.width, 0);
    }

    /// Makes this the relation of all pairs of different numbers for which `has` is true.
    pub(super) fn fill(&mut self, size: usize, has: impl Fn(usize, usize) -> bool) {
        self.clear(size);
        for a in 0..size {
            for b in (0..size).filter(|&b| a != b && has(a, b)) {
                self.add(a, b);
            }
        }
    }

    #[inline]
    pub(super) fn add(&mut self, a: usize, b: usize) {
        self.bits[a * self.width + b / 64] |= 1 << (b % 64);
    }

    #[inline]
    pub(super) fn has(&self, a: usize, b: usize) -> bool {
        self.bits[a * self.width + b / 64] >> (b % 64) & 1 == 1
    }

    /// All numbers `b` such that the relation has the pair (a, b).
    pub(super) fn after(&self, a: usize) -> impl Iterator<Item = usize> {
        let row = &self.bits[a * self.width..][..self.width];
        row.iter().enumerate().flat_map(|(word, &bits)| {
            let rest = move |&bits: &u64| (bits & (bits - 1) != 0).then(|| bits & (bits - 1));
            let all = core::iter::successors((bits != 0).then_some(bits), rest);
            all.map(move |bits| word * 64 + bits.trailing_zeros() as usize)
        })
    }

    /// Adds all pairs of `other`.
    pub(super) fn join(&mut self, other: &Self) {
        for (own, other) in self.bits.iter_mut().zip(&other.bits) {
            *own |= other;
        }
    }

    /// Makes this the composition of two relations: it has the pair (a, c) if `first` has (a, b)
    /// and `second` has (b, c).
    pub(super) fn compose(&mut self, first: &Self, second: &Self) {
        self.clear(first.size);
        for a in 0..self.size {
            for b in first.after(a) {
                self.add_row(a, second, b);
            }
        }
    }

    /// For each pair (b, c) of `other`, adds the pair (a, c).
    pub(super) fn add_row(&mut self, a: usize, other: &Self, b: usize) {
        let own = &mut self.bits[a * self.width..][..self.width];
        let other = &other.bits[b * other.width..][..other.width];
        for (own, other) in own.iter_mut().zip(other) {
            *own |= other;
        }
    }

    /// Whether no chain of pairs leads from a number to itself. Replaces the relation by its
    /// transitive closure.
    pub(super) fn is_acyclic(&mut self) -> bool {
        let mut row = Self::new();
        row.clear(self.size);
        for k in 0..self.size {
            row.bits[..self.width].copy_from_slice(&self.bits[k * self.width..][..self.width]);
            for a in 0..self.size {
                if self.has(a, k) {
                    self.add_row(a, &row, 0);
                }
            }
        }
        (0..self.size).all(|a| !self.has(a, a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(size: usize, pairs: &[(usize, usize)]) -> Relation {
        let mut relation = Relation::new();
        relation.fill(size, |a, b| pairs.contains(&(a, b)));
        relation
    }

    #[test]
    fn a_cycle_is_found_at_any_size() {
        for size in [3, 64, 65, 130] {
            let last = size - 1;
            assert!(relation(size, &[(last, 0), (0, 1)]).is_acyclic());
            assert!(!relation(size, &[(last, 0), (0, 1), (1, last)]).is_acyclic());
        }
    }

    #[test]
    fn a_composition_has_the_ends_of_two_pairs() {
        let mut both = Relation::new();
        both.compose(
            &relation(70, &[(0, 66), (1, 2)]),
            &relation(70, &[(66, 69), (66, 0), (3, 4)]),
        );
        let pairs: Vec<_> = (0..70)
            .flat_map(|a| both.after(a).map(move |b| (a, b)))
            .collect();
        assert_eq!(pairs, [(0, 0), (0, 69)]);
    }
}
