//! A place to which a policy applies: a directory, a file, or the lines of a module.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// A directory or a file, or some lines of a file.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// A file, or a directory with a slash at its end. An empty path stands for all files.
    pub path: String,
    /// The lines of the file, from 1, if the place is not the whole file.
    pub lines: Option<(u32, u32)>,
}

impl Place {
    /// A whole directory or a whole file.
    pub(crate) fn all_of(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            lines: None,
        }
    }

    /// The same place with `prefix` before its path.
    #[must_use]
    pub(crate) fn below(self, prefix: &str) -> Self {
        Self {
            path: format!("{prefix}{}", self.path),
            lines: self.lines,
        }
    }

    /// Whether the place contains `file`, or some lines of it.
    pub(crate) fn covers(&self, file: &str) -> bool {
        let rest = file.strip_prefix(self.path.as_str());
        let ends = self.path.is_empty() || self.path.ends_with('/');
        rest.is_some_and(|rest| ends || rest.is_empty() || rest.starts_with('/'))
    }
}

/// The form in requests to test binaries: `src/ring.rs`, or `src/lib.rs:12-40`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match self.lines {
            Some((first, last)) => write!(f, ":{first}-{last}"),
            None => Ok(()),
        }
    }
}

/// The marked lines of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Marked {
    /// No line.
    Nowhere,
    /// All lines.
    Everywhere,
    /// These lines of the file are marked.
    Lines(Vec<RangeInclusive<usize>>),
}

impl Marked {
    /// The marked lines of `file`. Of the places without lines that contain the file, the one with
    /// the longest path decides whether the whole file is marked. If the whole file is not marked,
    /// the lines of the marked places in the file are marked.
    pub(crate) fn of<'a>(
        places: impl IntoIterator<Item = (&'a Place, bool)> + Clone,
        file: &str,
    ) -> Self {
        let covering = |(place, _): &(&Place, bool)| place.covers(file);
        let whole = places.clone().into_iter().filter(covering);
        let longest = whole
            .filter(|(place, _)| place.lines.is_none())
            .max_by_key(|(place, _)| place.path.len());
        if longest.is_some_and(|(_, marked)| marked) {
            return Self::Everywhere;
        }
        let parts = places.into_iter().filter(covering);
        let lines: Vec<_> = parts
            .filter(|(_, marked)| *marked)
            .filter_map(|(place, _)| place.lines)
            .map(|(first, last)| first as usize..=last as usize)
            .collect();
        if lines.is_empty() {
            Self::Nowhere
        } else {
            Self::Lines(lines)
        }
    }

    /// The lines to mark. `None` stands for no lines, and an empty list for all lines.
    pub(crate) fn lines(&self) -> Option<&[RangeInclusive<usize>]> {
        match self {
            Self::Nowhere => None,
            Self::Everywhere => Some(&[]),
            Self::Lines(lines) => Some(lines),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_place_decides_and_lines_add_to_it() {
        let module = Place {
            path: "src/lib.rs".into(),
            lines: Some((12, 40)),
        };
        let places = [
            (Place::all_of(""), false),
            (Place::all_of("src/ring/"), true),
            (Place::all_of("src/ring/slow.rs"), false),
            (module.clone(), true),
        ];
        let of = |file| Marked::of(places.iter().map(|(place, marked)| (place, *marked)), file);
        assert_eq!(of("src/ring/slot.rs"), Marked::Everywhere);
        assert_eq!(of("src/ring/slow.rs"), Marked::Nowhere);
        assert_eq!(of("src/rings.rs"), Marked::Nowhere);
        assert_eq!(of("src/lib.rs"), Marked::Lines(vec![12..=40]));
        assert_eq!(
            module.below("crates/q/").to_string(),
            "crates/q/src/lib.rs:12-40"
        );
    }
}
