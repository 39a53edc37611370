//! Properties of a socket: its two ends, and the data in transit.

use core::ffi::{c_int, c_uint, c_void};
use core::ops::Range;

use super::descriptor::{self, Kind};
use crate::base::sys::{self, number};
use crate::platform::leftovers::first_descriptor;

const SOL_SOCKET: usize = 1;
const SO_RCVTIMEO: usize = 20;
const SO_SNDTIMEO: usize = 21;
const SO_PEERCRED: usize = 17;
const SO_ACCEPTCONN: usize = 30;
const SO_TYPE: usize = 3;
const SO_PROTOCOL: usize = 38;
const SO_DOMAIN: usize = 39;
const IPPROTO_TCP: usize = 6;
const TCP_INFO: usize = 11;
const SOCK_STREAM: u32 = 1;
const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;

/// The value of an option of a socket, as words; all words are 0 if the socket does not have the
/// option.
fn option<const WORDS: usize>(socket: c_int, level: usize, name: usize) -> [u32; WORDS] {
    let mut value = [0u32; WORDS];
    let mut length = (WORDS * 4) as u32;
    let (at, length_at) = (&raw mut value as usize, &raw mut length as usize);
    let arguments = [socket as usize, level, name, at, length_at, 0];
    // SAFETY: the value has the given length.
    let result = unsafe { sys::syscall(number::GETSOCKOPT, arguments) };
    if result < 0 { [0; WORDS] } else { value }
}

/// The time that a call on the socket may block, in nanoseconds; `None` for no limit.
pub(crate) fn patience(socket: c_int, sending: bool) -> Option<u64> {
    let name = if sending { SO_SNDTIMEO } else { SO_RCVTIMEO };
    let [low, high, micros, _] = option(socket, SOL_SOCKET, name);
    let seconds = u64::from(low) | u64::from(high) << 32;
    let nanos = seconds.saturating_mul(1_000_000_000) + u64::from(micros) * 1_000;
    (nanos > 0).then_some(nanos)
}

/// Whether the socket waits for connections.
pub(crate) fn is_listening(socket: c_int) -> bool {
    option::<1>(socket, SOL_SOCKET, SO_ACCEPTCONN) == [1]
}

/// Whether the socket transfers a stream of bytes, not datagrams.
pub(crate) fn is_stream(socket: c_int) -> bool {
    option::<1>(socket, SOL_SOCKET, SO_TYPE) == [SOCK_STREAM]
}

/// Whether the socket is a TCP socket.
pub(crate) fn is_tcp(socket: c_int) -> bool {
    option::<1>(socket, SOL_SOCKET, SO_PROTOCOL) == [IPPROTO_TCP as u32]
}

/// Whether the peer has closed its direction of the connection, and this end has not closed its
/// own.
pub(crate) fn peer_has_closed(socket: c_int) -> bool {
    const CLOSE_WAIT: u32 = 8;
    option::<2>(socket, IPPROTO_TCP, TCP_INFO)[0] & 0xff == CLOSE_WAIT
}

/// Prepares the connections that an execution left open: their last close resets them, so that
/// their ports are free at once. Has no effect on connections whose other end another process may
/// still use.
pub(super) fn reset_left_open(first: c_int) {
    descriptor::find_open(first, |socket| {
        if is_tcp(socket) && (peer_has_closed(socket) || has_open_peer(socket, first)) {
            reset_on_close(socket);
        }
        false
    });
}

/// Whether the peer of a TCP socket is among the descriptors from `first` on.
fn has_open_peer(socket: c_int, first: c_int) -> bool {
    let ends = (own_port(socket), peer_port(socket));
    ends.1.is_some()
        && descriptor::find_open(first, |other| {
            is_tcp(other) && ends == (peer_port(other), own_port(other))
        })
}

/// Makes the last close of the socket end the connection with a reset.
pub(crate) fn reset_on_close(socket: c_int) {
    const SO_LINGER: usize = 13;
    // On, for zero seconds.
    let linger = [1u32, 0];
    set_option(socket, SOL_SOCKET, SO_LINGER, &linger);
}

fn set_option<const WORDS: usize>(socket: c_int, level: usize, name: usize, value: &[u32; WORDS]) {
    let (at, length) = (&raw const *value as usize, WORDS * 4);
    let arguments = [socket as usize, level, name, at, length, 0];
    // SAFETY: the value has the given length.
    unsafe { sys::syscall(number::SETSOCKOPT, arguments) };
}

/// Returns the pending error of a connection, and clears it; 0 for none.
pub(crate) fn take_error(socket: c_int) -> c_int {
    const SO_ERROR: usize = 4;
    let [error] = option(socket, SOL_SOCKET, SO_ERROR);
    error.cast_signed()
}

/// The length of the longest address of an internet socket, in bytes.
const LENGTH: usize = 28;
/// The part of such an address that has the port.
const PORT: Range<usize> = 2..4;

/// The address of an internet socket, or of its peer, and the family of the address. `call` is the
/// system call that returns the address. `None` for other sockets, or if the call fails.
fn address(socket: c_int, call: usize) -> Option<([u8; LENGTH], u32)> {
    let mut address = [0u8; LENGTH];
    let mut length = LENGTH as u32;
    let (at, length_at) = (&raw mut address as usize, &raw mut length as usize);
    // SAFETY: the address has the given length.
    let result = unsafe { sys::syscall(call, [socket as usize, at, length_at, 0, 0, 0]) };
    let family = u32::from(u16::from_ne_bytes([address[0], address[1]]));
    (result == 0 && matches!(family, AF_INET | AF_INET6)).then_some((address, family))
}

