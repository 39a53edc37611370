//! The work of libc for its threads, done for tasks.

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
