//! The panic hook. Each panic reads the hook. A change of the hook waits until no task runs the
//! hook.

use std::panic::PanicHookInfo;

use crate::execution::{self, Op};
use crate::monitor;

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send + 'static>;

#[track_caller]
pub fn set_hook(hook: Hook) {
    let hook: Hook = Box::new(move |info| monitor::run_hook(info, &*hook));
    execution::change_hook(Op::SetHook, || std::panic::set_hook(hook));
}

#[track_caller]
pub fn take_hook() -> Hook {
    execution::change_hook(Op::TakeHook, std::panic::take_hook)
}
