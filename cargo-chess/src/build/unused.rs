//! Removes unused runtimes from a cache. Each version of this program and each version of rustc
//! has its own runtime.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use camino::Utf8Path;

use super::runtime::{COMPLETE, lock_path};

/// The time without use after which a runtime is removed.
const LONG: Duration = Duration::from_hours(24 * 60);

/// Records that the runtime `key` is used now. An error is ignored: if the time of the last use
/// cannot be written, the cache is read-only, and no runtime is removed from it.
pub(super) fn mark_used(cache: &Utf8Path, key: &str) {
    if let Ok(lock) = File::options().write(true).open(lock_path(cache, key)) {
        let _ = lock.set_modified(SystemTime::now());
    }
}

/// Removes the runtimes that were not used for [`LONG`] before `now`, except those that are being
/// built.
pub(super) fn remove(cache: &Utf8Path, now: SystemTime) {
    for entry in cache.read_dir_utf8().into_iter().flatten().flatten() {
        let (dir, key) = (entry.path(), entry.file_name());
        let lock = lock_path(cache, key);
        let is_unused = dir.join(COMPLETE).is_file()
            && fs::metadata(&lock)
                .and_then(|lock| lock.modified())
                .is_ok_and(|used| now.duration_since(used).is_ok_and(|since| since > LONG));
        if !is_unused {
            continue;
        }
        if let Ok(file) = File::open(&lock)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(dir);
            let _ = fs::remove_file(&lock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_not_used_for_long_are_removed_and_nothing_else() {
        let cache = tempfile::tempdir().expect("a temporary directory");
        let cache = Utf8Path::from_path(cache.path()).expect("a UTF-8 path");
        for key in ["unused", "used", "building", "foreign"] {
            fs::create_dir(cache.join(key)).expect("writable");
            fs::write(lock_path(cache, key), "").expect("writable");
            if key != "foreign" {
                fs::write(cache.join(key).join(COMPLETE), "").expect("writable");
            }
        }
        let now = SystemTime::now();
        let built = File::options()
            .write(true)
            .open(lock_path(cache, "building"))
            .expect("it is there");
        built.lock().expect("no other owner is left");
        remove(cache, now + LONG / 2);
        assert!(cache.join("unused").exists());
        for key in ["unused", "building", "foreign"] {
            let lock = File::options().write(true).open(lock_path(cache, key));
            let old = lock.expect("it is there").set_modified(now - 2 * LONG);
            old.expect("writable");
        }
        mark_used(cache, "used");
        remove(cache, now);
        let left = ["used", "building", "foreign"].map(|key| cache.join(key).exists());
        assert_eq!(left, [true; 3]);
        assert!(!cache.join("unused").exists());
        assert!(!lock_path(cache, "unused").exists());
    }
}
