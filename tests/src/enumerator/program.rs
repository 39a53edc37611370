//! The language of the programs, and its textual form.

use std::fmt::Write as _;

/// An operation of a task. The numbers are the indices of objects. If an operation has a list of
/// operations, the task performs these while it holds the object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named as in std")]
pub enum Op {
    Load(usize),
    Store(usize),
    FetchAdd(usize),
    Swap(usize),
    CompareExchange(usize),
    Lock(usize, Vec<Op>),
    TryLock(usize, Vec<Op>),
    /// Locks the object, performs the operations, and panics while it holds the lock. The panic is
    /// caught, and the task continues.
    LockAndPanic(usize, Vec<Op>),
    IsPoisoned(usize),
    ClearPoison(usize),
    Read(usize, Vec<Op>),
    Write(usize, Vec<Op>),
    TryRead(usize, Vec<Op>),
    TryWrite(usize, Vec<Op>),
    Downgrade(usize, Vec<Op>),
    /// Increments the number of a gate. A gate is a number, a lock that protects it, and a
    /// condition variable.
    Raise(usize, Vec<Op>),
    WaitWhile(usize),
    Wait(usize),
    NotifyOne(usize),
    NotifyAll(usize),
    Send(usize),
    TrySend(usize),
    Recv(usize),
    TryRecv(usize),
    DropSender(usize),
    DropReceiver(usize),
    GetOrInit(usize, Vec<Op>),
    Get(usize),
    Set(usize),
    BarrierWait,
    Park,
    Unpark(usize),
    Join(usize),
    IsFinished(usize),
    StrongCount,
    Upgrade(Vec<Op>),
    TryUnwrap,
    DropArc,
    Stdio(usize, Vec<Op>),
    Flush(usize),
    CreateNew(usize),
    Remove(usize),
    Exists(usize),
    Rename(usize),
    /// Writes at the end of a file that all tasks have opened.
    Append(usize),
    /// Reads the length of the file of [`Self::Append`].
    Length(usize),
    FileLock(usize, Vec<Op>),
    FileTryLock(usize, Vec<Op>),
    FileLockShared(usize, Vec<Op>),
    FileTryLockShared(usize, Vec<Op>),
    SetVar(usize),
    Var(usize),
    RemoveVar(usize),
    Sealed(usize, Vec<Op>),
    SealedTry(usize, Vec<Op>),
    CLock(usize, Vec<Op>),
    CTryLock(usize, Vec<Op>),
    CRead(usize, Vec<Op>),
    CWrite(usize, Vec<Op>),
    CTryRead(usize, Vec<Op>),
    CTryWrite(usize, Vec<Op>),
    /// Waits for a unit of a C semaphore. Each semaphore initially has one unit.
    SemWait(usize),
    SemTryWait(usize),
    SemPost(usize),
    /// Waits for a byte of a stream socket, and reads it. Each socket initially has one byte.
    SocketRead(usize),
    SocketTryRead(usize),
    SocketWrite(usize),
    /// Loads a number that only C code accesses, without a lock.
    CLoad(usize),
    CStore(usize),
    CAdd(usize),
    /// Like `Store` and `FetchAdd` on the same atomics, but performed by C code that receives the
    /// address.
    CStoreAt(usize),
    CAddAt(usize),
}

/// The kind of object that an operation acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is named as in std")]
pub enum Kind {
    Atomic,
    Mutex,
    /// Like `Mutex`, but tasks may panic while they hold the lock.
    Poison,
    /// Like `Poison`, with `clear_poison`.
    ClearPoison,
    RwLock,
    /// Like `RwLock`, but writers may become readers.
    Downgrade,
    Condvar,
    Channel,
    SyncChannel,
    Rendezvous,
    Once,
    Barrier,
    Park,
    Thread,
    Arc,
    /// Standard output.
    Stdio,
    /// All three standard streams.
    Streams,
    File,
    /// Files that all tasks have opened.
    Log,
    FileLock,
    Env,
    /// The lock of a package that is compiled unchanged.
    Sealed,
    Pthread,
    PthreadRwLock,
    Semaphore,
    Socket,
    /// Memory of C code.
    CMemory,
    /// Atomics that Rust code and C code share.
    CAtomic,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 28] = [
        Self::Atomic,
        Self::Mutex,
        Self::Poison,
        Self::ClearPoison,
        Self::RwLock,
        Self::Downgrade,
        Self::Condvar,
        Self::Channel,
        Self::SyncChannel,
        Self::Rendezvous,
        Self::Once,
        Self::Barrier,
        Self::Park,
        Self::Thread,
        Self::Arc,
        Self::Stdio,
        Self::Streams,
        Self::File,
        Self::Log,
        Self::FileLock,
        Self::Env,
        Self::Sealed,
        Self::Pthread,
        Self::PthreadRwLock,
        Self::Semaphore,
        Self::Socket,
        Self::CMemory,
        Self::CAtomic,
    ];
}

