//! The times of files follow the virtual clock.

use std::fs::File;
use std::time::{Duration, SystemTime};

use end_to_end::Workspace;

const TESTS: &str = r#"
#![cfg(all(test, unix))]
use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

/// Returns a path for a file of a test's own.
fn path(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(name);
    _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    directory.join("file")
}

fn modified(path: &Path) -> SystemTime {
    path.metadata().unwrap().modified().unwrap()
}

fn changed(path: &Path) -> SystemTime {
    let found = path.symlink_metadata().unwrap();
    let since = Duration::new(found.ctime() as u64, found.ctime_nsec() as u32);
    SystemTime::UNIX_EPOCH + since
}

fn append(path: &Path) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(b"x").unwrap();
}

#[test]
fn new_file() {
    let path = path("new_file");
    let before = SystemTime::now();
    thread::scope(|scope| _ = scope.spawn(|| fs::write(&path, "x").unwrap()));
    let found = path.metadata().unwrap();
    let after = SystemTime::now();
    for time in [found.created(), found.modified(), found.accessed()] {
        assert!((before..after).contains(&time.unwrap()));
    }
    let opened = File::open(&path).unwrap().metadata().unwrap();
    assert!(found.modified().unwrap().elapsed().unwrap() < Duration::from_secs(1));
    assert_eq!(found.modified().unwrap(), opened.modified().unwrap());
    thread::sleep(Duration::from_secs(3600));
    assert!(modified(&path).elapsed().unwrap() > Duration::from_secs(3600));
}

#[test]
fn each_change() {
    let file = path("each_change");
    fs::write(&file, "x").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let bytes: [&dyn Fn(); 4] = [
                &|| append(&file),
                &|| fs::write(&file, "y").unwrap(),
                &|| File::options().write(true).open(&file).unwrap().set_len(9).unwrap(),
                &|| _ = fs::copy(file!(), &file).unwrap(),
            ];
            for change in bytes {
                let (before, created) = (modified(&file), file.metadata().unwrap().created().unwrap());
                change();
                assert!(modified(&file) > before);
                assert!(changed(&file) >= modified(&file));
                assert_eq!(file.metadata().unwrap().created().unwrap(), created);
            }
            let other = file.with_extension("other");
            let attributes: [&dyn Fn(); 3] = [
                &|| fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap(),
                &|| fs::hard_link(&file, &other).unwrap(),
                &|| fs::remove_file(&other).unwrap(),
            ];
            for change in attributes {
                let (before, bytes) = (changed(&file), modified(&file));
                change();
                assert!(changed(&file) > before);
                assert_eq!(modified(&file), bytes);
            }
        });
    });
}

#[test]
fn directories() {
    let file = path("directories");
    let directory = file.parent().unwrap();
    let (second, below) = (directory.join("second"), directory.join("below"));
    thread::scope(|scope| {
        scope.spawn(|| {
            let changes: [&dyn Fn(); 6] = [
                &|| fs::write(&file, "x").unwrap(),
                &|| fs::create_dir(&below).unwrap(),
                &|| fs::rename(&file, &second).unwrap(),
                &|| symlink(&second, &file).unwrap(),
                &|| fs::remove_file(&file).unwrap(),
                &|| fs::rename(&second, below.join("file")).unwrap(),
            ];
            for change in changes {
                let before = modified(directory);
                change();
                assert!(modified(directory) > before);
            }
            // Entries of a directory below it, and bytes of files, are no changes of the directory.
            let before = modified(directory);
            append(&below.join("file"));
            fs::write(below.join("other"), "x").unwrap();
            assert_eq!(modified(directory), before);
            assert!(modified(&below) > before);
        });
    });
}

#[test]
fn set_times() {
    let path = path("set_times");
    let file = File::create(&path).unwrap();
    let created = file.metadata().unwrap().created().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (day, start) = (Duration::from_secs(86_400), SystemTime::UNIX_EPOCH);
            let nanos = Duration::from_nanos(123_456_789);
            for time in [start, start - day + nanos, start + 400 * 365 * day, SystemTime::now() + day] {
                let before = changed(&path);
                file.set_times(FileTimes::new().set_accessed(start + nanos).set_modified(time)).unwrap();
                assert_eq!(modified(&path), time);
                assert_eq!(file.metadata().unwrap().accessed().unwrap(), start + nanos);
                assert_eq!(file.metadata().unwrap().created().unwrap(), created);
                assert!(changed(&path) > before);
            }
            file.set_modified(start).unwrap();
            assert_eq!(file.metadata().unwrap().accessed().unwrap(), start + nanos);
            let before = SystemTime::now();
            append(&path);
            assert!(modified(&path) > before);
            assert!(Command::new("touch").arg(&path).status().unwrap().success());
        });
    });
}

