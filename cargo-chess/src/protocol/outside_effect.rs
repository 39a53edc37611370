//! The effects outside the scheduler's control, as a test binary reports them, and their
//! sentences.

use chess_vocabulary::{OutsideEffect as Kind, short_path};
use serde::{Deserialize, Serialize};

use super::token;
use crate::events::Location;

/// An effect of a test that the scheduler does not control.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct OutsideEffect {
    /// The kind of the effect.
    #[serde(with = "token")]
    pub kind: Kind,
    /// The place of the code, if it is inline assembly.
    #[serde(default)]
    pub location: Option<Location>,
}

impl OutsideEffect {
    /// The effect in words, with the source line if it is known. The text begins with a verb whose
    /// subject is the test.
    pub(crate) fn sentence(&self) -> String {
        let words = words(self.kind);
        self.location.as_ref().map_or_else(
            || words.to_owned(),
            |at| format!("{words}, at {}:{}", short_path(&at.file), at.line),
        )
    }
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Child => "waited for a child process",
        Kind::Process => "waited for another process",
        Kind::Pipe => "used a pipe whose other end is outside the process",
        Kind::Socket => "used a socket whose peer is outside the process",
        Kind::Device => "used a terminal or another device",
        Kind::Signals => "waited for signals",
        Kind::FileChanges => "waited for changes of files",
        Kind::UnknownDescriptor => "used a file descriptor of an unknown kind",
        Kind::FileLock => "waited for a file lock that another process holds",
        Kind::UnreadableFile => "wrote to an unreadable file within a crash_and_recover",
        Kind::SecondMapping => {
            "mapped a part of a file twice: the two addresses of a byte counted as different places"
        }
        Kind::Cancellation => "called pthread_cancel, which fails under exploration",
        Kind::KernelThread => "started a kernel thread without pthread_create",
        Kind::OpaqueCode => "called into packages that are compiled unchanged",
        Kind::ForeignCode => "called into C code",
        Kind::UnknownCode => {
            "accessed memory in code without known source lines, such as the code of a dynamic \
             library: these accesses were not watched for races"
        }
        Kind::OwnAllocator => {
            "has a global allocator of its own: no plain memory of the program was watched for races"
        }
        Kind::AssemblyMemory => "ran inline assembly that synchronizes through memory",
        Kind::AssemblyKernel => "ran inline assembly that calls the kernel",
        Kind::AssemblyChance => {
            "ran inline assembly that reads the processor's clock or random numbers"
        }
        Kind::AssemblyLong => "ran inline assembly that is too long to be checked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_assembly_is_reported_with_its_line() {
        let line = r#"{"kind":"assembly-kernel","location":{"file":"/home/u/.cargo/registry/src/index-0123456789abcdef/fast-0.2.3/src/lib.rs","line":12,"column":3}}"#;
        let effect: OutsideEffect = serde_json::from_str(line).expect("a line");
        assert_eq!(
            effect.sentence(),
            "ran inline assembly that calls the kernel, at fast-0.2.3/src/lib.rs:12"
        );
    }
}
