//! The operations of tasks, with their names and their effects on their objects.

use crate::words::shown;
use crate::{Effect, ObjectKind, Token};

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $effect:ident;)*) => {
        /// An operation at a scheduling point.
        ///
        /// The only declaration of each operation's name in reports and of its default
        /// [`Effect`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Op {
            $($(#[$doc])* $variant,)*
        }

        impl Token for Op {
            const ALL: &'static [Self] = &[$(Op::$variant,)*];

            fn token(self) -> &'static str {
                match self { $(Op::$variant => stringify!($variant),)* }
            }

            fn of_token(token: &str) -> Option<Self> {
                match token {
                    $(stringify!($variant) => Some(Op::$variant),)*
                    _ => None,
                }
            }
        }

        impl Op {
            /// The name that reports show. Several operations may have one name.
            pub fn name(self) -> &'static str {
                match self { $(Op::$variant => shown!($name),)* }
            }

            /// The operation's effect by default. A caller may record another effect after the
            /// operation (a failed compare-exchange is a read).
            #[inline]
            pub const fn effect(self) -> Effect {
                match self { $(Op::$variant => Effect::$effect,)* }
            }
        }
    };
}

operations! {
    /// A task's first step.
    Start = "start", Acquire;
    /// A task's last step, which `join` waits for.
    Exit = "exit", Release;
    /// `thread::spawn` and its kin.
    Spawn = "spawn", Release;
    /// `JoinHandle::join`.
    Join = "join", Acquire;
    /// The end of a task's main function, after its result is stored. `is_finished` observes this.
    Finish = "finish", Write;
    /// `JoinHandle::is_finished`.
    IsFinished = "is_finished", Read;
    /// `thread::scope` waiting for its threads.
    ScopeEnd = "scope end", Acquire;
    /// `thread::park`.
    Park = "park", Write;
    /// `thread::park_timeout`.
    ParkTimeout = "park_timeout", Write;
    /// `Thread::unpark`.
    Unpark = "unpark", Release;
    /// `thread::sleep`.
    Sleep = "sleep", Read;
    /// `thread::yield_now`.
    YieldNow = "yield_now", Read;
    /// `hint::spin_loop`.
    SpinLoop = "spin_loop", Read;

    /// `Atomic*::load`.
    AtomicLoad = "load", Read;
    /// `Atomic*::store`.
    AtomicStore = "store", Write;
    /// `Atomic*::swap`.
    AtomicSwap = "swap", Write;
    /// `Atomic*::compare_and_swap`.
    AtomicCompareAndSwap = "compare_and_swap", Write;
    /// `Atomic*::compare_exchange`.
    AtomicCompareExchange = "compare_exchange", Write;
    /// `Atomic*::compare_exchange_weak`.
    AtomicCompareExchangeWeak = "compare_exchange_weak", Write;
    /// `Atomic*::fetch_add`.
    AtomicFetchAdd = "fetch_add", Write;
    /// `Atomic*::fetch_sub`.
    AtomicFetchSub = "fetch_sub", Write;
    /// `Atomic*::fetch_and`.
    AtomicFetchAnd = "fetch_and", Write;
    /// `Atomic*::fetch_nand`.
    AtomicFetchNand = "fetch_nand", Write;
    /// `Atomic*::fetch_or`.
    AtomicFetchOr = "fetch_or", Write;
    /// `Atomic*::fetch_xor`.
    AtomicFetchXor = "fetch_xor", Write;
    /// `AtomicBool::fetch_not`.
    AtomicFetchNot = "fetch_not", Write;
    /// `Atomic*::fetch_max`.
    AtomicFetchMax = "fetch_max", Write;
    /// `Atomic*::fetch_min`.
    AtomicFetchMin = "fetch_min", Write;
    /// One iteration of `Atomic*::fetch_update` and its kin.
    AtomicFetchUpdate = "fetch_update", Write;
    /// `AtomicPtr::fetch_ptr_add` and its kin.
    AtomicFetchPtr = "fetch_ptr", Write;
    /// `atomic::fence`.
    Fence = "fence", Write;

    /// A read of plain memory.
    PlainRead = "plain read", Read;
    /// A write to plain memory.
    PlainWrite = "plain write", Write;

    /// `Mutex::lock`.
    MutexLock = "Mutex::lock", Acquire;
    /// `Mutex::try_lock`.
    MutexTryLock = "Mutex::try_lock", Write;
    /// The acquisition of the mutex at the end of `Condvar::wait`.
    MutexRelock = "Mutex::lock after wait", Acquire;
    /// The drop of a `MutexGuard`.
    MutexUnlock = "Mutex unlock", Release;
    /// `lock` of a standard stream, and the start of each use of the stream.
    StreamLock = "stream lock", Acquire;
    /// The end of a use of a standard stream.
    StreamUnlock = "stream unlock", Release;
    /// `panic::set_hook`.
    SetHook = "panic::set_hook", Acquire;
    /// `panic::take_hook`.
    TakeHook = "panic::take_hook", Acquire;
    /// `RwLock::read`.
    RwLockRead = "RwLock::read", Enter;
    /// `RwLock::try_read`.
    RwLockTryRead = "RwLock::try_read", TryEnter;
    /// `RwLock::write`.
    RwLockWrite = "RwLock::write", Acquire;
    /// `RwLock::try_write`.
    RwLockTryWrite = "RwLock::try_write", Write;
    /// The drop of a `RwLockReadGuard`.
    RwLockReadUnlock = "RwLock read unlock", Leave;
    /// The drop of a `RwLockWriteGuard`.
    RwLockWriteUnlock = "RwLock write unlock", Release;
    /// `RwLockWriteGuard::downgrade`.
    RwLockDowngrade = "RwLock downgrade", Release;
    /// `RwLock::upgradable_read` of `parking_lot`.
    RwLockUpgradableRead = "RwLock::upgradable_read", Write;
    /// `RwLockUpgradableReadGuard::upgrade` of `parking_lot`.
    RwLockUpgrade = "RwLock::upgrade", Write;
    /// `is_poisoned` of a lock.
    IsPoisoned = "is_poisoned", Read;
    /// `clear_poison` of a lock.
    ClearPoison = "clear_poison", Write;

    /// `Condvar::wait` without a timeout.
    CondvarWait = "Condvar::wait", Write;
    /// `Condvar::wait_timeout`.
    CondvarWaitTimeout = "Condvar::wait_timeout", Write;
    /// `Condvar::notify_one`.
    NotifyOne = "Condvar::notify_one", Write;
    /// `Condvar::notify_all`.
    NotifyAll = "Condvar::notify_all", Write;

    /// `Barrier::wait`.
    BarrierWait = "Barrier::wait", Write;

    /// `Once::call_once` and its kin.
    OnceCall = "Once::call_once", Write;
    /// The end of an initialiser: the value becomes visible.
    OnceComplete = "Once complete", Write;
    /// `Once::is_completed`.
    OnceIsCompleted = "Once::is_completed", Read;
    /// `Once::wait`.
    OnceWait = "Once::wait", Read;
    /// `OnceLock::get`.
    OnceLockGet = "OnceLock::get", Read;
    /// `OnceLock::set`.
    OnceLockSet = "OnceLock::set", Write;
    /// `OnceLock::get_or_init`.
    OnceLockGetOrInit = "OnceLock::get_or_init", Write;
    /// `OnceLock::wait`.
    OnceLockWait = "OnceLock::wait", Read;
    /// `LazyLock::get`.
    LazyLockGet = "LazyLock::get", Read;
    /// `LazyLock::force` and its derefs.
    LazyLockForce = "LazyLock::force", Write;

    /// `Sender::send` and `SyncSender::send`.
    ChannelSend = "send", Write;
    /// `SyncSender::try_send`.
    ChannelTrySend = "try_send", Write;
    /// `Receiver::recv`.
    ChannelRecv = "recv", Write;
    /// `Receiver::try_recv`.
    ChannelTryRecv = "try_recv", Write;
    /// `Receiver::recv_timeout`.
    ChannelRecvTimeout = "recv_timeout", Write;
    /// The clone of a sender.
    SenderClone = "Sender::clone", Update;
    /// The drop of a sender.
    SenderDrop = "Sender drop", Write;
    /// The drop of a receiver.
    ReceiverDrop = "Receiver drop", Write;

    /// `Arc::clone`.
    ArcClone = "Arc::clone", Update;
    /// The drop of an `Arc` whose value has a destructor, which the last drop runs.
    ArcDrop = "Arc drop", Update;
    /// The drop of an `Arc` whose value has no destructor.
    ArcLeave = "Arc drop", Update;
    /// `Weak::clone`.
    WeakClone = "Weak::clone", Update;
    /// The drop of a `Weak`.
    WeakDrop = "Weak drop", Update;
    /// `Arc::downgrade`.
    ArcDowngrade = "Arc::downgrade", Update;
    /// `Weak::upgrade`.
    WeakUpgrade = "Weak::upgrade", Write;
    /// `Arc::try_unwrap`, `Arc::into_inner` and their kin.
    ArcTryUnwrap = "Arc::try_unwrap", Write;
    /// `Arc::get_mut`.
    ArcGetMut = "Arc::get_mut", Write;
    /// `Arc::make_mut`.
    ArcMakeMut = "Arc::make_mut", Write;
    /// `Arc::weak_count` and `Weak::weak_count`.
    ArcWeakCount = "Arc::weak_count", Read;
    /// `Arc::strong_count` and `Weak::strong_count`.
    ArcCount = "Arc::strong_count", Read;

    /// A futex wait by opaque code.
    FutexWait = "futex wait", Write;
    /// The end of a futex wait.
    FutexWaitEnd = "futex wait ends", Write;
    /// A futex wake by opaque code.
    FutexWake = "futex wake", Write;
    /// A futex requeue by opaque code.
    FutexRequeue = "futex requeue", Write;
    /// A random number drawn by an executor.
    Draw = "draw", Read;
    /// A choice that the test leaves to the search.
    Choose = "choose", Read;
    /// An event that the test lets happen at a cost.
    Rarely = "rarely", Read;
    /// A call of the standard library that the search may let fail.
    Fault = "fault", Read;
    /// A place where the search may let a component of the test crash.
    Crash = "crash", Read;
    /// The writes that a crash loses of one file.
    FileLoss = "unsynced writes", Read;
    /// The wait for the end of a component of the test, whether it crashes or not.
    ComponentWait = "crash_and_recover", Read;
    /// An assumption of the test that does not hold.
    Assume = "assume", Read;
    /// The start of a call in a history that the test records. The start is ordered with the ends
    /// of other calls, but not with their starts.
    Call = "call", Read;
    /// The end of a call in a history.
    Return = "return", Update;
    /// A wait until no other task can run.
    Idle = "wait until idle", Read;
    /// A scheduling point that the test requests. The order of two such points matters.
    Point = "scheduling point", Write;
    /// The end of a component of the test: its tasks never continue.
    ComponentEnd = "end of", Write;
    /// The start of a wait for signals of resources.
    ResourceWait = "Resource::wait", Write;
    /// A signal of a resource to one waiter.
    ResourceSignal = "Resource::signal", Write;
    /// A signal of a resource to all waiters.
    ResourceSignalAll = "Resource::signal_all", Write;
    /// An invariant begins to be checked.
    InvariantBegin = "invariant begins", Write;
    /// An invariant is checked for the last time.
    InvariantEnd = "invariant ends", Write;
    /// A liveness property becomes hot: it requires a later event.
    Hot = "Liveness::hot", Write;
    /// A liveness property becomes cold.
    Cold = "Liveness::cold", Write;
    /// The start of an exclusive call. A task that polls the object sees no change, but the start
    /// is ordered with the starts and ends of all other calls.
    ExclusiveBegin = "exclusive call begins", Rewrite;
    /// The end of an exclusive call.
    ExclusiveEnd = "exclusive call ends", Rewrite;
    /// The start of a shared call.
    SharedBegin = "shared call begins", Read;
    /// The end of a shared call.
    SharedEnd = "shared call ends", Read;
    /// The end of a wait in `parking_lot`.
    Parked = "parked", Write;
    /// The end of another task's wait in `parking_lot`.
    Unparks = "unparks", Write;
    /// Inline assembly that synchronizes through memory.
    Asm = "asm", Write;

    /// `poll` and its kin.
    Poll = "poll", Read;
    /// `epoll_wait` and its kin.
    EpollWait = "epoll_wait", Read;
    /// `epoll_ctl`.
    EpollControl = "epoll_ctl", Write;
    /// Input from a descriptor.
    DescriptorRead = "read", Write;
    /// `ioctl` that returns the number of bytes in a descriptor.
    DescriptorLength = "ioctl", Read;
    /// Output to a descriptor.
    DescriptorWrite = "write", Write;
    /// `fcntl`, `getsockopt` and their kin, and the duplication of a descriptor.
    DescriptorInspect = "look at", Read;
    /// `fcntl`, `ioctl`, `setsockopt` and their kin, which change a descriptor.
    DescriptorChange = "change", Write;
    /// The close of a descriptor that is neither a file nor a pipe nor a socket.
    DescriptorClose = "close", Write;
    /// `accept`, which accepts a connection.
    Accept = "accept", Write;
    /// `bind`, which gives a socket its address.
    Bind = "bind", Write;
    /// `listen`.
    Listen = "listen", Write;
    /// `connect`, which makes a connection.
    Connect = "connect", Write;
    /// `open` of a FIFO, which waits for an `open` of the other end.
    FifoOpen = "open", Write;
    /// `shutdown` of a socket.
    Shutdown = "shutdown", Write;
    /// The close of a pipe or a socket.
    Close = "close", Write;
    /// `timerfd_settime`.
    TimerSet = "timerfd_settime", Write;
    /// The start of a child process.
    StartChild = "start a child process", Read;
    /// The wait for a child process.
    WaitForChild = "wait for a child process", Write;
    /// `kill` and its kin.
    Kill = "kill", Write;
    /// `sigaction` and `signal`.
    SignalAction = "sigaction", Write;
    /// `alarm` and `setitimer`.
    AlarmSet = "alarm", Write;
    /// `pause`.
    Pause = "pause", Write;
    /// `sigsuspend`.
    SignalSuspend = "sigsuspend", Write;
    /// `sigwait` and its kin.
    SignalWait = "sigwait", Write;
    /// `sigprocmask` and `pthread_sigmask`.
    SignalMask = "sigprocmask", Write;
    /// `sigpending`.
    SignalPending = "sigpending", Read;
    /// A read of a clock. Each read advances the clock.
    ReadClock = "read", Write;
    /// `getrlimit`, `getpriority` and their kin.
    GetAttribute = "look at", Read;
    /// `umask`, `setrlimit`, `setpriority` and their kin.
    SetAttribute = "change", Write;
    /// `setuid` and its kin.
    SetIds = "change of user or group", Write;
    /// `getuid` and its kin.
    GetIds = "look at user or group", Read;

    /// `open` and its kin.
    FileOpen = "open", Write;
    /// Input from a file.
    FileRead = "read", Read;
    /// Output to a file.
    FileWrite = "write", Write;
    /// `truncate` and its kin.
    FileResize = "truncate", Write;
    /// `fsync` and `fdatasync`, in a component of a test that may crash.
    FileSync = "sync", Read;
    /// `lseek`.
    FileSeek = "lseek", Write;
    /// `stat`, `access`, `readlink` and their kin.
    FileInspect = "stat", Read;
    /// `chmod`, `chown`, `utimes` and their kin.
    FileAttributes = "chmod", Write;
    /// `unlink`.
    FileRemove = "unlink", Write;
    /// `rename`.
    FileRename = "rename", Write;
    /// `link` and `symlink`.
    FileLink = "link", Write;
    /// `mkdir`.
    DirectoryMake = "mkdir", Write;
    /// `rmdir`.
    DirectoryRemove = "rmdir", Write;
    /// `opendir` and `rewinddir`.
    DirectoryOpen = "opendir", Read;
    /// `readdir`.
    DirectoryRead = "readdir", Read;
    /// `chdir`, which `std::env::set_current_dir` calls.
    DirectoryChange = "chdir", Write;
    /// `getcwd`, which `std::env::current_dir` calls.
    DirectoryAsk = "getcwd", Read;
    /// The close of a file.
    FileClose = "close", Write;
    /// `flock` and its kin, which `File::lock` calls.
    FileLock = "flock", Write;
    /// `flock` that does not wait, which `File::try_lock` calls.
    FileTryLock = "flock without waiting", Write;
    /// The end of a file lock.
    FileUnlock = "flock unlock", Write;
    /// `std::env::var` and its kin, and `getenv`.
    EnvironmentRead = "getenv", Read;
    /// `std::env::set_var` and its kin, and `setenv`.
    EnvironmentWrite = "setenv", Write;

    /// `pthread_mutex_lock`.
    PthreadMutexLock = "pthread_mutex_lock", Acquire;
    /// `pthread_mutex_timedlock` and `pthread_mutex_clocklock`.
    PthreadMutexTimedLock = "pthread_mutex_timedlock", Write;
    /// `pthread_mutex_trylock`.
    PthreadMutexTryLock = "pthread_mutex_trylock", Write;
    /// The acquisition of the mutex at the end of `pthread_cond_wait`.
    PthreadMutexRelock = "pthread_mutex_lock after wait", Acquire;
    /// `pthread_mutex_unlock`.
    PthreadMutexUnlock = "pthread_mutex_unlock", Release;
    /// The end of a task that holds a robust mutex.
    PthreadMutexOwnerEnd = "end as owner", Release;
    /// `pthread_spin_lock`.
    PthreadSpinLock = "pthread_spin_lock", Write;
    /// `pthread_spin_trylock`.
    PthreadSpinTryLock = "pthread_spin_trylock", Write;
    /// `pthread_spin_unlock`.
    PthreadSpinUnlock = "pthread_spin_unlock", Write;
    /// `pthread_rwlock_rdlock` and its timed kin.
    PthreadRwLockRead = "pthread_rwlock_rdlock", Enter;
    /// `pthread_rwlock_tryrdlock`.
    PthreadRwLockTryRead = "pthread_rwlock_tryrdlock", TryEnter;
    /// `pthread_rwlock_wrlock` and its timed kin.
    PthreadRwLockWrite = "pthread_rwlock_wrlock", Acquire;
    /// `pthread_rwlock_trywrlock`.
    PthreadRwLockTryWrite = "pthread_rwlock_trywrlock", Write;
    /// `pthread_rwlock_unlock`.
    PthreadRwLockUnlock = "pthread_rwlock_unlock", Write;
    /// `pthread_cond_wait`.
    PthreadCondWait = "pthread_cond_wait", Write;
    /// `pthread_cond_timedwait` and `pthread_cond_clockwait`.
    PthreadCondTimedWait = "pthread_cond_timedwait", Write;
    /// `pthread_cond_signal`.
    PthreadCondSignal = "pthread_cond_signal", Write;
    /// `pthread_cond_broadcast`.
    PthreadCondBroadcast = "pthread_cond_broadcast", Write;
    /// `pthread_barrier_wait`.
    PthreadBarrierWait = "pthread_barrier_wait", Write;
    /// `pthread_once`.
    PthreadOnce = "pthread_once", Write;
    /// The end of the function that `pthread_once` runs.
    PthreadOnceComplete = "pthread_once complete", Write;
    /// `sem_wait`.
    SemWait = "sem_wait", Write;
    /// `sem_timedwait` and `sem_clockwait`.
    SemTimedWait = "sem_timedwait", Write;
    /// `sem_trywait`.
    SemTryWait = "sem_trywait", Write;
    /// `sem_post`.
    SemPost = "sem_post", Write;
    /// `sem_getvalue`.
    SemGetValue = "sem_getvalue", Read;
    /// A call of a function of a package that is compiled unchanged.
    OpaqueCall = "a call into opaque code", Write;
}

