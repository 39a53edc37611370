//! The results of calls that the search lets fail. The kinds of faults are in
//! `vocabulary/src/fault.rs`, and the choice is in `execution/fault_choice.rs`.

use core::ffi::c_int;

use chess_vocabulary::Fault;

use super::connection;
use crate::base::sys;
use crate::execution::fault_of;
use crate::platform::{descriptor::Kind, socket};

const EINTR: isize = 4;
const EIO: isize = 5;
const ENOSPC: isize = 28;
const ECONNRESET: isize = 104;
const ETIMEDOUT: isize = 110;
const ECONNREFUSED: isize = 111;
/// The argument of `shutdown` that ends both directions of a connection.
const BOTH: c_int = 2;

/// The number of standard streams, which have the lowest descriptors. The search lets no call on
/// them fail, because no program expects that.
const STREAMS: c_int = 3;

/// The negative error number that a system call returns for `fault`.
fn error(fault: Fault) -> isize {
    match fault {
        Fault::NoSpace => -ENOSPC,
        Fault::Sync | Fault::Rename => -EIO,
        Fault::Interrupted => -EINTR,
        Fault::Refused => -ECONNREFUSED,
        Fault::TimedOut => -ETIMEDOUT,
        Fault::Reset => -ECONNRESET,
        Fault::Spawn | Fault::Process => -(sys::EAGAIN as isize),
        // No system call fails in this way.
        Fault::Allocation => -(sys::ENOMEM as isize),
        Fault::Short => 0,
    }
}

/// Lets the search choose whether the current call fails by `fault`. Returns the result of a
/// failing call (a negative error number), or `None` if the call must do its work.
pub(super) fn fails(fault: Fault) -> Option<isize> {
    fails_in(&[fault])
}

/// Does the same as [`fails`], for a call that may fail by any of `faults`.
pub(super) fn fails_in(faults: &[Fault]) -> Option<isize> {
    fault_of(faults).map(error)
}

/// The direction of a transfer of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Read,
    Write,
}

/// Lets the search choose a fault for a call that transfers `length` bytes, or a list of `length`
/// buffers. Returns the number of bytes or buffers that the call may transfer: `length`, or half
/// of it for a short transfer. For a reset connection, also shuts down the socket.
///
/// # Errors
/// If the call must fail, returns the result of the call (a negative error number).
pub(super) fn transfer(
    descriptor: c_int,
    kind: Kind,
    direction: Direction,
    length: usize,
) -> Result<usize, isize> {
    if descriptor < STREAMS {
        return Ok(length);
    }
    let mut faults = [Fault::Interrupted; 3];
    let mut count = 1;
    let mut add = |fault, is_possible| {
        if is_possible {
            faults[count] = fault;
            count += 1;
        }
    };
    // A datagram is transferred as a whole.
    let is_stream = kind != Kind::Socket || socket::is_stream(descriptor);
    add(Fault::Short, length > 1 && is_stream);
    match kind {
        Kind::File => add(Fault::NoSpace, direction == Direction::Write),
        Kind::Socket => add(Fault::Reset, is_stream),
        _ => {}
    }
    match fault_of(&faults[..count]) {
        None => Ok(length),
        Some(Fault::Short) => Ok(length / 2),
        Some(fault) => {
            if fault == Fault::Reset {
                // The peer, and later calls on this descriptor, find a connection that has ended.
                // SAFETY: no memory is passed.
                unsafe { connection::shutdown(descriptor, BOTH) };
            }
            Err(error(fault))
        }
    }
}
