//! Differences of texts, as unified diffs.

use std::fmt::Write;

/// The number of lines of context around a difference.
const CONTEXT: usize = 2;

/// The highest number of pairs of lines that are compared. If there are more, all lines between
/// the common start and end count as different.
const MOST: usize = 16_000_000;

/// A line of a diff.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The differences between two texts with the same number of lines. Each line corresponds to the
/// line with the same number.
pub(super) fn of_lines(name: &str, old: &str, new: &str) -> String {
    let pairs = old.lines().zip(new.lines());
    let lines: Vec<_> = pairs
        .flat_map(|(old, new)| {
            if old == new {
                vec![Line::Same(old)]
            } else {
                vec![Line::Old(old), Line::New(new)]
            }
        })
        .collect();
    unified(name, name, &lines)
}

/// The differences between any two texts.
pub(super) fn of_texts(old_name: &str, old: &str, new_name: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = rest.take_while(|(a, b)| a == b).count();
    let mut lines: Vec<_> = old[..head].iter().map(|line| Line::Same(line)).collect();
    lines.extend(middle(
        &old[head..old.len() - tail],
        &new[head..new.len() - tail],
    ));
    lines.extend(old[old.len() - tail..].iter().map(|line| Line::Same(line)));
    unified(old_name, new_name, &lines)
}

/// The lines of a diff for the parts of two texts between their common start and end. Lines are
/// matched by the longest common subsequence.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let (mut i, mut j) = (0, 0);
    if old.len().saturating_mul(new.len()) <= MOST {
        // For each pair (i, j), the length of the longest common subsequence of the old lines from
        // i on and the new lines from j on.
        let width = new.len() + 1;
        let mut common = vec![0_u32; (old.len() + 1) * width];
        for a in (0..old.len()).rev() {
            for b in (0..new.len()).rev() {
                common[a * width + b] = if old[a] == new[b] {
                    common[(a + 1) * width + b + 1] + 1
                } else {
                    common[(a + 1) * width + b].max(common[a * width + b + 1])
                };
            }
        }
        while i < old.len() && j < new.len() {
            if old[i] == new[j] {
                lines.push(Line::Same(old[i]));
                (i, j) = (i + 1, j + 1);
            } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
                lines.push(Line::Old(old[i]));
                i += 1;
            } else {
                lines.push(Line::New(new[j]));
                j += 1;
            }
        }
    }
    lines.extend(old[i..].iter().map(|line| Line::Old(line)));
    lines.extend(new[j..].iter().map(|line| Line::New(line)));
    lines
}

fn unified(old_name: &str, new_name: &str, lines: &[Line<'_>]) -> String {
    let mut text = format!("--- {old_name}\n+++ {new_name}\n");
    // For each line of the diff, the number of old lines and the number of new lines before it.
    let mut before = Vec::with_capacity(lines.len());
    let (mut old, mut new) = (0, 0);
    for line in lines {
        before.push((old, new));
        old += usize::from(!matches!(line, Line::New(_)));
        new += usize::from(!matches!(line, Line::Old(_)));
    }
    let differs = |index: &usize| !matches!(lines[*index], Line::Same(_));
    let mut at = 0;
    while let Some(first) = (at..lines.len()).find(differs) {
        let start = first.saturating_sub(CONTEXT).max(at);
        let mut end = first;
        while let Some(next) = (end..lines.len().min(end + 2 * CONTEXT + 1)).find(differs) {
            end = next + 1;
        }
        let end = (end + CONTEXT).min(lines.len());
        let hunk = &lines[start..end];
        let olds = hunk.iter().filter(|it| !matches!(it, Line::New(_))).count();
        let news = hunk.iter().filter(|it| !matches!(it, Line::Old(_))).count();
        let (old, new) = before[start];
        // The start of a range without lines is the number of the line before it.
        let (old, new) = (old + usize::from(olds > 0), new + usize::from(news > 0));
        writeln!(text, "@@ -{old},{olds} +{new},{news} @@").expect("memory takes every byte");
        for line in hunk {
            let (sign, line) = match line {
                Line::Same(line) => (' ', line),
                Line::Old(line) => ('-', line),
                Line::New(line) => ('+', line),
            };
            writeln!(text, "{sign}{line}").expect("memory takes every byte");
        }
        at = end;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_changed_are_shown_with_those_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let new = old.replace("5\n", "5, new\n").replace("12", "12, new");
        assert_eq!(
            of_lines("a", old, &new),
            "--- a\n+++ a\n@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+5, new\n 6\n 7\n@@ -10,3 +10,3 @@\n 10\n 11\n-12\n+12, new\n"
        );
    }

    #[test]
    fn changed_lines_are_distinguished_from_unchanged_ones() {
        let old = "a\nb\nc\nd\n";
        assert_eq!(
            of_texts("x", old, "y", "a\nc\nnew\nd\n"),
            "--- x\n+++ y\n@@ -1,4 +1,4 @@\n a\n-b\n c\n+new\n d\n"
        );
        assert_eq!(
            of_texts("x", "", "y", "a\n"),
            "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n"
        );
        assert_eq!(of_texts("x", old, "y", old), "--- x\n+++ y\n");
    }
}