impl Op {
    /// The strongest effect that the operation can have. Its actual effect may depend on its
    /// object's state. `None` for `Spawn` and `Start`: they access no object in the trace. The
    /// trace orders the start of a task after the step that spawned the task, as it orders the
    /// first step of a woken task after the step that woke it.
    pub const fn strongest_effect(self) -> Option<Effect> {
        match self {
            Self::Spawn | Self::Start => None,
            Self::ArcDrop | Self::RwLockTryRead | Self::PthreadRwLockTryRead => Some(Effect::Write),
            _ => Some(self.effect()),
        }
    }

    /// The kind of the objects of this operation.
    pub const fn object_kind(self) -> ObjectKind {
        match self as u8 {
            n if n == Op::ScopeEnd as u8 => ObjectKind::Scope,
            n if n <= Op::SpinLoop as u8 => ObjectKind::Thread,
            n if n < Op::Fence as u8 => ObjectKind::Atomic,
            n if n == Op::Fence as u8 => ObjectKind::Fence,
            n if n <= Op::PlainWrite as u8 => ObjectKind::Plain,
            n if n <= Op::MutexUnlock as u8 => ObjectKind::Mutex,
            n if n <= Op::StreamUnlock as u8 => ObjectKind::Stream,
            n if n <= Op::TakeHook as u8 => ObjectKind::Hook,
            n if n <= Op::RwLockUpgrade as u8 => ObjectKind::RwLock,
            n if n <= Op::ClearPoison as u8 => ObjectKind::Mutex,
            n if n <= Op::NotifyAll as u8 => ObjectKind::Condvar,
            n if n == Op::BarrierWait as u8 => ObjectKind::Barrier,
            n if n <= Op::LazyLockForce as u8 => ObjectKind::Once,
            n if n <= Op::ReceiverDrop as u8 => ObjectKind::Channel,
            n if n <= Op::ArcCount as u8 => ObjectKind::Arc,
            n if n == Op::Call as u8 || n == Op::Return as u8 => ObjectKind::History,
            n if n == Op::Point as u8 => ObjectKind::Thread,
            n if n == Op::ComponentEnd as u8 => ObjectKind::Component,
            n if n >= Op::ResourceWait as u8 && n <= Op::ResourceSignalAll as u8 => {
                ObjectKind::Resource
            }
            n if n == Op::InvariantBegin as u8 || n == Op::InvariantEnd as u8 => {
                ObjectKind::Invariant
            }
            n if n == Op::Hot as u8 || n == Op::Cold as u8 => ObjectKind::Liveness,
            n if n >= Op::ExclusiveBegin as u8 && n <= Op::SharedEnd as u8 => ObjectKind::Exclusive,
            n if n == Op::Parked as u8 || n == Op::Unparks as u8 => ObjectKind::Parker,
            n if n <= Op::Asm as u8 => ObjectKind::Futex,
            n if n >= Op::Pause as u8 && n <= Op::SignalPending as u8 => ObjectKind::Signals,
            n if n >= Op::FileOpen as u8 && n <= Op::EnvironmentWrite as u8 => ObjectKind::File,
            n if n <= Op::PthreadSpinUnlock as u8 => ObjectKind::Mutex,
            n if n <= Op::PthreadRwLockUnlock as u8 => ObjectKind::RwLock,
            n if n <= Op::PthreadCondBroadcast as u8 => ObjectKind::Condvar,
            n if n == Op::PthreadBarrierWait as u8 => ObjectKind::Barrier,
            n if n <= Op::PthreadOnceComplete as u8 => ObjectKind::Once,
            n if n <= Op::SemGetValue as u8 => ObjectKind::Semaphore,
            _ => ObjectKind::Opaque,
        }
    }

