//! The effects of a test that are outside the scheduler's control. `protocol/outside_effect.rs` of the
//! tool has their words.

use crate::token::tokens;

/// An effect of a test that the scheduler does not control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutsideEffect {
    /// The test waited for a child process.
    Child,
    /// The test waited for another process.
    Process,
    /// The test used a pipe whose other end is outside the process.
    Pipe,
    /// The test used a socket whose peer is outside the process.
    Socket,
    /// The test used a terminal or another device.
    Device,
    /// The test waited for signals.
    Signals,
    /// The test waited for changes of files.
    FileChanges,
    /// The test used a descriptor of an unknown kind.
    UnknownDescriptor,
    /// The test waited for a file lock that another process holds.
    FileLock,
    /// The test wrote, in a `crash_and_recover`, to a file that could not be read. So a crash
    /// cannot lose these writes.
    UnreadableFile,
    /// The test mapped a part of a file twice. The two addresses of one byte count as different
    /// places.
    SecondMapping,
    /// The test called `pthread_cancel`, which fails under exploration.
    Cancellation,
    /// The test started a kernel thread without `pthread_create`.
    KernelThread,
    /// The test called into packages that are compiled unchanged.
    OpaqueCode,
    /// The test called into C code.
    ForeignCode,
    /// Code of the test without known source lines accessed memory. Such accesses are not watched
    /// for races.
    UnknownCode,
    /// The test has a global allocator of its own. Therefore no accesses of the test are watched
    /// for races.
    OwnAllocator,
    /// Inline assembly synchronized through memory.
    AssemblyMemory,
    /// Inline assembly called the kernel.
    AssemblyKernel,
    /// Inline assembly read the processor's clock or random numbers.
    AssemblyChance,
    /// Inline assembly was too long for the analysis.
    AssemblyLong,
}

tokens! {
    OutsideEffect {
        Child = "child",
        Process = "process",
        Pipe = "pipe",
        Socket = "socket",
        Device = "device",
        Signals = "signals",
        FileChanges = "file-changes",
        UnknownDescriptor = "unknown-descriptor",
        FileLock = "file-lock",
        UnreadableFile = "unreadable-file",
        SecondMapping = "second-mapping",
        Cancellation = "cancellation",
        KernelThread = "kernel-thread",
        OpaqueCode = "opaque-code",
        ForeignCode = "foreign-code",
        UnknownCode = "unknown-code",
        OwnAllocator = "own-allocator",
        AssemblyMemory = "assembly-memory",
        AssemblyKernel = "assembly-kernel",
        AssemblyChance = "assembly-chance",
        AssemblyLong = "assembly-long",
    }
}
