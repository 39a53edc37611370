//! The paths of source files in reports. They do not contain the directories of this machine.

/// The path of a source file in reports. Files of the workspace keep their paths. The paths of
/// dependencies begin with the directory of the package, and those of the standard library with
/// `library`.
pub(crate) fn source_path(path: &str) -> String {
    let portable = path.replace('\\', "/");
    // CARGO_HOME/registry/src/INDEX/NAME-VERSION/..., CARGO_HOME/git/checkouts/NAME-HASH/REV/...
    if let Some(rest) = after(&portable, "/registry/src/", 1) {
        return rest.to_owned();
    }
    if let Some((_, rest)) = portable.split_once("/git/checkouts/") {
        let mut parts = rest.splitn(3, '/');
        if let (Some(name), Some(_), Some(file)) = (parts.next(), parts.next(), parts.next()) {
            let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
            return format!("{name}/{file}");
        }
    }
    if let Some(rest) = after(&portable, "/rustc/", 1) {
        return rest.to_owned();
    }
    if let Some((_, rest)) = portable.split_once("/lib/rustlib/src/rust/") {
        return rest.to_owned();
    }
    portable
}

/// `text`, in which each path of a source file of the standard library, or of a dependency from a
/// registry or a git repository, is replaced by its [`source_path`].
pub(crate) fn with_source_paths(text: &str) -> String {
    const MARKS: [&str; 4] = [
        "/registry/src/",
        "/git/checkouts/",
        "/rustc/",
        "/lib/rustlib/src/rust/",
    ];
    text.split_inclusive([' ', '\n'])
        .map(|word| match word.find('/') {
            Some(at) if MARKS.iter().any(|mark| word.contains(mark)) => {
                format!("{}{}", &word[..at], source_path(&word[at..]))
            }
            _ => word.to_owned(),
        })
        .collect()
}

/// The part of the path after `marker` and the next `skip` directories.
fn after<'a>(path: &'a str, marker: &str, skip: usize) -> Option<&'a str> {
    let (_, rest) = path.split_once(marker)?;
    rest.splitn(skip + 1, '/').nth(skip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_without_parts_that_are_particular_to_a_machine() {
        for (path, shown) in [
            ("src/lib.rs", "src/lib.rs"),
            (r"crates\a\src\lib.rs", "crates/a/src/lib.rs"),
            (
                "/home/u/.cargo/registry/src/index-0123456789abcdef/stm-0.2.3/src/a/b.rs",
                "stm-0.2.3/src/a/b.rs",
            ),
            (
                "/home/u/.cargo/git/checkouts/my-queue-0123abcd/89ef/src/lib.rs",
                "my-queue/src/lib.rs",
            ),
            (
                "/rustc/5980761/library/std/src/thread.rs",
                "library/std/src/thread.rs",
            ),
            (
                "/home/u/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/lib.rs",
                "library/core/src/lib.rs",
            ),
        ] {
            assert_eq!(source_path(path), shown);
        }
        assert_eq!(
            with_source_paths(
                "stuck at /h/.cargo/registry/src/i-1/lock-1.0.0/src/raw.rs:104, held since src/lib.rs:7"
            ),
            "stuck at lock-1.0.0/src/raw.rs:104, held since src/lib.rs:7"
        );
    }
}
