//! Hashes: of two numbers, and of memory, to detect changes.

/// The number of words that are hashed in parallel.
const LANES: usize = 4;
const WORD: usize = size_of::<u64>();

/// Combines two hashes; order matters.
#[inline]
pub fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd6e8_feb8_6659_fd93);
    (product as u64) ^ (product >> 64) as u64
}

/// Combines `start` with the hash of `bytes`. Different bytes have the same hash only by
/// chance.
pub fn of(start: u64, bytes: &[u8]) -> u64 {
    let mut lanes: [u64; LANES] = [start, 1, 2, 3];
    let mut blocks = bytes.chunks_exact(LANES * WORD);
    for block in &mut blocks {
        for (lane, word) in lanes.iter_mut().zip(block.chunks_exact(WORD)) {
            *lane = mix(*lane, u64::from_le_bytes(word.try_into().expect("a word")));
        }
    }
    for &byte in blocks.remainder() {
        lanes[0] = mix(lanes[0], byte.into());
    }
    lanes.into_iter().fold(bytes.len() as u64, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_shows() {
        let bytes: Vec<u8> = (0..100).collect();
        let whole = of(0, &bytes);
        assert_eq!(whole, of(0, &bytes.clone()));
        assert_ne!(whole, of(1, &bytes));
        assert_ne!(whole, of(0, &bytes[..99]));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_ne!(whole, of(0, &changed), "byte {at}");
        }
        let mut swapped = bytes.clone();
        swapped.swap(8, 16);
        assert_ne!(whole, of(0, &swapped));
    }
}