impl Op {
    /// Returns the operations that are performed while this operation holds an object.
    pub fn body(&self) -> &[Op] {
        match self {
            Self::Lock(_, ops)
            | Self::TryLock(_, ops)
            | Self::LockAndPanic(_, ops)
            | Self::Read(_, ops)
            | Self::Write(_, ops)
            | Self::TryRead(_, ops)
            | Self::TryWrite(_, ops)
            | Self::Downgrade(_, ops)
            | Self::Raise(_, ops)
            | Self::GetOrInit(_, ops)
            | Self::Upgrade(ops)
            | Self::Stdio(_, ops)
            | Self::FileLock(_, ops)
            | Self::FileTryLock(_, ops)
            | Self::FileLockShared(_, ops)
            | Self::FileTryLockShared(_, ops)
            | Self::Sealed(_, ops)
            | Self::SealedTry(_, ops)
            | Self::CLock(_, ops)
            | Self::CTryLock(_, ops)
            | Self::CRead(_, ops)
            | Self::CWrite(_, ops)
            | Self::CTryRead(_, ops)
            | Self::CTryWrite(_, ops) => ops,
            _ => &[],
        }
    }

    /// Returns the list of [`Self::body`] for changes, or `None` if the operation has no such
    /// list.
    pub fn body_mut(&mut self) -> Option<&mut Vec<Op>> {
        match self {
            Self::Lock(_, ops)
            | Self::TryLock(_, ops)
            | Self::LockAndPanic(_, ops)
            | Self::Read(_, ops)
            | Self::Write(_, ops)
            | Self::TryRead(_, ops)
            | Self::TryWrite(_, ops)
            | Self::Downgrade(_, ops)
            | Self::Raise(_, ops)
            | Self::GetOrInit(_, ops)
            | Self::Upgrade(ops)
            | Self::Stdio(_, ops)
            | Self::FileLock(_, ops)
            | Self::FileTryLock(_, ops)
            | Self::FileLockShared(_, ops)
            | Self::FileTryLockShared(_, ops)
            | Self::Sealed(_, ops)
            | Self::SealedTry(_, ops)
            | Self::CLock(_, ops)
            | Self::CTryLock(_, ops)
            | Self::CRead(_, ops)
            | Self::CWrite(_, ops)
            | Self::CTryRead(_, ops)
            | Self::CTryWrite(_, ops) => Some(ops),
            _ => None,
        }
    }
}

/// A program: a list of operations for each task. The first list is that of the test's own thread.
/// This thread first spawns a thread for each other list, and then performs its own list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The operations of each task, with the test's own thread first.
    pub tasks: Vec<Vec<Op>>,
}

impl Program {
    /// Whether `is` holds for an operation of the task, or for an operation in the body of another
    /// one.
    pub fn task_has(&self, task: usize, is: &dyn Fn(&Op) -> bool) -> bool {
        any(&self.tasks[task], is)
    }

    /// Whether `is` holds for any operation of the program.
    pub fn has(&self, is: &dyn Fn(&Op) -> bool) -> bool {
        (0..self.tasks.len()).any(|task| self.task_has(task, is))
    }

    /// Returns the program as a Rust expression, for the interpreter in `fixtures/enumerated`.
    pub fn expression(&self) -> String {
        // In the debug format, only lists have brackets.
        format!("{:?}", self.tasks).replace('[', "&[")
    }

    /// Returns the program in readable form, with an operation per line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (task, ops) in self.tasks.iter().enumerate() {
            let name = match task {
                0 => "main, once it has spawned the others".to_owned(),
                _ => format!("task {task}"),
            };
            _ = writeln!(text, "{name} {{");
            write_ops(&mut text, ops, 1);
            text.push_str("}\n");
        }
        text
    }
}

fn any(ops: &[Op], is: &dyn Fn(&Op) -> bool) -> bool {
    ops.iter().any(|op| is(op) || any(op.body(), is))
}

fn write_ops(text: &mut String, ops: &[Op], depth: usize) {
    for op in ops {
        let mut bare = op.clone();
        if let Some(body) = bare.body_mut() {
            body.clear();
        }
        let name = format!("{bare:?}");
        let name = name.replace(", []", "").replace("([])", "");
        let indent = "    ".repeat(depth);
        if op.body().is_empty() {
            _ = writeln!(text, "{indent}{name};");
        } else {
            _ = writeln!(text, "{indent}{name} {{");
            write_ops(text, op.body(), depth + 1);
            _ = writeln!(text, "{indent}}}");
        }
    }
}
