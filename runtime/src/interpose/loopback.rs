//! Makes TCP between two sockets of this process exact.
//!
//! What is sent over the loopback device arrives before the sender goes on, but
//! not under load: then a kernel thread delivers it later, and whether the peer
//! finds it would be up to that thread. So after each call that the peer may see,
//! the peer is waited for, until nothing is on its way any more.

use core::ffi::c_int;

use crate::base::memory::{EngineVec, engine_vec};
use crate::base::sys::{self, number};
use crate::engine::engine;
use crate::platform::descriptor::{self, Kind, POLLIN};
use crate::platform::socket::{self, Progress, State};

/// How often the peer is looked at before it is given up.
const LOOKS: u32 = 2_000;
/// So many milliseconds at most what was sent again is waited for.
const NAPS: u32 = 2_000;

/// Which sockets of this execution are each other's peers.
pub(crate) struct Links(EngineVec<Link>);

/// One socket, and where its peer was found.
#[derive(Clone, Copy)]
struct Link {
    socket: u64,
    /// The peer's descriptor and what names it; `None` for sockets of other kinds.
    peer: Option<(c_int, u64)>,
}

impl Links {
    pub(crate) const fn new() -> Self {
        Self(engine_vec())
    }

    /// Forgets all, for a new execution.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
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
    let links = unsafe { &mut (*engine()).process.links.0 };
    let known = links.iter().position(|link| link.socket == own.inode);
    if let Some(known) = known {
        match links[known].peer {
            None => return Peer(None),
            Some((peer, inode)) if descriptor::look(peer).inode == inode => {
                return Peer(Some(peer));
            }
            // Closed, or its duplicate remains: look again.
            Some(_) => {
                links.swap_remove(known);
            }
        }
    }
    let found = if socket::is_tcp(socket) {
        match find_peer(socket) {
            Some(found) => Some(found),
            // It may not be accepted yet.
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

/// The socket of this process whose ends are those of `socket`, the other way round.
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

/// As [`peer`], if `socket` is the last descriptor of its end.
pub(super) fn last_peer(socket: c_int) -> Peer {
    let peer = peer(socket);
    if peer.0.is_some() {
        let own = descriptor::look(socket).inode;
        let again = socket::find_open(|other| {
            let identity = descriptor::look(other);
            other != socket && identity.kind == Kind::Socket && identity.inode == own
        });
        if again {
            return Peer(None);
        }
    }
    peer
}

impl Peer {
    /// Waits until the peer knows that nothing more comes.
    pub(super) fn await_end(self) {
        if let Some(peer) = self.0 {
            wait_until(|| !Progress::of(peer).expects_more());
            socket::acknowledge(peer);
        }
    }
}

/// Waits until what was sent either way between `socket` and its peer has arrived.
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

/// Something that the peer sent was read: what it could not send for lack of room
/// comes now, and it is told how much has come, for it may wait to send more.
pub(super) fn made_room(socket: c_int) {
    if let Peer(Some(peer)) = peer(socket) {
        if Progress::of(peer).is_quiet() {
            return;
        }
        wait_until(|| {
            socket::acknowledge(socket);
            let (own, other) = (Progress::of(socket), Progress::of(peer));
            // What is still held back waits for more room, or for its time.
            let has_more = other.is_held_back() && descriptor::is_ready(socket, POLLIN);
            other.has_arrived_at(own) && (other.is_quiet() || has_more)
        });
        // What was refused for lack of room comes again when the kernel's timer says.
        for _ in 0..NAPS {
            if descriptor::is_ready(socket, POLLIN) || Progress::of(peer).is_quiet() {
                return;
            }
            sys::nap();
        }
    }
}

/// The end of what the peer sent was read: it is to know that now, for it tells
/// who watches it.
pub(super) fn read_to_end(socket: c_int) {
    if let Peer(Some(peer)) = peer(socket) {
        socket::acknowledge(socket);
        wait_until(|| Progress::of(peer).state != State::Ending);
    }
}

/// Waits until a socket that was just connected shows at its listener.
pub(super) fn connected(socket: c_int) {
    if let Some(port) = socket::peer_port(socket).filter(|_| socket::is_tcp(socket)) {
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

/// Whether a connection is not being made any more: it exists, or it failed.
pub(super) fn is_made(socket: c_int) -> bool {
    Progress::of(socket).state != State::Connecting
}

/// Lets the kernel work until `done`.
fn wait_until(done: impl Fn() -> bool) {
    for _ in 0..LOOKS {
        if done() {
            return;
        }
        // SAFETY: no arguments, no memory.
        unsafe { sys::syscall(number::SCHED_YIELD, [0; 6]) };
    }
}
