//! Short names for addresses, such as `ptr1`. Equal addresses have equal names. The names are the
//! same on every machine.

use std::collections::HashMap;

use crate::protocol::Finished;

/// The addresses of most objects are multiples of this. A remainder is a tag in the low bits.
const ALIGNMENT: u64 = 8;

/// The names of addresses so far.
#[derive(Default)]
pub(crate) struct Pointers {
    numbers: HashMap<u64, usize>,
}

impl Pointers {
    /// Replaces the addresses in the values of atomics by names.
    pub(crate) fn apply(&mut self, finished: &mut Finished) {
        for step in &mut finished.events {
            for value in [&mut step.read, &mut step.written].into_iter().flatten() {
                if let Some(name) = self.name(value) {
                    *value = name;
                }
            }
        }
    }

    /// The name of the address `value`; `None` if it is no address.
    fn name(&mut self, value: &str) -> Option<String> {
        let address = u64::from_str_radix(value.strip_prefix("0x")?, 16).ok()?;
        let (base, tag) = (address - address % ALIGNMENT, address % ALIGNMENT);
        let name = if base == 0 {
            "null".to_owned()
        } else {
            let next = self.numbers.len() + 1;
            format!("ptr{}", self.numbers.entry(base).or_insert(next))
        };
        Some(match tag {
            0 => name,
            tag => format!("{name}+{tag}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_name_and_numbers_stay() {
        let mut names = Pointers::default();
        let mut shown = |value: &str| names.name(value);
        assert_eq!(shown("0x7f30"), Some("ptr1".into()));
        assert_eq!(shown("0x7f48"), Some("ptr2".into()));
        assert_eq!(shown("0x7f31"), Some("ptr1+1".into()));
        assert_eq!(shown("0x0"), Some("null".into()));
        assert_eq!(shown("12"), None);
        assert_eq!(shown("true"), None);
    }
}
