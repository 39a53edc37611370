//! A small generator of random numbers (`SplitMix64`, Steele et al., OOPSLA'14).

/// A generator of random numbers, which depend only on its seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator whose numbers depend only on `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The state of this generator. A generator with this number as its seed returns the same
    /// numbers from here on.
    pub fn state(&self) -> u64 {
        self.0
    }

    /// The next 64 bits.
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`. `limit` must not be zero.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}
