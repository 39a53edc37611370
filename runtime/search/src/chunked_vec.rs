//! A list that grows without moving its items, and that lends them to a checkpoint of the search.

use core::ops::{Index, IndexMut};

use crate::base::checkpoint::Checkpoint;
use crate::base::codec::Codec;
use crate::base::memory::{EngineMemory, EngineVec, engine_vec};

/// The number of items in one contiguous chunk.
const CHUNK: usize = 1 << 14;

/// A type that consists of plain bytes.
///
/// # Safety
/// Values have no uninitialized bytes, and every combination of bytes is a valid value.
pub(super) unsafe trait Plain: Copy {}

/// The list. A checkpoint may still refer to its items. So an item may change after it was added
/// only in ways that make no difference to a search that continues from this checkpoint.
pub(super) struct ChunkedVec<T> {
    /// Each chunk has room for [`CHUNK`] items. All chunks but the last one are full.
    chunks: EngineVec<EngineVec<T>>,
}

impl<T: Plain> ChunkedVec<T> {
    pub(super) const fn new() -> Self {
        Self {
            chunks: engine_vec(),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        let Some(last) = self.chunks.last() else {
            return 0;
        };
        (self.chunks.len() - 1) * CHUNK + last.len()
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(item),
            _ => self.begin_chunk(item),
        }
    }

    #[cold]
    fn begin_chunk(&mut self, item: T) {
        let mut chunk = Vec::with_capacity_in(CHUNK, EngineMemory);
        chunk.push(item);
        self.chunks.push(chunk);
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.chunks.last()?.last()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }
}

impl<T> Index<usize> for ChunkedVec<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        &self.chunks[index / CHUNK][index % CHUNK]
    }
}

impl<T> IndexMut<usize> for ChunkedVec<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.chunks[index / CHUNK][index % CHUNK]
    }
}

impl<T: Plain> Codec for ChunkedVec<T> {
    fn write(&self, out: &mut Checkpoint) {
        self.len().write(out);
        for chunk in &self.chunks {
            let length = size_of_val(&chunk[..]);
            // SAFETY: the items have this length, and all their bytes are initialized.
            out.lend(unsafe { core::slice::from_raw_parts(chunk.as_ptr().cast(), length) });
        }
    }

    fn read(input: &mut &[u8]) -> Option<Self> {
        let count = usize::read(input)?;
        let (bytes, rest) = input.split_at_checked(count.checked_mul(size_of::<T>())?)?;
        *input = rest;
        let mut chunks = engine_vec();
        for bytes in bytes.chunks(CHUNK * size_of::<T>()) {
            let mut chunk = Vec::<T, _>::with_capacity_in(CHUNK, EngineMemory);
            // SAFETY: the chunk has room for this number of items, and any bytes are valid items.
            unsafe {
                let to = chunk.as_mut_ptr().cast::<u8>();
                core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
                chunk.set_len(bytes.len() / size_of::<T>());
            }
            chunks.push(chunk);
        }
        Some(Self { chunks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SAFETY: an integer consists of plain bytes.
    unsafe impl Plain for u32 {}

    fn list(count: usize) -> ChunkedVec<u32> {
        let mut list = ChunkedVec::new();
        for number in 0..count {
            assert_eq!(list.len(), number);
            list.push(number as u32);
        }
        list
    }

    #[test]
    fn items_stay_where_they_are() {
        let mut list = list(CHUNK);
        let first = &raw const list[0];
        for number in 0..3 * CHUNK {
            list.push(number as u32);
        }
        assert_eq!(first, &raw const list[0]);
        list[CHUNK] = 77;
        assert_eq!(list.get(CHUNK), Some(&77));
        assert_eq!(list.get(4 * CHUNK), None);
        assert_eq!(list.last(), Some(&(3 * CHUNK as u32 - 1)));
        assert_eq!(list.iter().count(), 4 * CHUNK);
    }

    #[test]
    fn lists_are_read_as_they_were_written() {
        for count in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
            let (list, mut checkpoint) = (list(count), Checkpoint::new());
            list.write(&mut checkpoint);
            let bytes = checkpoint.to_bytes();
            let input = &mut &bytes[..];
            let mut again = ChunkedVec::<u32>::read(input).expect("a list");
            assert!(input.is_empty());
            assert!(again.iter().eq(list.iter()), "{count}");
            again.push(9);
            assert_eq!(again.len(), count + 1);
            if count > 0 {
                assert!(ChunkedVec::<u32>::read(&mut &bytes[..bytes.len() - 1]).is_none());
            }
        }
    }
}
