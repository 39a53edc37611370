//! The objects of operations, and their names in reports.

use core::fmt::{self, Display, Formatter};

use crate::words::shown;
use crate::{TaskId, Token};

macro_rules! kinds {
    ($($(#[$doc:meta])* $Variant:ident = $token:literal, $words:literal;)*) => {
        /// The kinds of objects.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ObjectKind {
            $($(#[$doc])* $Variant,)*
        }

        impl Token for ObjectKind {
            const ALL: &'static [Self] = &[$(Self::$Variant,)*];

            fn token(self) -> &'static str {
                match self { $(Self::$Variant => $token,)* }
            }
        }

        impl ObjectKind {
            /// The name of an object of this kind, without its number.
            pub fn words(self) -> &'static str {
                match self { $(Self::$Variant => shown!($words),)* }
            }
        }
    };
}

kinds! {
    /// A task.
    Task = "task", "task ";
    /// A scope of threads.
    Scope = "scope", "scope ";
    /// A thread, as the object of operations such as `park`, `sleep` and `yield_now`.
    Thread = "thread", "T";
    /// An atomic.
    Atomic = "atomic", "A";
    /// A fence.
    Fence = "fence", "fence ";
    /// Plain memory.
    Plain = "plain", "D";
    /// A mutex.
    Mutex = "mutex", "M";
    /// A standard stream whose kind is not known.
    Stream = "stream", "stream ";
    /// The standard output.
    Stdout = "stdout", "stdout";
    /// The standard error.
    Stderr = "stderr", "stderr";
    /// The standard input.
    Stdin = "stdin", "stdin";
    /// A hook.
    Hook = "hook", "hook ";
    /// The panic hook.
    PanicHook = "panic-hook", "the panic hook";
    /// A read-write lock.
    RwLock = "rw-lock", "RW";
    /// A condition variable.
    Condvar = "condvar", "C";
    /// A barrier.
    Barrier = "barrier", "B";
    /// A value that is initialised once.
    Once = "once", "O";
    /// A channel.
    Channel = "channel", "Q";
    /// The count of an `Arc`.
    Arc = "arc", "Arc";
    /// A history of calls.
    History = "history", "history ";
    /// A resource of a model.
    Resource = "resource", "resource ";
    /// A component that may crash.
    Component = "component", "component ";
    /// An invariant.
    Invariant = "invariant", "invariant ";
    /// A liveness property.
    Liveness = "liveness", "liveness ";
    /// An object of a type whose calls exclude each other.
    Exclusive = "exclusive", "object ";
    /// A thread that parks.
    Parker = "parker", "P";
    /// A futex.
    Futex = "futex", "F";
    /// A semaphore.
    Semaphore = "semaphore", "S";
    /// The signals that were sent to the process.
    Signals = "signals", "the signals";
    /// A file.
    File = "file", "file ";
    /// A directory.
    Directory = "directory", "directory ";
    /// A file that is open.
    OpenFile = "open-file", "open file ";
    /// The lock of a file.
    FileLock = "file-lock", "file lock ";
    /// The current directory, or an unknown place of files.
    Place = "place", "place ";
    /// An attribute of the process, such as the mask of the permissions of new files.
    ProcessAttribute = "process-attribute", "process attribute ";
    /// The clock.
    Clock = "clock", "the clock";
    /// The environment's variables.
    Environment = "environment", "environment ";
    /// A pipe.
    Pipe = "pipe", "pipe ";
    /// A socket.
    Socket = "socket", "socket ";
    /// A device.
    Device = "device", "device ";
    /// A descriptor.
    Descriptor = "descriptor", "descriptor ";
    /// An object of opaque code.
    Opaque = "opaque", "opaque code ";
}

impl ObjectKind {
    /// Whether the name of an object of this kind has no number, because there is only one.
    pub const fn is_single(self) -> bool {
        matches!(
            self,
            Self::Stdout
                | Self::Stderr
                | Self::Stdin
                | Self::PanicHook
                | Self::Signals
                | Self::Clock
        )
    }

    /// Whether reports may name an object of this kind by an expression of the program, such as
    /// `self.queue`. Plain memory and parked threads have no such expression.
    pub const fn has_expression(self) -> bool {
        matches!(
            self,
            Self::Atomic
                | Self::Mutex
                | Self::RwLock
                | Self::Condvar
                | Self::Barrier
                | Self::Once
                | Self::Channel
                | Self::Semaphore
                | Self::Arc
        )
    }
}

/// An object of an execution: its kind, and a number in the order of first use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Object {
    /// The kind of the object.
    pub kind: ObjectKind,
    /// The index among the objects of this kind. For a task, the number of the task.
    pub number: u32,
}

impl Object {
    /// The task that this object stands for; `None` if the object is of another kind.
    pub fn task(self) -> Option<TaskId> {
        (self.kind == ObjectKind::Task).then_some(TaskId(self.number))
    }
}

impl Display for Object {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.words())?;
        if self.kind.is_single() {
            return Ok(());
        }
        write!(f, "{}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_by_its_kind_and_number_unless_it_is_the_only_one() {
        let name = |kind| Object { kind, number: 2 }.to_string();
        assert_eq!(name(ObjectKind::Mutex), "M2");
        assert_eq!(name(ObjectKind::Task), "task 2");
        assert_eq!(name(ObjectKind::Stdout), "stdout");
    }
}
