//! Reads the files and directories of `/proc`, which the kernel generates.

use core::ffi::{CStr, c_int};
use std::io::Write as _;

use super::descriptor::close;
use crate::base::sys::{self, number};

const AT_FDCWD: usize = (-100_isize).cast_unsigned();

/// Calls `visit` with the numbers that are names in the directory `path`, from `first` on, until
/// `visit` returns `true`. Returns whether `visit` returned `true`. `path` ends in a zero. The
/// descriptor of the directory itself is left out.
pub(crate) fn find_number(path: &[u8], first: c_int, mut visit: impl FnMut(c_int) -> bool) -> bool {
    const O_RDONLY_DIRECTORY_CLOEXEC: usize = 0o2_200_000;
    /// The offset of the length in an entry.
    const LENGTH_AT: usize = 16;
    /// The offset of the name in an entry.
    const NAME_AT: usize = 19;
    let mut buffer = [0u64; 256];
    let (from, at) = (path.as_ptr() as usize, &raw mut buffer as usize);
    let mut found = false;
    // SAFETY: the path ends in a zero; the kernel fills the buffer with whole entries, each of
    // which has its length, and a name that ends in a zero.
    unsafe {
        let arguments = [AT_FDCWD, from, O_RDONLY_DIRECTORY_CLOEXEC, 0, 0, 0];
        let directory = sys::syscall(number::OPENAT, arguments);
        if directory < 0 {
            return false;
        }
        // The position of the entry of a descriptor is its number plus two: `.` and `..` come
        // first. In other directories, `first` is 0.
        let position = first as usize + 2;
        sys::syscall(number::LSEEK, [directory as usize, position, 0, 0, 0, 0]);
        loop {
            let arguments = [directory as usize, at, size_of_val(&buffer), 0, 0, 0];
            let end = sys::syscall(number::GETDENTS64, arguments);
            if end <= 0 || found {
                break;
            }
            let mut entry = at;
            while entry < at + end as usize && !found {
                let name = (entry + NAME_AT) as *const u8;
                let number = parse_number(CStr::from_ptr(name.cast()).to_bytes());
                if let Some(number) = number.filter(|&it| it >= first && it as isize != directory) {
                    found = visit(number);
                }
                entry += usize::from(*((entry + LENGTH_AT) as *const u16));
            }
        }
        close(directory as c_int);
    }
    found
}

/// Calls `visit` with each line of the file `path`. `path` ends in a zero. Only the first 256 bytes
/// of a line are passed. Does nothing if the file cannot be opened.
pub(crate) fn for_each_line(path: &[u8], visit: impl FnMut(&[u8])) {
    for_each_part(path, b'\n', visit);
}

/// As [`for_each_line`], for parts that end with the byte `end`.
pub(super) fn for_each_part(path: &[u8], end: u8, mut visit: impl FnMut(&[u8])) {
    const O_RDONLY_CLOEXEC: usize = 0o2_000_000;
    let mut part = [0u8; 256];
    let mut length = 0;
    let mut buffer = [0u8; 2048];
    let (from, at) = (path.as_ptr() as usize, &raw mut buffer as usize);
    // SAFETY: the path ends in a zero, and the buffer has the given length.
    unsafe {
        let arguments = [AT_FDCWD, from, O_RDONLY_CLOEXEC, 0, 0, 0];
        let file = sys::syscall(number::OPENAT, arguments);
        if file < 0 {
            return;
        }
        loop {
            let arguments = [file as usize, at, buffer.len(), 0, 0, 0];
            let count = sys::syscall(number::READ, arguments);
            if count <= 0 {
                break;
            }
            for &byte in &buffer[..count as usize] {
                if byte == end {
                    visit(&part[..length]);
                    length = 0;
                } else if length < part.len() {
                    part[length] = byte;
                    length += 1;
                }
            }
        }
        close(file as c_int);
    }
}

/// Parses the digits at the start of `text`. `None` if there are none, or too many.
pub(crate) fn parse_number(text: &[u8]) -> Option<c_int> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let mut number = None;
    for &digit in digits {
        let value = number.unwrap_or(0_i32).checked_mul(10)?;
        number = Some(value.checked_add(i32::from(digit - b'0'))?);
    }
    number
}

/// A path below `/proc`, with a final zero.
pub(super) fn path(parts: core::fmt::Arguments<'_>) -> [u8; 64] {
    let mut path = [0; 64];
    let mut room = &mut path[..63];
    let written = write!(room, "/proc/{parts}");
    debug_assert!(written.is_ok(), "there is room for two numbers");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernel() {
        assert_eq!(parse_number(b"120 events"), Some(120));
        assert_eq!(parse_number(b"."), None);
        let own = std::process::id().cast_signed();
        let threads = path(format_args!("{own}/task"));
        assert!(find_number(&threads, 0, |thread| thread == own));
        assert!(!find_number(&threads, 0, |thread| thread == 1));
    }
}
