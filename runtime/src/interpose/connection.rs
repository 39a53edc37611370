//! Connections: `bind`, `listen`, `accept`, `connect`, `shutdown`, and the `close` of any
//! descriptor.

use core::ffi::{c_int, c_uint, c_void};

use chess_vocabulary::Fault;

use super::call::{Call, admit};
use super::{failing, files, loopback, process_attributes, timerfd};
use crate::base::sys::{self, number};
use crate::execution::{self, Effect, Op, active};
use crate::platform::descriptor::{self, Identity, Kind, POLLIN, POLLOUT};
use crate::platform::socket;

/// The longest path in a socket's address.
const LONGEST_PATH: usize = 108;

/// Returns the path in the address of a Unix socket, with a final zero. `None` for all other
/// addresses, such as one in the abstract namespace.
///
/// # Safety
/// `address` is null, or points to `length` readable bytes.
unsafe fn path_of(address: *const c_void, length: c_uint) -> Option<[u8; LONGEST_PATH + 1]> {
    const AF_UNIX: u16 = 1;
    const FAMILY_SIZE: usize = size_of::<u16>();
    let size = (length as usize).min(FAMILY_SIZE + LONGEST_PATH);
    // SAFETY: the caller's promise. The path and its final zero fit into `path`.
    unsafe {
        if address.is_null()
            || size <= FAMILY_SIZE
            || address.cast::<u16>().read_unaligned() != AF_UNIX
        {
            return None;
        }
        let mut path = [0; LONGEST_PATH + 1];
        let start = address.cast::<u8>().add(FAMILY_SIZE);
        core::ptr::copy_nonoverlapping(start, path.as_mut_ptr(), size - FAMILY_SIZE);
        (path[0] != 0).then_some(path)
    }
}

/// The port in the address of an Internet socket. `None` for all other addresses, and if the kernel
/// should choose a port.
///
/// # Safety
/// `address` is null, or points to `length` readable bytes.
unsafe fn port_of(address: *const c_void, length: c_uint) -> Option<u16> {
    const AF_INET: u16 = 2;
    const AF_INET6: u16 = 10;
    if address.is_null() || length < 4 {
        return None;
    }
    // SAFETY: the caller's promise.
    let [family, port] = unsafe { address.cast::<[u16; 2]>().read_unaligned() };
    let port = u16::from_be(port);
    (matches!(family, AF_INET | AF_INET6) && port != 0).then_some(port)
}

/// Performs the system call `number` on a socket and an address.
///
/// # Safety
/// The arguments are those of the system call.
unsafe fn with_address(
    number: usize,
    descriptor: c_int,
    address: *const c_void,
    length: c_uint,
) -> isize {
    let (address, length) = (address as usize, length as usize);
    // SAFETY: the caller's promise.
    unsafe { sys::syscall(number, [descriptor as usize, address, length, 0, 0, 0]) }
}

/// Performs the system call of a task by `act`, which gives a socket an address or makes it listen.
/// Other tasks can observe this: for instance, a connection is refused before the socket listens.
/// `act` returns the result as libc's function does.
fn offer(op: Op, descriptor: c_int, identity: Identity, act: impl FnOnce() -> c_int) -> c_int {
    let object = execution::descriptor_object(descriptor, identity);
    execution::before_call(op, object);
    let result = act();
    let effect = if result < 0 {
        Effect::Read
    } else {
        op.effect()
    };
    execution::after_call(op, object, effect);
    result
}

/// libc's `bind`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn bind(
    descriptor: c_int,
    address: *const c_void,
    length: c_uint,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    let bind = || unsafe { with_address(number::BIND, descriptor, address, length) };
    let identity = active().then(|| descriptor::look(descriptor));
    let Some(identity) = identity.filter(|identity| identity.kind == Kind::Socket) else {
        return sys::libc_result(bind()) as c_int;
    };
    // SAFETY: the caller's arguments are those of the system call.
    if let Some(port) = unsafe { port_of(address, length) } {
        files::note_port(port);
    }
    offer(Op::Bind, descriptor, identity, || {
        // SAFETY: as above; the path ends in a zero.
        unsafe {
            match path_of(address, length) {
                Some(path) => files::make_socket(path.as_ptr().cast(), bind),
                None => sys::libc_result(bind()) as c_int,
            }
        }
    })
}

/// libc's `listen`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn listen(descriptor: c_int, backlog: c_int) -> c_int {
    let arguments = [descriptor as usize, backlog as usize, 0, 0, 0, 0];
    // SAFETY: no memory is passed.
    let listen = || unsafe { sys::syscall(number::LISTEN, arguments) };
    let identity = active().then(|| descriptor::look(descriptor));
    let Some(identity) = identity.filter(|identity| identity.kind == Kind::Socket) else {
        return sys::libc_result(listen()) as c_int;
    };
    offer(Op::Listen, descriptor, identity, || {
        sys::libc_result(listen()) as c_int
    })
}

