//! Source lines in the words of shadow memory. A line is represented by the lower bits of the
//! address of its [`Location`].

use core::panic::Location;

use super::shadow::MARK_AT;
use crate::execution::Site;
use crate::platform::{executable, places};

/// The number of bits for the line in a word.
pub(super) const MARK_BITS: u32 = 25;
pub(super) const MARK: u64 = ((1 << MARK_BITS) - 1) << MARK_AT;
/// The number of lower bits that are 0 in the addresses of places.
const ALIGNED: u32 = align_of::<Location<'static>>().trailing_zeros();
/// The maximum distance of a place's address from [`origin`].
const FAR: usize = 1 << (MARK_BITS + ALIGNED - 1);

/// The address of one of the places that the compiler has put into the executable.
fn origin() -> usize {
    core::ptr::from_ref(Location::caller()).addr()
}

/// The mark of a source line whose place is at this address: the lower bits of the address,
/// without those that are 0 because of its alignment.
#[inline]
pub(super) fn mark_at(address: usize) -> u64 {
    (address as u64 >> (ALIGNED - MARK_AT)) & MARK
}

/// The mark of a source line. 0 if there is no line, or if its place is so far from [`origin`]
/// that the lower bits of the address do not identify it.
pub(super) fn mark_of(site: Option<Site>) -> u64 {
    let address = site.map_or(0, |site| core::ptr::from_ref(site).addr());
    let mark = mark_at(address);
    if address_of(mark) == address { mark } else { 0 }
}

/// The address with the lower bits of `mark` that is nearest to [`origin`].
fn address_of(mark: u64) -> usize {
    const UNUSED: u32 = u64::BITS - ALIGNED - MARK_BITS;
    let bits = (mark as usize) << (ALIGNED - MARK_AT);
    let distance = (bits.wrapping_sub(origin()) << UNUSED) as isize >> UNUSED;
    origin().wrapping_add_signed(distance)
}

pub(super) fn site_of(mark: u64) -> Option<Site> {
    if mark == 0 {
        return None;
    }
    // SAFETY: `mark_of` made the mark of a place, which exists forever; or `are_all_near` returned
    // true for the place.
    Some(unsafe { &*(address_of(mark) as *const Location<'static>) })
}

/// Whether each source line that reports accesses to this runtime is near enough to [`origin`] to
/// have a mark. These lines are in the executable or in its table of places. `false` if the runtime
/// is not a part of the executable.
pub(super) fn are_all_near() -> bool {
    let bounds = executable::bounds();
    let (low, high) = bounds;
    let (lowest, highest) = places::bounds().unwrap_or(bounds);
    let (lowest, highest) = (low.min(lowest), high.max(highest));
    (low..high).contains(&origin()) && highest - origin() <= FAR && origin() - lowest <= FAR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_places_that_are_not_too_far_away() {
        let site = Location::caller();
        assert_eq!(
            site_of(mark_of(Some(site))).map(Location::line),
            Some(site.line())
        );
        assert_eq!(mark_of(None), 0);
        let far = FAR.cast_signed();
        for (distance, is_near) in [
            (far - 8, true),
            (far, false),
            (-far, true),
            (-far - 8, false),
        ] {
            let address = origin().wrapping_add_signed(distance);
            let mark = mark_at(address);
            assert_eq!(address_of(mark) == address, is_near, "{distance}");
        }
        assert_eq!(mark_at(origin()) & !MARK, 0);
    }

    #[test]
    fn words_know_all_places_of_an_executable_that_is_not_large() {
        assert!(are_all_near());
    }
}