/// Files that are older than the execution keep their order.
#[test]
fn old_files() {
    let now = SystemTime::now();
    thread::scope(|scope| _ = scope.spawn(|| ()));
    let [oldest, old, new, future] = ["oldest", "old", "new", "future"].map(|name| modified(Path::new(name)));
    assert_eq!(oldest, SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    assert!(oldest < old && old < new && new < future && future < now);
    let created = Path::new("old").metadata().unwrap().created();
    assert!(created.is_err() || created.unwrap() < now);
}

#[test]
fn child_process() {
    let path = path("child_process");
    thread::scope(|scope| {
        scope.spawn(|| {
            let before = SystemTime::now();
            let run = |command: &str, path: &Path| {
                let status = Command::new("sh").args(["-c", command]).arg(path).status();
                assert!(status.unwrap().success());
            };
            run("echo x > $0", &path);
            let first = modified(&path);
            assert!(before < first && first < SystemTime::now());
            assert_eq!(modified(&path), first);
            run("touch -d 2001-09-09T01:46:40Z $0", &path);
            assert_eq!(modified(&path), SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
            run("touch $0", &path);
            assert!(modified(&path) > first);
            run("echo x > $0", Path::new("written"));
            assert!(modified(Path::new("written")) > before);
        });
    });
}

unsafe extern "C" {
    fn mmap(at: *mut u8, size: usize, protection: i32, flags: i32, file: i32, offset: i64) -> *mut u8;
}

#[test]
fn mapped_file() {
    let before = SystemTime::now();
    let file = File::options().read(true).write(true).open("mapped").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let bytes = unsafe { mmap(std::ptr::null_mut(), 4096, 3, 1, file.as_raw_fd(), 0) };
            thread::sleep(Duration::from_millis(1));
            unsafe { *bytes = b'y' };
        });
    });
    assert!(file.metadata().unwrap().modified().unwrap() > before);
}

/// A task breaks the lock of another task if the lock file is older than a second.
fn stale_lock(name: &str, limit: Duration) {
    let path = path(name);
    thread::scope(|scope| {
        let (path, created) = (&path, File::create_new(&path).unwrap());
        scope.spawn(move || {
            thread::sleep(Duration::from_secs(3));
            assert!(created.metadata().unwrap().nlink() == 1, "the lock was broken");
            fs::remove_file(path).unwrap();
        });
        scope.spawn(move || loop {
            match path.metadata() {
                Err(_) => break,
                Ok(found) if found.modified().unwrap().elapsed().unwrap() > limit => {
                    fs::remove_file(path).unwrap();
                    break;
                }
                Ok(_) => thread::sleep(Duration::from_millis(500)),
            }
        });
    });
}

#[test]
fn stale_lock_buggy() {
    stale_lock("buggy", Duration::from_secs(1));
}

#[test]
fn stale_lock_fixed() {
    stale_lock("fixed", Duration::from_secs(60));
}

/// A watcher sees each change by the time of the file.
#[test]
fn watcher() {
    let path = path("watcher");
    fs::write(&path, "0").unwrap();
    thread::scope(|scope| {
        let first = modified(&path);
        scope.spawn(|| fs::write(&path, "1").unwrap());
        while modified(&path) == first {
            thread::sleep(Duration::from_millis(1));
        }
    });
}
"#;

#[test]
fn the_times_of_files_follow_the_virtual_clock() {
    let workspace = Workspace::with_library(TESTS);
    for (name, age) in [
        ("oldest", None),
        ("old", Some(3600 * 24 * 30)),
        ("new", Some(3600)),
        ("future", Some(0)),
        ("written", Some(10)),
        ("mapped", Some(10)),
    ] {
        workspace.write(name, &" ".repeat(4096));
        let seconds = Duration::from_secs;
        let time = match age {
            None => SystemTime::UNIX_EPOCH + seconds(1_000_000_000),
            Some(0) => SystemTime::now() + seconds(3600),
            Some(age) => SystemTime::now() - seconds(age),
        };
        let file = File::options()
            .write(true)
            .open(workspace.root().join(name));
        file.unwrap().set_modified(time).unwrap();
    }
    for arguments in [
        &["--strategy=auto"][..],
        &["--backend=threads", "--strategy=icb"],
        &["--isolate=fork", "--strategy=random"],
    ] {
        let limits = ["--schedules=100", "--keep-going", "--no-fail-fast"];
        let format = ["--timing=allow", "--message-format=json"];
        let run = workspace
            .chess(&[&["test"], &limits[..], &format, arguments].concat())
            .run();
        assert!(!run.stderr.contains("determinis"), "{}", run.stderr);
        for (test, verdict) in run.verdicts_by_name() {
            let expected = if test == "stale_lock_buggy" {
                "failed"
            } else {
                "passed"
            };
            assert_eq!(verdict["outcome"], expected, "{arguments:?}: {verdict}");
        }
    }
}
