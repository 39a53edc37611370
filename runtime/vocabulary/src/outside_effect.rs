//! The effects of a test that are outside the scheduler's control.

use crate::token::tokens;

/// An effect of a test that the scheduler does not control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutsideEffect {
    /// It waited for a child process.
    Child,
    /// It waited for another process.
    Process,
    /// It used a pipe whose other end is outside the process.
    Pipe,
    /// It used a socket whose peer is outside the process.
    Socket,
    /// It used a terminal or another device.
    Device,
    /// It waited for signals.
    Signals,
    /// It waited for changes of files.
    FileChanges,
    /// It used a descriptor of an unknown kind.
    UnknownDescriptor,
    /// It waited for a file lock that another process holds.
    FileLock,
    /// It wrote in a `crash_and_recover` to a file that could not be read.
    UnreadableFile,
    /// It called `pthread_cancel`, which fails under exploration.
    Cancellation,
    /// It started a kernel thread without `pthread_create`.
    KernelThread,
    /// It called into packages that are compiled unchanged.
    OpaqueCode,
    /// It called into C code.
    ForeignCode,
    /// It accessed memory in code without known source lines, which is not watched for races.
    UnknownCode,
    /// It has a global allocator of its own. Because of it, no accesses of the test are watched
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
