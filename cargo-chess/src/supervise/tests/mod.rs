//! Tests of the supervisor with test binaries that misbehave: shell scripts that speak the
//! protocol.

pub(in crate::supervise) mod fake;
mod processes;
mod resume;
mod rounds;
mod runs;