/// The port in the [`address`] that `call` returns.
fn port(socket: c_int, call: usize) -> Option<u16> {
    let (address, _) = address(socket, call)?;
    Some(u16::from_be_bytes([
        address[PORT.start],
        address[PORT.start + 1],
    ]))
}

/// The port that an internet socket is bound to.
pub(crate) fn own_port(socket: c_int) -> Option<u16> {
    port(socket, number::GETSOCKNAME)
}

/// The port that an internet socket is connected to.
pub(crate) fn peer_port(socket: c_int) -> Option<u16> {
    port(socket, number::GETPEERNAME)
}

/// Whether the TCP `socket`, which connects to this address, is its own peer: the kernel has given
/// it the address to which it connects.
///
/// # Safety
/// `to_address` is null, or points to `length` readable bytes.
pub(crate) unsafe fn is_own_peer(socket: c_int, to_address: *const c_void, length: c_uint) -> bool {
    let mut to = [0u8; LENGTH];
    if to_address.is_null() || !is_tcp(socket) {
        return false;
    }
    let length = (length as usize).min(LENGTH);
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(to_address.cast(), to.as_mut_ptr(), length) };
    address(socket, number::GETSOCKNAME).is_some_and(|(own, family)| {
        let host = if family == AF_INET { 4..8 } else { 8..24 };
        [0..2, PORT, host]
            .into_iter()
            .all(|part| own[part.clone()] == to[part])
    })
}

/// Ends the connection of a TCP socket with a reset. The socket can connect again.
pub(crate) fn disconnect(socket: c_int) {
    // The family `AF_UNSPEC`.
    let address = [0u8; 16];
    let (at, length) = (&raw const address as usize, size_of_val(&address));
    // SAFETY: the address has the given length.
    unsafe { sys::syscall(number::CONNECT, [socket as usize, at, length, 0, 0, 0]) };
}

/// Whether the socket is connected to a socket of another process.
pub(crate) fn has_foreign_peer(socket: c_int) -> bool {
    let [domain] = option(socket, SOL_SOCKET, SO_DOMAIN);
    if domain == AF_UNIX {
        let [process, _, _] = option(socket, SOL_SOCKET, SO_PEERCRED);
        // SAFETY: no arguments, no effect.
        let own = unsafe { sys::syscall(number::GETPID, [0; 6]) };
        return process != 0 && process as isize != own;
    }
    let Some(peer) = peer_port(socket) else {
        return false;
    };
    !find_open(|other| {
        other != socket
            && descriptor::look(other).kind == Kind::Socket
            && own_port(other) == Some(peer)
    })
}

/// Calls `visit` with the open descriptors of the execution until `visit` returns `true`. Returns
/// whether `visit` returned `true`.
pub(crate) fn find_open(visit: impl FnMut(c_int) -> bool) -> bool {
    descriptor::find_open(first_descriptor(), visit)
}

/// The progress of a TCP connection.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) state: State,
    /// The number of bytes that were sent to the peer.
    sent: u64,
    /// The number of bytes that have arrived from the peer.
    received: u64,
    /// For a listening socket: the number of connections that are not accepted yet.
    pub(crate) backlog: u32,
    /// The number of packets that were sent, and that the peer has not acknowledged.
    unacknowledged: u32,
    /// The number of bytes that wait for room at the peer.
    held_back: u32,
}

/// The state of a TCP connection, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The connection is being made.
    Connecting,
    /// The peer can still send.
    Open,
    /// The peer can still send. This end has closed its direction, and the peer has not
    /// acknowledged that.
    Ending,
    /// The peer sends no more, or there is no connection.
    Closed,
}

impl Progress {
    /// The progress of this socket.
    pub(crate) fn of(socket: c_int) -> Self {
        let info = option::<56>(socket, IPPROTO_TCP, TCP_INFO);
        let long = |at: usize| u64::from(info[at]) | u64::from(info[at + 1]) << 32;
        let state = match info[0] & 0xff {
            2 | 3 => State::Connecting,
            1 | 5 => State::Open,
            4 => State::Ending,
            _ => State::Closed,
        };
        Self {
            state,
            sent: long(50).saturating_sub(long(52)),
            received: long(32),
            backlog: info[6],
            unacknowledged: info[6],
            held_back: info[36],
        }
    }

    /// Whether no data are in transit to the peer, and no data wait to be sent.
    pub(crate) fn is_quiet(self) -> bool {
        self.unacknowledged == 0 && !self.is_held_back()
    }

    /// Whether data wait for room at the peer.
    pub(crate) fn is_held_back(self) -> bool {
        self.held_back > 0
    }

    /// Whether more data can come from the peer.
    pub(crate) fn expects_more(self) -> bool {
        matches!(self.state, State::Open | State::Ending)
    }

    /// Whether all data that this end has sent have arrived at `peer`.
    pub(crate) fn has_arrived_at(self, peer: Self) -> bool {
        peer.received >= self.sent
    }
}

/// Makes the socket acknowledge now all data that have arrived and were read. Without this call,
/// the kernel may acknowledge them some milliseconds later. The moment at which the peer sees the
/// acknowledgement would be arbitrary.
pub(crate) fn acknowledge(socket: c_int) {
    const TCP_QUICKACK: usize = 12;
    set_option(socket, IPPROTO_TCP, TCP_QUICKACK, &[1]);
}
