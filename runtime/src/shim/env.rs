//! `std::env`: each use of the environment is announced as one operation, around the call of std.
//! The lock that std acquires in this call is not announced.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

pub use std::env::*;

use crate::interpose::{EnvironmentUse as Use, announced_environment as announced};

/// See [`std::env::var`].
///
/// # Errors
/// Those of the real function.
pub fn var<K: AsRef<OsStr>>(key: K) -> Result<String, VarError> {
    let key = key.as_ref();
    announced(Use::Read(key.as_encoded_bytes()), || std::env::var(key))
}

/// See [`std::env::var_os`].
#[must_use]
pub fn var_os<K: AsRef<OsStr>>(key: K) -> Option<OsString> {
    let key = key.as_ref();
    announced(Use::Read(key.as_encoded_bytes()), || std::env::var_os(key))
}

/// See [`std::env::vars`].
#[must_use]
pub fn vars() -> Vars {
    announced(Use::ReadAll, std::env::vars)
}

/// See [`std::env::vars_os`].
#[must_use]
pub fn vars_os() -> VarsOs {
    announced(Use::ReadAll, std::env::vars_os)
}

/// See [`std::env::set_var`].
///
/// # Safety
/// The requirements are those of the real function.
#[rustc_deprecated_safe_2024(
    audit_that = "the environment access only happens in single-threaded code"
)]
pub unsafe fn set_var<K: AsRef<OsStr>, V: AsRef<OsStr>>(key: K, value: V) {
    let (key, value) = (key.as_ref(), value.as_ref());
    // SAFETY: the caller upholds the requirements of the real function.
    let set = || unsafe { std::env::set_var(key, value) };
    announced(Use::Write(key.as_encoded_bytes()), set);
}

/// See [`std::env::remove_var`].
///
/// # Safety
/// The requirements are those of the real function.
#[rustc_deprecated_safe_2024(
    audit_that = "the environment access only happens in single-threaded code"
)]
pub unsafe fn remove_var<K: AsRef<OsStr>>(key: K) {
    let key = key.as_ref();
    // SAFETY: the caller upholds the requirements of the real function.
    let remove = || unsafe { std::env::remove_var(key) };
    announced(Use::Write(key.as_encoded_bytes()), remove);
}

/// See [`std::env::temp_dir`].
#[must_use]
pub fn temp_dir() -> PathBuf {
    announced(Use::Read(b"TMPDIR"), std::env::temp_dir)
}

/// See [`std::env::home_dir`].
#[must_use]
pub fn home_dir() -> Option<PathBuf> {
    announced(Use::Read(b"HOME"), std::env::home_dir)
}
