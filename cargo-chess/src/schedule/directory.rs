//! The names of schedules and of their files, and the directory of saved failures.

use camino::{Utf8Path, Utf8PathBuf};

use super::{Schedule, format_1, format_2};
use crate::atomic_file;
use crate::digest;
use crate::error::{Error, Result};

/// The ending of schedule files.
pub(crate) const EXTENSION: &str = "chess";

/// The number of digits of the id at the end of a file's name.
const ID_LEN: usize = 4;

/// The highest number of digits of an id. In practice, no two schedules have the same id of this
/// length.
const LONGEST_ID: usize = 32;

impl Schedule {
    /// The schedule's id of four digits, derived from its contents. If the same failure is found
    /// again, it has the same id.
    pub(crate) fn id(&self) -> String {
        self.longer_id(ID_LEN)
    }

    fn longer_id(&self, digits: usize) -> String {
        digest::short(format_1::body(self).as_bytes(), digits)
    }

    /// The name of the schedule's file without extension, such as
    /// `bank-t-transfer_is_atomic-7f3a`.
    pub(crate) fn stem(&self) -> String {
        self.stem_with(&self.id())
    }

    fn stem_with(&self, id: &str) -> String {
        let binary = self.test.binary.strip_prefix(&self.test.package);
        let parts = [
            self.test.package.as_str(),
            binary.unwrap_or(&self.test.binary),
            &self.test.test,
        ];
        let mut stem = String::new();
        for part in parts
            .iter()
            .map(|part| file_name(part))
            .filter(|part| !part.is_empty())
        {
            stem.push_str(&part);
            stem.push('-');
        }
        stem + id
    }

    /// Saves the schedule below `chess_dir` (`target/chess`). Returns its path.
    pub(crate) fn save(&self, chess_dir: &Utf8Path) -> Result<Utf8PathBuf> {
        self.save_in(&failures_dir(chess_dir))
    }

    /// Saves the schedule in `directory`, and returns its path. If another schedule there has the
    /// same id, the id gets more digits.
    pub(crate) fn save_in(&self, directory: &Utf8Path) -> Result<Utf8PathBuf> {
        std::fs::create_dir_all(directory).map_err(Error::io("create the directory", directory))?;
        let id = self.free_id(directory)?;
        let path = directory.join(self.stem_with(&id) + ".chess");
        atomic_file::write(&path, format_2::print(self, &id)).map_err(Error::io("write", &path))?;
        Ok(path)
    }

    /// The shortest id that no other schedule in `directory` has.
    fn free_id(&self, directory: &Utf8Path) -> Result<String> {
        let entries = directory
            .read_dir_utf8()
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(Error::io("read the directory", directory))?;
        let is_taken = |id: &str| {
            let named = entries.iter().filter(|entry| id_in(entry.path()) == id);
            let mut held = named.map(|entry| std::fs::read_to_string(entry.path()));
            held.any(|text| !text.is_ok_and(|text| Self::parse(&text).as_ref() == Ok(self)))
        };
        let mut digits = ID_LEN;
        while digits < LONGEST_ID && is_taken(&self.longer_id(digits)) {
            digits += 2;
        }
        Ok(self.longer_id(digits))
    }
}

/// The id in the name of a schedule's file.
pub(crate) fn id_in(path: &(impl AsRef<Utf8Path> + ?Sized)) -> &str {
    let stem = path.as_ref().file_stem().unwrap_or_default();
    stem.rsplit('-').next().unwrap_or(stem)
}

/// The paths of the schedule files in a directory, sorted. The list is empty if the directory does
/// not exist.
pub(crate) fn schedules_in(directory: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let entries = directory
        .read_dir_utf8()
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(Error::io("read the directory", directory))?;
    let mut paths: Vec<Utf8PathBuf> = entries
        .into_iter()
        .map(camino::Utf8DirEntry::into_path)
        .filter(|path| path.extension() == Some(EXTENSION))
        .collect();
    paths.sort();
    Ok(paths)
}

/// The directory of saved failing schedules.
pub(crate) fn failures_dir(chess_dir: &Utf8Path) -> Utf8PathBuf {
    chess_dir.join("failures")
}

