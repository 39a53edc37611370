//! The work that libc does for its threads. The runtime does the same work for tasks.

use super::{credentials, robust, thread_locals};
use crate::execution::ThreadWork;

/// Does for each task the work that libc does for a thread.
pub(crate) struct TaskThreads;

impl ThreadWork for TaskThreads {
    fn continues(&self) {
        credentials::follow();
    }

    fn ends(&self) {
        thread_locals::run_thread_destructors();
        robust::give_up();
    }
}
