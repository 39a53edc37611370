//! Why a schedule cannot be read, and what to do about it.

/// What is wrong with a saved schedule. Each says what to do next.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScheduleError {
    /// The text is something else.
    #[error(
        "this is not a schedule: its first line should be `format = {expected}`, and is `{found}`.\n\
         Give a `*.chess` file that `cargo chess test` saved below target/chess/failures."
    )]
    Foreign {
        /// The version that this program reads.
        expected: u32,
        /// The first line.
        found: String,
    },
    /// Another version wrote it.
    #[error(
        "the schedule has format {found}, and this version of cargo chess reads format {expected}.\n\
         Replay it with the version that wrote it, or run `cargo chess test` again to find the failure anew."
    )]
    Version {
        /// The version that this program reads.
        expected: u32,
        /// The version that was found.
        found: String,
    },
    /// It ends too early.
    #[error(
        "the schedule is cut off: {missing}.\n\
         Copy the file again in full, or run `cargo chess test` to find the failure anew."
    )]
    Truncated {
        /// What is missing.
        missing: String,
    },
    /// A line cannot be understood.
    #[error(
        "line {line}: {problem}.\n\
         Correct the line, or run `cargo chess test` to save the schedule anew."
    )]
    Line {
        /// Counted from 1.
        line: usize,
        /// What was expected and what was found.
        problem: String,
    },
    /// The one-word form is damaged.
    #[error(
        "the inline schedule is damaged: {problem}.\n\
         Paste the whole word, from `chess1:` to its last character, or give the `*.chess` file."
    )]
    Inline {
        /// What is wrong with it.
        problem: String,
    },
}
