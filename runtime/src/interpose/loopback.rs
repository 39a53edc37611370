//! Deterministic TCP between two sockets of this process.
//!
//! Data that is sent over the loopback device arrives before the sender continues, except under
//! load. Under load, a kernel thread delivers the data later, and the timing of this thread would
//! determine whether the peer finds the data. So after each call with an effect on the peer, the
//! runtime waits until nothing is in transit.

use core::ffi::c_int;

use crate::base::memory::{EngineVec, Place, engine_vec};
use crate::base::sys::{self, number};
use crate::platform::descriptor::{self, Kind, POLLIN};
use crate::platform::socket::{self, Progress, State};
use crate::{execution, monitor};

/// The highest number of checks in [`wait_until`].
const LOOKS: u32 = 2_000;
/// The highest number of naps in [`made_room`], of one millisecond each. This function waits until
/// the kernel has sent the data for which the receiver had no room before.
const NAPS: u32 = 2_000;

/// The place of this state in the engine's memory.
pub(super) const PLACE: Place<Links> = Place::after(&monitor::PLACE);

/// The connections of this execution.
pub(crate) struct Links {
    /// The pairs of connected sockets.
    pairs: EngineVec<Link>,
    /// The ports of all sockets that connected. A socket that was closed before its peer was
    /// accepted has its port here, but is in no pair.
    ports: EngineVec<u16>,
}

/// A socket and its peer.
#[derive(Clone, Copy)]
struct Link {
    socket: u64,
    /// The peer's descriptor and inode; `None` if the socket is not a TCP socket.
    peer: Option<(c_int, u64)>,
}

impl Links {
    pub(crate) const fn new() -> Self {
        Self {
            pairs: engine_vec(),
            ports: engine_vec(),
        }
    }

    /// Removes all connections, for a new execution.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.pairs.clear();
        self.ports.clear();
    }
}

/// The other end of a connection, if this process has it.
#[derive(Clone, Copy)]
pub(super) struct Peer(Option<c_int>);

/// The peer of a TCP socket.
pub(super) fn peer(socket: c_int) -> Peer {
    let own = descriptor::look(socket);
    if own.kind != Kind::Socket {
        return Peer(None);
    }
    // SAFETY: one task runs at a time, and the reference ends before it may switch.
    let links = unsafe { &mut (*PLACE.get()).pairs };
    let known = links.iter().position(|link| link.socket == own.inode);
    if let Some(known) = known {
        match links[known].peer {
            None => return Peer(None),
            Some((peer, inode)) if descriptor::look(peer).inode == inode => {
                return Peer(Some(peer));
            }
            // The known descriptor of the peer is closed. A duplicate of it may be open, so search
            // again. If there is none, the link remains: it shows `free_port` that there was a
            // peer.
            Some(_) => {
                let found = find_peer(socket);
                links[known].peer = found.or(links[known].peer);
                return Peer(found.map(|(peer, _)| peer));
            }
        }
    }
    let found = if socket::is_tcp(socket) {
        match find_peer(socket) {
            Some(found) => Some(found),
            // The peer may not be accepted yet.
            None => return Peer(None),
        }
    } else {
        None
    };
    links.push(Link {
        socket: own.inode,
        peer: found,
    });
    Peer(found.map(|(peer, _)| peer))
}

/// Finds the peer of `socket` in this process: the socket whose own port is the peer's port of
/// `socket`, and vice versa.
fn find_peer(socket: c_int) -> Option<(c_int, u64)> {
    let ends = (socket::own_port(socket)?, socket::peer_port(socket)?);
    let mut found = None;
    socket::find_open(|other| {
        let identity = descriptor::look(other);
        let is_peer = identity.kind == Kind::Socket
            && other != socket
            && socket::peer_port(other) == Some(ends.0)
            && socket::own_port(other) == Some(ends.1);
        if is_peer {
            found = Some((other, identity.inode));
        }
        is_peer
    });
    found
}

/// Returns the [`peer`] of `socket`, for a close of `socket`. If another descriptor refers to the
/// same end of the connection, the close does not end the connection, and the result has no
/// descriptor.
pub(super) fn last_peer(socket: c_int) -> Peer {
    let peer = peer(socket);
    let Some(descriptor) = peer.0 else {
        return peer;
    };
    if !is_last(socket) {
        return Peer(None);
    }
    // The caller will close this socket. After that, `free_port` must still find that the other
    // socket had a peer.
    let own = (socket, descriptor::look(socket).inode);
    let inode = descriptor::look(descriptor).inode;
    // SAFETY: see `peer`.
    let links = unsafe { &mut (*PLACE.get()).pairs };
    if !links.iter().any(|link| link.socket == inode) {
        links.push(Link {
            socket: inode,
            peer: Some(own),
        });
    }
    peer
}

