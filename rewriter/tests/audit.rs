//! Tests of the audit of a file: its imports and paths that refer to items under control.

use std::fmt::Write;

use rewriter::audit;

/// Returns a line for each entry of the audit.
fn list(text: &str) -> String {
    let mut lines = String::new();
    for reach in audit(text).unwrap() {
        let how = if reach.is_import { "import" } else { "path" };
        let (line, column, path) = (reach.line, reach.column, &reach.path);
        writeln!(
            lines,
            "{line}:{column} {how} {path}: {}",
            reach.meaning.treatment
        )
        .unwrap();
    }
    lines
}

#[test]
fn each_import_is_listed_with_its_meaning() {
    let text = "\
//! A file.
use std::cell::{Cell, UnsafeCell};
use std::collections::{HashMap, hash_map::RandomState};
use std::sync::{Arc, Condvar, Mutex, PoisonError, atomic::{AtomicBool, Ordering}, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use core::hint::spin_loop;
use alloc::alloc::{dealloc, Layout};
use std::{net::{SocketAddr, TcpStream}, process, ptr::{self, NonNull}};
use std::sync::{Barrier, LazyLock, RwLock};
use std::task::{Wake, Waker};
";
    let mut lines = String::new();
    for reach in audit(text).unwrap() {
        let line = format!("{} {}", reach.line, reach.path);
        writeln!(
            lines,
            "{line:40} {:10}  {}",
            reach.meaning.treatment, reach.meaning.words
        )
        .unwrap();
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn paths_are_listed_from_their_crate_or_an_imported_module() {
    let text = "\
use std::sync::{self, Mutex};
use std::{thread as t, sync::atomic};
fn f(m: &::std::sync::Mutex<u8>) -> sync::MutexGuard<'_, u8> {
    t::spawn(|| atomic::fence(atomic::Ordering::SeqCst));
    let x = Mutex::new(core::sync::atomic::AtomicU8::new(1));
    std::thread::sleep(std::time::Duration::ZERO);
    std::vec::Vec::new();
    return ::std::process::exit(1);
}
";
    assert_eq!(
        list(text),
        "\
1:17 import std::sync: redirected
1:23 import std::sync::Mutex: redirected
2:11 import std::thread: redirected
2:30 import std::sync::atomic: redirected
3:23 path std::sync::Mutex: redirected
3:43 path std::sync::MutexGuard: redirected
4:8 path std::thread::spawn: redirected
4:25 path std::sync::atomic::fence: redirected
5:54 path core::sync::atomic::AtomicU8::new: redirected
6:18 path std::thread::sleep: redirected
8:28 path std::process::exit: interposed
"
    );
}

#[test]
fn the_arguments_of_macros_are_listed() {
    let text = "\
cfg_if! { if #[cfg(x)] { use std::sync::Mutex; } else { use std::thread; fn f() { thread::park() } } }
macro_rules! m { () => { $crate::std::sync::Mutex; ::std::sync::Once::new() } }
thread_local! { static X: u8 = 1; }
";
    assert_eq!(
        list(text),
        "\
1:41 import std::sync::Mutex: redirected
1:66 import std::thread: redirected
1:91 path std::thread::park: redirected
2:71 path std::sync::Once::new: redirected
3:1 path std::thread_local: interposed
"
    );
}

#[test]
fn names_that_mean_something_else_are_not_listed() {
    let text = "\
use crate::sync::{thread, Mutex};
use loom::sync::atomic;
mod alloc { pub fn alloc() {} }
fn f() { thread::spawn(); atomic::fence(); alloc::alloc::alloc(); a.std::sync; x::std::thread::spawn() }
mod inner { fn g() { thread::spawn() } use std::thread; fn h() { thread::spawn() } }
";
    assert_eq!(
        list(text),
        "\
5:30 path std::thread::spawn: redirected
5:49 import std::thread: redirected
5:74 path std::thread::spawn: redirected
"
    );
}

#[test]
fn text_that_is_no_rust_is_an_error() {
    assert!(audit("fn f( {").is_err());
}
