//! libc's own definitions of the interposed functions.
//!
//! Each definition is looked up once by name, before the image of the program's memory is taken. An
//! address that is found later would be lost whenever the image is restored.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::base::sys::{
    self, OnceRoutine, ThreadStart, pthread_attr_t, pthread_key_t, pthread_mutex_t,
    pthread_rwlock_t, pthread_t, timespec,
};

/// Returns the address of libc's definition of `name`, or 0 if this libc has none. `address` keeps
/// the result.
fn look_up(address: &AtomicUsize, name: &CStr) -> usize {
    let mut found = address.load(Ordering::Relaxed);
    if found == 0 {
        // SAFETY: a zero-terminated name.
        found = unsafe { sys::dlsym(sys::RTLD_NEXT, name.as_ptr()) } as usize;
        address.store(found, Ordering::Relaxed);
    }
    found
}

macro_rules! real {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        #[expect(non_upper_case_globals, reason = "C names are kept")]
        mod addresses {
            use super::AtomicUsize;

            $(pub(super) static $name: AtomicUsize = AtomicUsize::new(0);)*
        }

        $(
            /// Calls libc's definition. Panics if this libc has none.
            pub(crate) unsafe fn $name($($argument: $type),*) -> $result {
                let address = look_up(&addresses::$name, c_name!($name));
                assert!(address != 0, concat!("libc has no ", stringify!($name)));
                // SAFETY: libc's function of that name has this type.
                unsafe {
                    let function: unsafe extern "C-unwind" fn($($type),*) -> $result =
                        core::mem::transmute(address);
                    function($($argument),*)
                }
            }
        )*

        /// Looks up all functions of this module, so that the image of memory contains their
        /// addresses.
        pub(crate) fn resolve() {
            $(look_up(&addresses::$name, c_name!($name));)*
        }
    };
}

macro_rules! c_name {
    ($name:ident) => {
        const {
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name without inner zeros"),
            }
        }
    };
}

