//! libc's own definitions behind the interposed ones.
//!
//! Looked up once by name and before the image is taken: an address found
//! later would be forgotten with every execution.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use super::super::sys::{self, ThreadStart, pthread_attr_t, pthread_key_t, pthread_t};

macro_rules! real {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            /// libc's definition.
            pub(crate) unsafe fn $name($($argument: $type),*) -> $result {
                static ADDRESS: AtomicUsize = AtomicUsize::new(0);
                const NAME: &core::ffi::CStr =
                    match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name without inner zeros"),
                    };
                let mut address = ADDRESS.load(Ordering::Relaxed);
                if address == 0 {
                    // SAFETY: a zero-terminated name.
                    address = unsafe { sys::dlsym(sys::RTLD_NEXT, NAME.as_ptr()) } as usize;
                    assert!(address != 0, concat!("libc has no ", stringify!($name)));
                    ADDRESS.store(address, Ordering::Relaxed);
                }
                // SAFETY: libc's function of that name has this type.
                unsafe {
                    let function: unsafe extern "C" fn($($type),*) -> $result =
                        core::mem::transmute(address);
                    function($($argument),*)
                }
            }
        )*
    };
}

real! {
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
    pthread_key_create(
        key: *mut pthread_key_t,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>
    ) -> c_int;
    pthread_key_delete(key: pthread_key_t) -> c_int;
    pthread_getspecific(key: pthread_key_t) -> *mut c_void;
    pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int;
    clock_gettime(clock: c_int, out: *mut sys::timespec) -> c_int;
    gettimeofday(out: *mut sys::timeval, zone: *mut c_void) -> c_int;
    fork() -> c_int;
    malloc_usable_size(block: *mut c_void) -> usize;
    __cxa_thread_atexit_impl(
        destructor: unsafe extern "C" fn(*mut c_void),
        object: *mut c_void,
        library: *mut c_void
    ) -> c_int;
}

/// Looks up what a task may need.
pub(crate) fn resolve() {
    let mut now = sys::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut day = sys::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    // SAFETY: harmless calls with valid arguments; their point is the look-up.
    // `fork` is looked up when the zygote forks the explorer through it.
    unsafe {
        clock_gettime(1, &raw mut now);
        gettimeofday(&raw mut day, core::ptr::null_mut());
        malloc_usable_size(core::ptr::null_mut());
    }
}
