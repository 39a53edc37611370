//! Accesses of the kernel to memory of the program, in calls that transfer bytes.

use end_to_end::Workspace;

/// Pairs of a program whose buffer the kernel and another task access, and its corrected version.
/// Raw pointers are used because references would count as accesses.
const PROGRAM: &str = r#"
#![cfg(test)]
use std::cell::UnsafeCell;
use std::fs::File;
use std::io::pipe;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::sync::Mutex;
use std::thread;

#[repr(C)]
struct Part(*mut u8, usize);

unsafe extern "C" {
    fn read(file: i32, out: *mut u8, length: usize) -> isize;
    fn write(file: i32, bytes: *const u8, length: usize) -> isize;
    fn pread(file: i32, out: *mut u8, length: usize, at: i64) -> isize;
    fn pwrite(file: i32, bytes: *const u8, length: usize, at: i64) -> isize;
    fn readv(file: i32, parts: *const Part, count: i32) -> isize;
    fn writev(file: i32, parts: *const Part, count: i32) -> isize;
    fn recv(socket: i32, out: *mut u8, length: usize, flags: i32) -> isize;
    fn send(socket: i32, bytes: *const u8, length: usize, flags: i32) -> isize;
}

struct Buffer(UnsafeCell<[u8; 4]>);

unsafe impl Sync for Buffer {}

impl Buffer {
    fn new() -> Self {
        Self(UnsafeCell::new([0; 4]))
    }

    fn at(&self) -> *mut u8 {
        self.0.get().cast()
    }
}

/// Performs `transfer` beside `own`, with a lock around both if `is_locked`.
fn beside(is_locked: bool, transfer: impl Fn(*mut u8) -> isize + Sync, own: impl Fn(*mut u8)) {
    let (buffer, lock) = (Buffer::new(), Mutex::new(()));
    let take = || is_locked.then(|| lock.lock().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            let _held = take();
            assert!(transfer(buffer.at()) > 0);
        });
        let _held = take();
        own(buffer.at());
    });
}

fn read_it(buffer: *mut u8) {
    assert!(unsafe { buffer.add(1).read() } < 5);
}

fn write_it(buffer: *mut u8) {
    unsafe { buffer.add(1).write(3) };
}

macro_rules! pairs {
    ($($name:ident, $transfer:expr, $own:expr;)*) => {
        $(
            mod $name {
                use super::*;

                #[test]
                fn racing() {
                    beside(false, $transfer, $own);
                }

                #[test]
                fn locked() {
                    beside(true, $transfer, $own);
                }
            }
        )*
    };
}

fn in_file(transfer: impl Fn(i32) -> isize) -> isize {
    let path = std::env::temp_dir().join("zeros");
    std::fs::write(&path, [0; 4]).unwrap();
    transfer(File::options().read(true).write(true).open(path).unwrap().as_raw_fd())
}

fn in_pipe(transfer: impl Fn(i32, i32) -> isize) -> isize {
    let (reader, writer) = pipe().unwrap();
    let writer = writer.as_raw_fd();
    unsafe { write(writer, [1; 4].as_ptr(), 4) };
    transfer(reader.as_raw_fd(), writer)
}

fn in_socket(transfer: impl Fn(i32, i32) -> isize) -> isize {
    let (one, other) = UnixDatagram::pair().unwrap();
    one.send(&[0; 4]).unwrap();
    transfer(one.as_raw_fd(), other.as_raw_fd())
}

pairs! {
    file_read, |at| in_file(|file| unsafe { read(file, at, 4) }), read_it;
    file_pread, |at| in_file(|file| unsafe { pread(file, at, 4, 0) }), read_it;
    file_write, |at| in_file(|file| unsafe { write(file, at, 4) }), write_it;
    file_pwrite, |at| in_file(|file| unsafe { pwrite(file, at, 4, 0) }), write_it;
    pipe_read, |at| in_pipe(|reader, _| unsafe { read(reader, at, 4) }), read_it;
    pipe_write, |at| in_pipe(|_, writer| unsafe { write(writer, at, 4) }), write_it;
    pipe_readv, |at| in_pipe(|reader, _| unsafe {
        readv(reader, [Part(at, 1), Part(at.add(1), 1)].as_ptr(), 2)
    }), read_it;
    pipe_writev, |at| in_pipe(|_, writer| unsafe {
        writev(writer, [Part(at, 1), Part(at.add(1), 1)].as_ptr(), 2)
    }), write_it;
    socket_send, |at| in_socket(|one, _| unsafe { send(one, at, 4, 0) }), write_it;
    socket_recv, |at| in_socket(|_, other| unsafe { recv(other, at, 4, 0) }), read_it;
}

/// A read does not write to the rest of the buffer, nor does a write change it.
#[test]
fn short_read() {
    let short = |at| in_pipe(|reader, _| unsafe { read(reader, at, 1) });
    beside(false, short, read_it);
}

#[test]
fn both_read() {
    beside(false, |at| in_pipe(|_, writer| unsafe { write(writer, at, 4) }), read_it);
}

/// The pipe orders the accesses to the buffer that one task hands to the other.
#[test]
fn handed_over() {
    let buffer = Buffer::new();
    let (reader, writer) = pipe().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| unsafe { write(writer.as_raw_fd(), buffer.at(), 4) });
        let mut first = [9; 4];
        assert_eq!(unsafe { read(reader.as_raw_fd(), first.as_mut_ptr(), 4) }, 4);
        write_it(buffer.at());
    });
}

/// The same, in the other direction: the kernel writes after the order is established.
#[test]
fn read_into_the_handed_buffer() {
    let buffer = Buffer::new();
    let (reader, writer) = pipe().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            write_it(buffer.at());
            unsafe { write(writer.as_raw_fd(), [1; 4].as_ptr(), 4) }
        });
        assert_eq!(unsafe { read(reader.as_raw_fd(), buffer.at(), 4) }, 4);
    });
}
"#;

#[test]
fn accesses_of_the_kernel_for_a_task_are_watched() {
    let workspace = Workspace::with_library(PROGRAM);
    let args = ["test", "--no-fail-fast", "--message-format=json"];
    let run = workspace.chess(&args).run();
    run.assert_code(100);
    let verdicts = run.verdicts();
    assert_eq!(verdicts.len(), 24);
    for verdict in verdicts {
        let is_racing = verdict["test"].as_str().unwrap().ends_with("racing");
        let kind = is_racing.then_some("race");
        assert_eq!(verdict["kind"].as_str(), kind, "{verdict}");
    }
}