real! {
    memcmp(left: *const c_void, right: *const c_void, size: usize) -> c_int;
    memchr(bytes: *const c_void, byte: c_int, size: usize) -> *mut c_void;
    memrchr(bytes: *const c_void, byte: c_int, size: usize) -> *mut c_void;
    strlen(text: *const c_char) -> usize;
    fread(out: *mut c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
    fread_unlocked(out: *mut c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
    nice(increment: c_int) -> c_int;
    setpriority(which: c_int, who: u32, priority: c_int) -> c_int;
    sched_setscheduler(process: c_int, policy: c_int, parameters: *const c_void) -> c_int;
    sched_setparam(process: c_int, parameters: *const c_void) -> c_int;
    pthread_setschedparam(
        thread: pthread_t,
        policy: c_int,
        parameters: *const c_void
    ) -> c_int;
    pthread_setschedprio(thread: pthread_t, priority: c_int) -> c_int;
    pthread_setaffinity_np(thread: pthread_t, length: usize, set: *const c_void) -> c_int;
    setsid() -> c_int;
    getpriority(which: c_int, who: u32) -> c_int;
    getsid(process: c_int) -> c_int;
    getpgid(process: c_int) -> c_int;
    getpgrp() -> c_int;
    setpgid(process: c_int, group: c_int) -> c_int;
    chroot(path: *const c_char) -> c_int;
    unshare(flags: c_int) -> c_int;
    setns(descriptor: c_int, kind: c_int) -> c_int;
    setvbuf(stream: *mut c_void, buffer: *mut c_void, mode: c_int, length: usize) -> c_int;
    pthread_create(
        thread: *mut pthread_t,
        attributes: *const pthread_attr_t,
        start: ThreadStart,
        argument: *mut c_void
    ) -> c_int;
    pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
    pthread_detach(thread: pthread_t) -> c_int;
    pthread_getattr_np(thread: pthread_t, attributes: *mut pthread_attr_t) -> c_int;
    pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;
    pthread_getname_np(thread: pthread_t, out: *mut c_char, size: usize) -> c_int;
    pthread_key_create(
        key: *mut pthread_key_t,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>
    ) -> c_int;
    pthread_key_delete(key: pthread_key_t) -> c_int;
    pthread_getspecific(key: pthread_key_t) -> *mut c_void;
    pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int;
    pthread_cancel(thread: pthread_t) -> c_int;
    pthread_exit(value: *mut c_void) -> !;
    pthread_tryjoin_np(thread: pthread_t, result: *mut *mut c_void) -> c_int;
    pthread_timedjoin_np(
        thread: pthread_t,
        result: *mut *mut c_void,
        time: *const timespec
    ) -> c_int;
    pthread_clockjoin_np(
        thread: pthread_t,
        result: *mut *mut c_void,
        clock: c_int,
        time: *const timespec
    ) -> c_int;
    pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int;
    pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int;
    pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int;
    pthread_mutex_clocklock(
        mutex: *mut pthread_mutex_t,
        clock: c_int,
        time: *const timespec
    ) -> c_int;
    pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int;
    pthread_spin_lock(lock: *mut c_int) -> c_int;
    pthread_spin_trylock(lock: *mut c_int) -> c_int;
    pthread_spin_unlock(lock: *mut c_int) -> c_int;
    pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int;
    pthread_rwlock_clockrdlock(
        lock: *mut pthread_rwlock_t,
        clock: c_int,
        time: *const timespec
    ) -> c_int;
    pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int;
    pthread_rwlock_clockwrlock(
        lock: *mut pthread_rwlock_t,
        clock: c_int,
        time: *const timespec
    ) -> c_int;
    pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_cond_wait(condition: *mut c_void, mutex: *mut pthread_mutex_t) -> c_int;
    pthread_cond_timedwait(
        condition: *mut c_void,
        mutex: *mut pthread_mutex_t,
        time: *const timespec
    ) -> c_int;
    pthread_cond_clockwait(
        condition: *mut c_void,
        mutex: *mut pthread_mutex_t,
        clock: c_int,
        time: *const timespec
    ) -> c_int;
    pthread_cond_signal(condition: *mut c_void) -> c_int;
    pthread_cond_broadcast(condition: *mut c_void) -> c_int;
    pthread_barrier_wait(barrier: *mut c_void) -> c_int;
    pthread_once(control: *mut c_int, routine: OnceRoutine) -> c_int;
    timer_create(clock: c_int, event: *const c_void, out: *mut *mut c_void) -> c_int;
    timer_settime(
        timer: *mut c_void,
        flags: c_int,
        new: *const c_void,
        old: *mut c_void
    ) -> c_int;
    timer_gettime(timer: *mut c_void, out: *mut c_void) -> c_int;
    timer_getoverrun(timer: *mut c_void) -> c_int;
    timer_delete(timer: *mut c_void) -> c_int;
    mmap(
        address: *mut c_void, length: usize, protection: c_int, flags: c_int, descriptor: c_int,
        offset: i64
    ) -> *mut c_void;
    munmap(address: *mut c_void, length: usize) -> c_int;
    mremap(
        address: *mut c_void, length: usize, new_length: usize, flags: c_int,
        new_address: *mut c_void
    ) -> *mut c_void;
    sem_wait(semaphore: *mut c_void) -> c_int;
    sem_trywait(semaphore: *mut c_void) -> c_int;
    sem_timedwait(semaphore: *mut c_void, time: *const timespec) -> c_int;
    sem_clockwait(semaphore: *mut c_void, clock: c_int, time: *const timespec) -> c_int;
    sem_post(semaphore: *mut c_void) -> c_int;
    sem_getvalue(semaphore: *mut c_void, value: *mut c_int) -> c_int;
    getenv(name: *const c_char) -> *mut c_char;
    setenv(name: *const c_char, value: *const c_char, replaces: c_int) -> c_int;
    unsetenv(name: *const c_char) -> c_int;
    putenv(text: *mut c_char) -> c_int;
    clearenv() -> c_int;
    realpath(path: *const c_char, out: *mut c_char) -> *mut c_char;
    opendir(path: *const c_char) -> *mut c_void;
    dirfd(directory: *mut c_void) -> c_int;
    readdir(directory: *mut c_void) -> *mut c_void;
    readdir64(directory: *mut c_void) -> *mut c_void;
    rewinddir(directory: *mut c_void) -> ();
    getcwd(out: *mut c_char, length: usize) -> *mut c_char;
    clock_gettime(clock: c_int, out: *mut sys::timespec) -> c_int;
    gettimeofday(out: *mut sys::timeval, zone: *mut c_void) -> c_int;
    fork() -> c_int;
    sigaction(
        signal: c_int,
        new: *const sys::sigaction_t,
        old: *mut sys::sigaction_t
    ) -> c_int;
    pthread_sigmask(how: c_int, new: *const u64, old: *mut c_void) -> c_int;
    setuid(id: u32) -> c_int;
    seteuid(id: u32) -> c_int;
    setreuid(own: u32, effective: u32) -> c_int;
    setresuid(own: u32, effective: u32, saved: u32) -> c_int;
    setgid(id: u32) -> c_int;
    setegid(id: u32) -> c_int;
    setregid(own: u32, effective: u32) -> c_int;
    setresgid(own: u32, effective: u32, saved: u32) -> c_int;
    setgroups(count: usize, groups: *const u32) -> c_int;
    initgroups(user: *const c_char, group: u32) -> c_int;
    dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    getaddrinfo(
        node: *const c_char,
        service: *const c_char,
        hints: *const c_void,
        result: *mut *mut c_void
    ) -> c_int;
    raise(signal: c_int) -> c_int;
    pthread_kill(thread: pthread_t, signal: c_int) -> c_int;
    posix_spawnattr_init(attributes: *mut c_void) -> c_int;
    posix_spawn_file_actions_addchdir_np(actions: *mut c_void, path: *const c_char) -> c_int;
    posix_spawn_file_actions_addfchdir_np(actions: *mut c_void, directory: c_int) -> c_int;
    posix_spawn(
        child: *mut c_int,
        program: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *mut c_char,
        environment: *const *mut c_char
    ) -> c_int;
    posix_spawnp(
        child: *mut c_int,
        program: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *mut c_char,
        environment: *const *mut c_char
    ) -> c_int;
    malloc_usable_size(block: *mut c_void) -> usize;
    __cxa_thread_atexit_impl(
        destructor: unsafe extern "C" fn(*mut c_void),
        object: *mut c_void,
        library: *mut c_void
    ) -> c_int;
}
