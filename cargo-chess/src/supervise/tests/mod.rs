//! Tests of the supervisor with misbehaving test binaries: scripts that speak the protocol.

pub(in crate::supervise) mod fake;
mod processes;
mod resume;
mod rounds;
mod runs;