/// libc's `accept4`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn accept4(
    listener: c_int,
    address: *mut c_void,
    length: *mut c_uint,
    flags: c_int,
) -> c_int {
    let arguments = [
        listener as usize,
        address as usize,
        length as usize,
        flags as usize,
        0,
        0,
    ];
    // SAFETY: the caller's arguments are those of the system call.
    let accept = || unsafe { sys::syscall(number::ACCEPT4, arguments) };
    if !active() {
        return sys::libc_result(accept()) as c_int;
    }
    if !length.is_null() {
        admit(length as usize, size_of::<c_uint>());
        // SAFETY: the caller passes null or a length.
        admit(address as usize, unsafe { *length } as usize);
    }
    let identity = descriptor::look(listener);
    let mut call = Call::begin(Op::Accept, listener, identity, POLLIN);
    let result = call.carry_out_when_ready(accept);
    if result >= 0 {
        execution::name_descriptor(result as c_int);
        loopback::deliver(result as c_int);
    }
    call.end(result) as c_int
}

/// libc's `accept`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn accept(
    listener: c_int,
    address: *mut c_void,
    length: *mut c_uint,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    unsafe { accept4(listener, address, length, 0) }
}

/// libc's `connect`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn connect(
    descriptor: c_int,
    address: *const c_void,
    length: c_uint,
) -> c_int {
    // SAFETY: the caller's arguments are those of the system call.
    let connect = || unsafe { with_address(number::CONNECT, descriptor, address, length) };
    let identity = active().then(|| descriptor::look(descriptor));
    let Some(identity) = identity.filter(|identity| identity.kind == Kind::Socket) else {
        return sys::libc_result(connect()) as c_int;
    };
    let is_bound = socket::own_port(descriptor) != Some(0);
    // If no socket listens at a port, the kernel may assign this same port to the connecting
    // socket, which is then its own peer. This happens once in some ten thousand attempts. In a
    // search with that many attempts, it would happen in some execution, and not in the repetition
    // of its schedule.
    let connect = || {
        let result = connect();
        // SAFETY: the caller passes an address of this length.
        if !is_bound && unsafe { socket::is_own_peer(descriptor, address, length) } {
            socket::disconnect(descriptor);
            return -(sys::ECONNREFUSED as isize);
        }
        result
    };
    if let Some(error) = failing::fails_in(&[Fault::Refused, Fault::TimedOut]) {
        return sys::libc_result(error) as c_int;
    }
    let mut call = Call::begin(Op::Connect, descriptor, identity, POLLOUT);
    let mut carry_out = || {
        if !call.blocks() {
            return connect();
        }
        descriptor::set_nonblocking(descriptor, true);
        let mut begun = false;
        let result = call.carry_out(|| {
            if begun {
                return outcome(descriptor);
            }
            let result = connect();
            begun = result == -(sys::EINPROGRESS as isize);
            if begun { outcome(descriptor) } else { result }
        });
        descriptor::set_nonblocking(descriptor, false);
        result
    };
    // SAFETY: the caller passes an address of this length; the path ends in a zero.
    let result = unsafe {
        match path_of(address, length) {
            Some(path) => files::look_for_socket(path.as_ptr().cast(), carry_out),
            None => carry_out(),
        }
    };
    loopback::connected(descriptor);
    execution::note_connection(descriptor);
    call.end(result) as c_int
}

/// The result of a connection attempt, which is `EAGAIN` while the attempt is in progress.
fn outcome(descriptor: c_int) -> isize {
    if !loopback::is_made(descriptor) {
        return -(sys::EAGAIN as isize);
    }
    -(socket::take_error(descriptor) as isize)
}

/// libc's `shutdown`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn shutdown(descriptor: c_int, how: c_int) -> c_int {
    // SAFETY: no memory is passed.
    let shutdown = || unsafe {
        sys::syscall(
            number::SHUTDOWN,
            [descriptor as usize, how as usize, 0, 0, 0, 0],
        )
    };
    let identity = active().then(|| descriptor::look(descriptor));
    let Some(identity) = identity.filter(|identity| identity.kind == Kind::Socket) else {
        return sys::libc_result(shutdown()) as c_int;
    };
    let call = Call::begin(Op::Shutdown, descriptor, identity, POLLIN);
    let peer = loopback::peer(descriptor);
    let result = shutdown();
    peer.await_end();
    loopback::deliver(descriptor);
    call.end(result) as c_int
}

/// libc's `close`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    // SAFETY: no memory is passed.
    let close = || unsafe { sys::syscall(number::CLOSE, [descriptor as usize, 0, 0, 0, 0, 0]) };
    if !active() {
        return sys::libc_result(close()) as c_int;
    }
    process_attributes::replaces(descriptor);
    let identity = descriptor::look(descriptor);
    if matches!(identity.kind, Kind::Pipe | Kind::Socket) {
        return end(descriptor, identity, close) as c_int;
    }
    timerfd::forget(descriptor);
    files::close(descriptor, identity, close) as c_int
}

/// Closes the `descriptor` of a pipe or of a socket for a task by `act`. Returns the result; if it
/// is an error, sets `errno` and returns -1.
pub(super) fn end(descriptor: c_int, identity: Identity, act: impl FnOnce() -> isize) -> isize {
    let call = Call::begin(Op::Close, descriptor, identity, POLLIN);
    files::closes(descriptor);
    if identity.kind == Kind::Socket {
        loopback::free_port(descriptor);
    }
    let peer = loopback::last_peer(descriptor);
    let result = act();
    peer.await_end();
    call.end(result)
}