/// `text` in a form that is valid in a file name on every file system: `transfer::is_atomic`
/// becomes `transfer-is_atomic`. Long names are cut, such as those of generated tests.
pub(crate) fn file_name(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '.' {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.len() == LONGEST {
            break;
        }
    }
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::PreemptedAt;
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn a_file_is_named_after_the_test_and_its_contents() {
        insta::assert_snapshot!(sample().stem(), @"bank-t-transfer_is_atomic-ea1d");
        let mut other = sample();
        other.decisions = "0*12 1*3 ?0 0".into();
        assert_ne!(sample().id(), other.id());
    }

    #[test]
    fn another_failure_with_the_same_id_is_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let chess_dir = Utf8Path::from_path(directory.path()).expect("a path in UTF-8");
        let mut other = sample();
        other.decisions = "0*12 1*3 ?0 0".into();
        // A file at the path that the sample would have.
        let taken = failures_dir(chess_dir).join(sample().stem() + ".chess");
        std::fs::create_dir_all(failures_dir(chess_dir)).expect("a directory");
        std::fs::write(&taken, other.to_text()).expect("a file");
        let path = sample().save(chess_dir).expect("a writable directory");
        assert_eq!(id_in(&path), sample().longer_id(6));
        let text = |path| std::fs::read_to_string(path).expect("a file");
        assert_eq!(Schedule::parse(&text(&taken)), Ok(other));
        assert_eq!(Schedule::parse(&text(&path)), Ok(sample()));
        assert!(text(&path).contains(&format!("cargo chess replay {}\n", id_in(&path))));
        assert_eq!(sample().save(chess_dir).expect("saved again"), path);
    }

    #[test]
    fn lines_are_kept_and_are_no_part_of_the_name() {
        let place = |line, text: &str| PreemptedAt {
            file: "src/a b.rs".into(),
            line,
            text: text.into(),
        };
        let mut schedule = sample();
        schedule.preempted_at = vec![place(31, "*total -= 1; // \\n"), place(40, "")];
        assert_eq!(Schedule::parse(&schedule.to_text()), Ok(schedule.clone()));
        assert_eq!(schedule.id(), sample().id());
        assert_eq!(schedule.to_inline(), sample().to_inline());
    }

    #[test]
    fn options_of_plain_memory_and_of_spins_are_read_back() {
        let mut schedule = sample();
        schedule.memory_accesses = Some("preempt".into());
        schedule.races = Some("warn".into());
        schedule.spins = Some("deny".into());
        schedule.only_run = Some("time".into());
        schedule.points = vec!["src/lib.rs:12".into(), "src/odd, name.rs:7".into()];
        schedule.intended = vec!["src/lib.rs:3".into(), "src/lib.rs:9".into()];
        assert_eq!(Schedule::parse(&schedule.to_text()), Ok(schedule.clone()));
        assert_eq!(Schedule::parse_inline(&schedule.to_inline()), Ok(schedule));
    }

    #[test]
    fn names_are_fit_for_every_file_system() {
        let mut schedule = sample();
        schedule.test.binary = "bank::bin/x".into();
        schedule.test.test = "a::case_1::<u8>/\\:*?".into();
        let stem = schedule.stem();
        let (name, _) = stem.rsplit_once('-').expect("an id");
        assert_eq!(name, "bank-bin-x-a-case_1-u8");
        schedule.test.test = "long".repeat(100);
        assert!(schedule.stem().len() < 200);
    }

    #[test]
    fn a_saved_schedule_is_read_back_as_it_was() {
        let directory = tempfile::tempdir().expect("a directory");
        let chess_dir = Utf8Path::from_path(directory.path()).expect("a path in UTF-8");
        let path = sample().save(chess_dir).expect("a writable directory");
        let text = std::fs::read_to_string(&path).expect("a file");
        assert_eq!(Schedule::parse(&text), Ok(sample()));
        let again = sample().save(chess_dir).expect("a writable directory");
        assert_eq!(path, again);
        assert_eq!(
            failures_dir(chess_dir)
                .read_dir()
                .expect("a directory")
                .count(),
            1
        );
    }
}
