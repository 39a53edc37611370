//! The kinds of warnings of an exploration. `protocol/warning.rs` of the tool has their words.

use crate::token::tokens;

/// The kinds of warnings about a whole exploration. The numbers and places that belong to a warning
/// are fields next to its kind on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarningKind {
    /// An unjoined thread panics at a place in the first schedule.
    UnjoinedPanic,
    /// Two runs of the first schedule differed. The first difference may be part of the
    /// warning.
    Unstable,
    /// Two runs of one schedule differed.
    Differed,
    /// A number of schedules could not be repeated, and the schedules after them were not explored.
    Unrepeatable,
    /// A number of schedules took more steps than the limit. The choices in their later steps were
    /// not explored.
    Long,
    /// A number of schedules ran far beyond the limit of steps, and were abandoned.
    Abandoned,
    /// In some schedules, a task computed without reaching a scheduling point.
    Endless,
    /// In some schedules, some stale loads were not explored, because of the limit of events or the
    /// limit of stores of an atomic.
    FewStores,
    /// Some schedules had more unjoined tasks than the limit. Later data races were not detected.
    ManyTasks,
    /// Some schedules accessed more plain memory than the limit, which is in MiB. Later data races
    /// were not detected.
    MuchMemory,
    /// In some schedules, tasks synchronized more often than the limit. Later data races were not
    /// detected.
    ManyReleases,
    /// The program has a global allocator of its own.
    OwnAllocator,
    /// The program calls a function that changes its process permanently.
    ChangesProcess,
    /// A data race that is configured to be a warning.
    Race,
    /// There are more different failures than the limit.
    ManyFailures,
    /// The search ended early. The warning contains the reason.
    EndedEarly,
    /// The search ended early, because a schedule crashed the process.
    Crashed,
}

tokens! {
    WarningKind {
        UnjoinedPanic = "unjoined-panic",
        Unstable = "unstable",
        Differed = "differed",
        Unrepeatable = "unrepeatable",
        Long = "long",
        Abandoned = "abandoned",
        Endless = "endless",
        FewStores = "few-stores",
        ManyTasks = "many-tasks",
        MuchMemory = "much-memory",
        ManyReleases = "many-releases",
        OwnAllocator = "own-allocator",
        ChangesProcess = "changes-process",
        Race = "race",
        ManyFailures = "many-failures",
        EndedEarly = "ended-early",
        Crashed = "crashed",
    }
}