    /// Whether this operation accesses an atomic.
    #[inline]
    pub const fn is_atomic(self) -> bool {
        let n = self as u8;
        Op::AtomicLoad as u8 <= n && n < Op::Fence as u8
    }

    /// Whether this operation uses files, directories or environment variables.
    pub const fn uses_files(self) -> bool {
        let n = self as u8;
        Op::FileOpen as u8 <= n && n <= Op::EnvironmentWrite as u8
    }

    /// Whether only opaque code performs this operation. Such an operation has no line.
    pub const fn is_opaque(self) -> bool {
        let n = self as u8;
        let futex = Op::FutexWait as u8 <= n && n <= Op::FutexRequeue as u8;
        futex || n >= Op::PthreadMutexLock as u8
    }
}

impl Op {
    /// The type of the lock of std, or of its counterpart in `parking_lot`, that this operation
    /// acquires. The operation blocks until it can acquire the lock. `None` for all other
    /// operations.
    pub fn std_lock(self) -> Option<&'static str> {
        match self {
            Self::MutexLock | Self::MutexRelock => Some(shown!("Mutex")),
            Self::RwLockRead
            | Self::RwLockWrite
            | Self::RwLockUpgradableRead
            | Self::RwLockUpgrade => Some(shown!("RwLock")),
            _ => None,
        }
    }

    /// Whether this operation is a compare-exchange of an atomic.
    pub const fn is_compare_exchange(self) -> bool {
        matches!(
            self,
            Self::AtomicCompareAndSwap
                | Self::AtomicCompareExchange
                | Self::AtomicCompareExchangeWeak
        )
    }
}

/// Writes the operation's name in reports.
impl core::fmt::Display for Op {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}
