//! Facts about executions, and their computation: the holders of locks, neighbouring schedules,
//! equal objects of two executions.

mod align;
mod explanation;
mod locks;
pub(crate) mod neighbours;

pub(crate) use align::align;
pub(crate) use explanation::{Detail, Explanation, Passing};
pub(crate) use locks::{Locks, Waiting};
