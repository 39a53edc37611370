//! The errors of reading a schedule, with their remedies.

/// An error in a saved schedule. Each message contains a remedy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum ScheduleError {
    /// The text is not a schedule.
    #[error(
        "this is not a schedule: its first line should be `format = {expected}`, but it is {found}.\n\
         Give a `*.chess` file that `cargo chess test` saved below target/chess/failures."
    )]
    Foreign {
        /// The version that this program reads.
        expected: u32,
        /// The first line in backticks, or a word for an empty line.
        found: String,
    },
    /// Another version of this program wrote the text.
    #[error(
        "the schedule has format {found}, and this version of cargo chess reads formats up to {expected}.\n\
         Replay it with the version that wrote it, or run `cargo chess test` again to find the failure anew."
    )]
    Version {
        /// The version that this program reads.
        expected: u32,
        /// The version in the text.
        found: String,
    },
    /// The text ends too early.
    #[error(
        "the schedule is cut off: {missing}.\n\
         Copy the file again in full, or run `cargo chess test` to find the failure anew."
    )]
    Truncated {
        /// The missing part.
        missing: String,
    },
    /// A line is not valid.
    #[error(
        "line {line}: {problem}.\n\
         Correct the line, or run `cargo chess test` to save the schedule anew."
    )]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The expected and the found text.
        problem: String,
    },
    /// The one-word form is damaged.
    #[error(
        "the inline schedule is damaged: {problem}.\n\
         Paste the whole word, from `chess1:` to its last character, or give the `*.chess` file."
    )]
    Inline {
        /// The damage.
        problem: String,
    },
}
