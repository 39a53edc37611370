//! Parses git's diffs: the changed files, and the current numbers of their changed lines.

use std::collections::BTreeMap;

/// The changes since a commit. Paths are relative to the repository's root.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Changes {
    /// The tracked files that differ from the commit, including deleted ones.
    pub(super) files: Vec<String>,
    /// For each text file, the current numbers of its changed lines: new lines, and the lines next
    /// to deleted ones.
    pub(super) lines: BTreeMap<String, Vec<u32>>,
    /// Files that git does not track.
    pub(super) untracked: Vec<String>,
}

/// The names in a list separated by zero bytes.
pub(super) fn names(text: &str) -> Vec<String> {
    let names = text.split('\0').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// The changed lines of each file in `diff`, which must be a diff without context, with `b/`
/// before the new names of files.
pub(super) fn lines(diff: &str) -> BTreeMap<String, Vec<u32>> {
    let mut changed = BTreeMap::<String, Vec<u32>>::new();
    let mut file = None;
    // The number of remaining lines of the hunk. These lines are not headers, whatever their first
    // characters are.
    let mut content = 0;
    for line in diff.lines() {
        if content > 0 {
            // `\ No newline at end of file` is not counted.
            content -= u32::from(!line.starts_with('\\'));
        } else if let Some(name) = line.strip_prefix("+++ ") {
            // A name with spaces is followed by a tab.
            let name = name.strip_prefix("b/");
            file = name.map(|name| name.trim_end_matches('\t').to_owned());
        } else if let Some(((_, removed), (first, count))) = hunk(line) {
            content = removed + count;
            if let Some(file) = &file {
                let lines = changed.entry(file.clone()).or_default();
                match count {
                    // Lines were deleted between the lines `first` and `first + 1`.
                    0 => lines.extend([first, first + 1].into_iter().filter(|line| *line > 0)),
                    _ => lines.extend(first..first + count),
                }
            }
        }
    }
    changed
}

/// Parses the header of a hunk, such as `@@ -1,2 +3,4 @@`. Returns the first line and the number
/// of lines before the change, and the same two numbers after the change.
fn hunk(line: &str) -> Option<((u32, u32), (u32, u32))> {
    let (before, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (after, _) = rest.split_once(" @@")?;
    let range = |text: &str| match text.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    Some((range(before)?, range(after)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_those_of_the_file_as_it_is_now() {
        let diff = "\
diff --git a/src/lib.rs b/src/lib.rs
index 1..2 100644
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -3,2 +3,3 @@ fn f() {
--- a removed line that looks like a header
-    b
+++ b/not a header
+    y
+    z
@@ -20,2 +21,0 @@
-gone
-gone too
@@ -30 +30 @@
-old
\\ No newline at end of file
+new
diff --git a/with space.rs b/with space.rs
--- a/with space.rs\t
+++ b/with space.rs\t
@@ -0,0 +1,2 @@
+one
+two
diff --git a/deleted.rs b/deleted.rs
--- a/deleted.rs
+++ /dev/null
@@ -1,2 +0,0 @@
-one
-two
diff --git a/picture.png b/picture.png
Binary files a/picture.png and b/picture.png differ
";
        let found = lines(diff);
        assert_eq!(found["src/lib.rs"], [3, 4, 5, 21, 22, 30]);
        assert_eq!(found["with space.rs"], [1, 2]);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn names_may_hold_anything_but_a_zero_byte() {
        assert_eq!(names("a b\0c\nd\0"), ["a b", "c\nd"]);
        assert_eq!(names(""), [""; 0]);
    }
}