/// Must be called before a TCP socket is closed. Makes the close reset the connection, which frees
/// the port of the socket at once. After an orderly end the port would stay in use for a minute,
/// and some ten thousand executions would use up all ports. Has no effect if a task or a child
/// process could observe the reset. No task can observe it if the peer was a socket of this process
/// and is closed. A child process might have a copy of the peer, so there must be no child
/// processes.
pub(super) fn free_port(socket: c_int) {
    let own = descriptor::look(socket);
    // SAFETY: one task runs at a time, and the reference ends before it may switch.
    let links = unsafe { &*PLACE.get() };
    let known = links.pairs.iter().find(|link| link.socket == own.inode);
    let had_peer = known.is_some_and(|link| link.peer.is_some())
        || socket::peer_port(socket).is_some_and(|port| links.ports.contains(&port));
    if had_peer
        && execution::has_child_ended(None).is_none()
        && socket::peer_has_closed(socket)
        && find_peer(socket).is_none()
        && is_last(socket)
    {
        socket::reset_on_close(socket);
    }
}

/// Whether no other descriptor of this process refers to the same socket.
fn is_last(socket: c_int) -> bool {
    let own = descriptor::look(socket).inode;
    !socket::find_open(|other| {
        let identity = descriptor::look(other);
        other != socket && identity.kind == Kind::Socket && identity.inode == own
    })
}

impl Peer {
    /// Waits until the end of the data has arrived at the peer, after the other end of the
    /// connection was closed or shut down.
    pub(super) fn await_end(self) {
        if let Some(peer) = self.0 {
            wait_until(|| !Progress::of(peer).expects_more());
            socket::acknowledge(peer);
        }
    }
}

/// Waits until all data between `socket` and its peer, in either direction, has
/// arrived.
pub(super) fn deliver(socket: c_int) {
    if let Peer(Some(peer)) = peer(socket) {
        wait_until(|| {
            let (own, other) = (Progress::of(socket), Progress::of(peer));
            own.has_arrived_at(other) && other.has_arrived_at(own)
        });
        socket::acknowledge(socket);
        socket::acknowledge(peer);
    }
}

/// Waits for the consequences of a read from `socket`. Data that the peer could not send for lack
/// of room arrives now. The peer also receives an acknowledgement of the new room, and may then
/// send more.
pub(super) fn made_room(socket: c_int) {
    if let Peer(Some(peer)) = peer(socket) {
        if Progress::of(peer).is_quiet() {
            return;
        }
        wait_until(|| {
            socket::acknowledge(socket);
            let (own, other) = (Progress::of(socket), Progress::of(peer));
            // If the peer still holds data back, the data waits for more room, or for a timer of
            // the kernel.
            let has_more = other.is_held_back() && descriptor::is_ready(socket, POLLIN);
            other.has_arrived_at(own) && (other.is_quiet() || has_more)
        });
        // A timer of the kernel determines when data that was refused for lack of room
        // is sent again.
        for _ in 0..NAPS {
            if descriptor::is_ready(socket, POLLIN) || Progress::of(peer).is_quiet() {
                return;
            }
            sys::nap();
        }
    }
}

/// Waits until the peer has the acknowledgement that its data was read to the end. A task that
/// polls the peer can observe this.
pub(super) fn read_to_end(socket: c_int) {
    if let Peer(Some(peer)) = peer(socket) {
        socket::acknowledge(socket);
        wait_until(|| Progress::of(peer).state != State::Ending);
    }
}

/// Waits until the listener of a newly connected socket has the connection in its queue, or a task
/// has accepted it.
pub(super) fn connected(socket: c_int) {
    if let Some(port) = socket::peer_port(socket).filter(|_| socket::is_tcp(socket)) {
        // SAFETY: see `peer`.
        let ports = unsafe { &mut (*PLACE.get()).ports };
        ports.extend(socket::own_port(socket));
        let listener = find_listener(port);
        if let Some(listener) = listener {
            wait_until(|| Progress::of(listener).backlog > 0 || is_accepted(socket));
        }
    }
}

fn is_accepted(socket: c_int) -> bool {
    find_peer(socket).is_some()
}

/// The socket of this process that listens at `port`.
fn find_listener(port: u16) -> Option<c_int> {
    let mut found = None;
    socket::find_open(|other| {
        let listens = descriptor::look(other).kind == Kind::Socket
            && socket::is_listening(other)
            && socket::own_port(other) == Some(port);
        if listens {
            found = Some(other);
        }
        listens
    });
    found
}

/// Whether a connection attempt is over: the connection exists, or the attempt failed.
pub(super) fn is_made(socket: c_int) -> bool {
    Progress::of(socket).state != State::Connecting
}

/// Yields to the kernel until `done` returns true, but stops after [`LOOKS`] checks.
fn wait_until(done: impl Fn() -> bool) {
    for _ in 0..LOOKS {
        if done() {
            return;
        }
        // SAFETY: no arguments, no memory.
        unsafe { sys::syscall(number::SCHED_YIELD, [0; 6]) };
    }
}
