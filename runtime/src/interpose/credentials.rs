//! `setuid` and similar functions, by which a process drops privileges permanently.
//!
//! libc makes each of its threads perform the system call, through a signal. The donors (the
//! threads that lend their stacks to tasks) block this signal, so libc would wait forever.
//! Besides, if one execution dropped a privilege, a later execution could not regain it. So a
//! program that calls one of these functions is explored in separate processes, one for each
//! execution. In such a process, the task's kernel thread performs the system call. With the
//! `threads` backend, each other kernel thread performs the same system call before that thread
//! next runs a task.

use core::cell::Cell;
use core::ffi::{c_char, c_int};

use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::real;
use crate::base::sys::{self, number};
use crate::execution::{self, Effect, Op, active, files};

/// The value of an argument that leaves an id unchanged.
const SAME: usize = u32::MAX as usize;

/// The place of this state in the engine's memory.
pub(super) const PLACE: Place<Credentials> = Place::after(&super::files::KNOWN_PLACE);

/// The changes of ids and groups that tasks of the running execution have made. Each kernel thread
/// that runs a task must make all of these changes.
pub(crate) struct Credentials(EngineVec<Change>);

struct Change {
    number: usize,
    arguments: [usize; 3],
    /// The array that `setgroups` points to.
    groups: EngineVec<u32>,
}

impl Change {
    /// Makes the system call on this kernel thread.
    fn make(&self) -> isize {
        let [a, b, c] = self.arguments;
        let b = match self.number {
            number::SETGROUPS => self.groups.as_ptr() as usize,
            _ => b,
        };
        // SAFETY: ids, or the stated number of readable groups.
        unsafe { sys::syscall(self.number, [a, b, c, 0, 0, 0]) }
    }
}

impl Credentials {
    pub(crate) const fn new() -> Self {
        Self(engine_vec())
    }

    /// Removes all changes, for a new execution.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

fn changes() -> &'static mut EngineVec<Change> {
    // SAFETY: one task runs at a time, and each use ends before the next scheduling point.
    unsafe { &mut (*PLACE.get()).0 }
}

/// The number of changes in [`Credentials`] that this kernel thread has made.
#[thread_local]
static MADE: Cell<usize> = Cell::new(0);

/// Makes the changes that tasks on other kernel threads have made since this kernel thread last
/// ran a task. Called only if each task runs on a kernel thread of its own.
pub(crate) fn follow() {
    for change in changes().iter().skip(MADE.get()) {
        change.make();
    }
    MADE.set(changes().len());
}

/// Makes `change` for the running task, which has called the libc function `name`.
fn change(name: &'static str, change: Change) -> c_int {
    execution::needs_process(name);
    execution::before_call(Op::SetIds, 0);
    files::rules_change();
    let result = change.make();
    if result == 0 {
        changes().push(change);
        MADE.set(changes().len());
    }
    execution::after_call(Op::SetIds, 0, Effect::Write);
    sys::libc_result(result) as c_int
}

macro_rules! setters {
    ($($name:ident($($argument:ident),*) is $number:ident[$a:expr, $b:expr, $c:expr];)*) => {
        $(
            /// libc's function of this name.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($argument: u32),*) -> c_int {
                if !active() {
                    // SAFETY: ids alone.
                    return unsafe { real::$name($($argument),*) };
                }
                $(let $argument = $argument as usize;)*
                change(
                    stringify!($name),
                    Change {
                        number: number::$number,
                        arguments: [$a, $b, $c],
                        groups: engine_vec(),
                    },
                )
            }
        )*
    };
}

setters! {
    setuid(id) is SETUID[id, 0, 0];
    seteuid(id) is SETRESUID[SAME, id, SAME];
    setreuid(own, effective) is SETREUID[own, effective, 0];
    setresuid(own, effective, saved) is SETRESUID[own, effective, saved];
    setgid(id) is SETGID[id, 0, 0];
    setegid(id) is SETRESGID[SAME, id, SAME];
    setregid(own, effective) is SETREGID[own, effective, 0];
    setresgid(own, effective, saved) is SETRESGID[own, effective, saved];
}

/// libc's `setgroups`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn setgroups(count: usize, groups: *const u32) -> c_int {
    // SAFETY: the caller passes `count` groups.
    unsafe {
        if !active() {
            return real::setgroups(count, groups);
        }
        let mut copy = engine_vec();
        if count > 0 && !groups.is_null() {
            copy.extend_from_slice(core::slice::from_raw_parts(groups, count));
        }
        change(
            "setgroups",
            Change {
                number: number::SETGROUPS,
                arguments: [copy.len(), 0, 0],
                groups: copy,
            },
        )
    }
}

/// libc's `initgroups`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn initgroups(user: *const c_char, group: u32) -> c_int {
    unsafe extern "C" {
        fn getgrouplist(
            user: *const c_char,
            group: u32,
            groups: *mut u32,
            count: *mut c_int,
        ) -> c_int;
    }
    const MOST: usize = 65_536;
    // SAFETY: the caller passes a name; there is room for the stated number of groups.
    unsafe {
        if !active() {
            return real::initgroups(user, group);
        }
        execution::needs_process("initgroups");
        let mut groups: EngineVec<u32> = engine_vec();
        groups.resize(MOST, 0);
        let mut count = MOST as c_int;
        if getgrouplist(user, group, groups.as_mut_ptr(), &raw mut count) < 0 {
            return sys::libc_failure(sys::ENOMEM);
        }
        setgroups(count.unsigned_abs() as usize, groups.as_ptr())
    }
}

macro_rules! getters {
    ($($name:ident is $number:ident;)*) => {
        $(
            /// libc's function of this name.
            #[unsafe(no_mangle)]
            extern "C-unwind" fn $name() -> u32 {
                execution::before_call(Op::GetIds, 0);
                // SAFETY: no arguments, no effect.
                let id = unsafe { sys::syscall(number::$number, [0; 6]) };
                execution::after_call(Op::GetIds, 0, Effect::Read);
                id as u32
            }
        )*
    };
}

getters! {
    getuid is GETUID;
    geteuid is GETEUID;
    getgid is GETGID;
    getegid is GETEGID;
}
