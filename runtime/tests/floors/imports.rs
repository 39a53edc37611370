//! The imports of a tree of Rust sources, read from the text: uses of higher floors, and cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A path as it is written, without `crate`: `["execution", "Op"]`.
type Names = Vec<String>;

/// The files of a crate, and the definitions of other files that each of them names.
pub(crate) struct Sources {
    files: BTreeMap<Names, File>,
}

/// One file. Its key in [`Sources`] is the path of its module.
struct File {
    /// The path of the file below the folder of the sources.
    path: String,
    tokens: Vec<String>,
    /// The imports from this crate: the imported path for each local name.
    imported: BTreeMap<String, Names>,
    /// The public ones among these imports: re-exports.
    exported: BTreeMap<String, Names>,
    /// Every path that the file names, and whether the file only re-exports it.
    named: Vec<(Names, bool)>,
}

impl Sources {
    /// Reads files, given by their paths and texts. Leaves out files that are compiled only for tests.
    pub(crate) fn of(texts: &BTreeMap<String, String>) -> Self {
        let mut files = BTreeMap::new();
        let mut only_tests = BTreeSet::new();
        for (path, text) in texts {
            let module = module_of(path);
            let (tokens, modules) = without_tests(&tokens(text));
            for name in modules {
                only_tests.insert([module.clone(), vec![name]].concat());
            }
            let file = File {
                path: path.clone(),
                tokens,
                imported: BTreeMap::new(),
                exported: BTreeMap::new(),
                named: Vec::new(),
            };
            files.insert(module, file);
        }
        files.retain(|module, _| !only_tests.iter().any(|test| module.starts_with(test)));
        let modules: BTreeSet<Names> = files.keys().cloned().collect();
        for (module, file) in &mut files {
            file.find_names(module, &modules);
        }
        Self { files }
    }

    /// Like [`Self::of`], for pairs of a path and a text.
    pub(crate) fn tree(files: &[(&str, &str)]) -> Self {
        let text = |&(path, text): &(&str, &str)| (path.to_owned(), text.to_owned());
        Self::of(&files.iter().map(text).collect())
    }

    /// Pairs of a file and a file on a higher floor that it uses. Files without a floor are left
    /// out.
    pub(crate) fn upward(&self, floor: impl Fn(&str) -> Option<usize>) -> Vec<(&str, &str)> {
        let imports = self.imports();
        let pairs = imports
            .iter()
            .flat_map(|(&file, others)| others.iter().map(move |&other| (file, other)));
        pairs
            .filter(|(file, other)| floor(file).is_some() && floor(file) < floor(other))
            .collect()
    }

    /// Cycles of imports of more than `small` files, the largest first.
    pub(crate) fn cycles(&self, small: usize) -> Vec<Vec<String>> {
        let edges = self.uses();
        let reached: BTreeMap<&str, BTreeSet<&str>> = edges
            .keys()
            .map(|&start| (start, reach(&edges, start)))
            .collect();
        let mut cycles: Vec<Vec<String>> = Vec::new();
        let mut seen = BTreeSet::new();
        for &file in edges.keys() {
            if seen.contains(file) {
                continue;
            }
            let back = |other: &&&str| reached[**other].contains(file);
            let cycle: Vec<&str> = reached[file].iter().filter(back).copied().collect();
            seen.extend(cycle.iter().copied());
            if cycle.len() > small {
                cycles.push(cycle.into_iter().map(str::to_owned).collect());
            }
        }
        cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
        cycles
    }

    /// The number of files.
    pub(crate) fn count(&self) -> usize {
        self.files.len()
    }

    /// Each file with the files whose definitions it uses. A re-export is not a use of the
    /// definition. The files that import the re-exported item use the definition.
    pub(crate) fn uses(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        self.edges(false)
    }

    /// Like [`Self::uses`], but a re-export is also a use.
    pub(crate) fn imports(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        self.edges(true)
    }

    fn edges(&self, with_exports: bool) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut edges = BTreeMap::new();
        for file in self.files.values() {
            let named = file
                .named
                .iter()
                .filter(|(_, passed)| with_exports || !passed);
            let targets = named.filter_map(|(names, _)| self.definition(names, 0));
            let others = targets.filter(|target| *target != file.path).collect();
            edges.insert(file.path.as_str(), others);
        }
        edges
    }

    /// The file in which `names` is defined, found through re-exports.
    fn definition(&self, names: &[String], depth: usize) -> Option<&str> {
        let within = (0..=names.len()).rev();
        let module = within.map(|length| &names[..length]);
        let module = module.into_iter().find(|it| self.files.contains_key(*it))?;
        let file = &self.files[module];
        let rest = &names[module.len()..];
        let exported = rest.first().and_then(|name| file.exported.get(name));
        match exported {
            Some(target) if depth < 16 => {
                let target = [target.as_slice(), &rest[1..]].concat();
                self.definition(&target, depth + 1)
            }
            _ => Some(&file.path),
        }
    }
}

/// The files that `start` uses, also through other files.
fn reach<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&str> = vec![start];
    while let Some(file) = left.pop() {
        for &other in edges.get(file).into_iter().flatten() {
            if reached.insert(other) {
                left.push(other);
            }
        }
    }
    reached
}

impl File {
    fn find_names(&mut self, module: &[String], modules: &BTreeSet<Names>) {
        let tokens = std::mem::take(&mut self.tokens);
        let is_child = |name: &str| {
            let child = [module, &[name.to_owned()]].concat();
            modules.contains(&child)
        };
        let mut at = 0;
        let mut is_public = false;
        while at < tokens.len() {
            match tokens[at].as_str() {
                "pub" => {
                    is_public = true;
                    at += 1;
                    if tokens.get(at).is_some_and(|it| it == "(") {
                        at = after_parenthesis(&tokens, at);
                    }
                    continue;
                }
                // `use<'a>` is no import: it lists the captures of a type.
                "use" if tokens.get(at + 1).is_some_and(|it| it != "<") => {
                    let mut leaves = Vec::new();
                    at = tree(&tokens, at + 1, &mut Vec::new(), &mut leaves);
                    for (written, local) in leaves {
                        let first = written.first().cloned().unwrap_or_default();
                        let written = if is_child(&first) {
                            [vec!["self".to_owned()], written].concat()
                        } else {
                            written
                        };
                        if let Some(names) = absolute(&written, module) {
                            if is_public {
                                self.exported.insert(local.clone(), names.clone());
                            }
                            // The import of a module is no use. A path through the module is one.
                            if !modules.contains(&names) {
                                self.named.push((names.clone(), is_public));
                            }
                            self.imported.insert(local, names);
                        }
                    }
                }
                token if is_name(token) && (at == 0 || tokens[at - 1] != "::") => {
                    let mut written = vec![token.to_owned()];
                    let mut next = at + 1;
                    while next + 1 < tokens.len()
                        && tokens[next] == "::"
                        && is_name(&tokens[next + 1])
                    {
                        written.push(tokens[next + 1].clone());
                        next += 2;
                    }
                    at = next;
                    if written.len() > 1 {
                        if is_child(&written[0]) {
                            written.insert(0, "self".to_owned());
                        }
                        self.named.push((written, false));
                    }
                }
                _ => at += 1,
            }
            is_public = false;
        }
        // A path may come before the import that it needs. So paths are resolved at the end.
        let imported = &self.imported;
        self.named = std::mem::take(&mut self.named)
            .into_iter()
            .filter_map(|(names, passed)| {
                if passed
                    || modules
                        .iter()
                        .any(|it| !it.is_empty() && names.starts_with(it))
                {
                    return Some((names, passed));
                }
                if let Some(names) = absolute(&names, module) {
                    return Some((names, false));
                }
                let start = imported.get(&names[0])?;
                Some(([start.as_slice(), &names[1..]].concat(), false))
            })
            .collect();
    }
}

/// Returns the path from the crate's root, or `None` for a path that begins with another name than
/// `crate`, `self` or `super`.
fn absolute(written: &[String], module: &[String]) -> Option<Names> {
    let mut base = match written.first()?.as_str() {
        "crate" => return Some(written[1..].to_vec()),
        "self" | "super" => module.to_vec(),
        _ => return None,
    };
    let mut rest = written;
    while let Some(name) = rest.first() {
        match name.as_str() {
            "self" => {}
            "super" => {
                base.pop();
            }
            _ => break,
        }
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// Adds the leaves of a tree of imports to `leaves`, each with its local name. Returns the index of
/// the first token after the tree.
fn tree(
    tokens: &[String],
    mut at: usize,
    prefix: &mut Names,
    leaves: &mut Vec<(Names, String)>,
) -> usize {
    let length = prefix.len();
    loop {
        let token = tokens.get(at).map_or(";", String::as_str);
        match token {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|it| it != "}") {
                    at = tree(tokens, at, prefix, leaves);
                    if tokens.get(at).is_some_and(|it| it == ",") {
                        at += 1;
                    }
                }
                at += 1;
                prefix.truncate(length);
                return at;
            }
            "," | "}" | ";" | "as" => break,
            name => {
                prefix.push(name.to_owned());
                at += 1;
            }
        }
    }
    if prefix.len() > 1 && prefix.last().is_some_and(|it| it == "self") {
        prefix.pop();
    }
    let mut local = prefix.last().cloned().unwrap_or_default();
    if tokens.get(at).is_some_and(|it| it == "as") {
        local.clone_from(&tokens[at + 1]);
        at += 2;
    }
    leaves.push((prefix.clone(), local));
    prefix.truncate(length);
    at
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn after_parenthesis(tokens: &[String], at: usize) -> usize {
    let end = tokens[at..].iter().position(|it| it == ")");
    end.map_or(tokens.len(), |end| at + end + 1)
}

/// Returns the tokens without the items that are compiled only for tests, and the names of those of
/// the removed modules that are in other files.
fn without_tests(tokens: &[String]) -> (Vec<String>, Vec<String>) {
    /// The attributes of items that are compiled only for tests, of this crate or of other crates.
    /// The name of the feature is missing, because the tokens have no strings.
    const MARKS: [&[&str]; 2] = [
        &["#", "[", "cfg", "(", "test", ")", "]"],
        &[
            "#", "[", "cfg", "(", "any", "(", "test", ",", "feature", "=", ")", ")", "]",
        ],
    ];
    let mut kept = Vec::new();
    let mut modules = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = |mark: &&[&str]| tokens[at..].iter().take(mark.len()).eq(mark.iter());
        let Some(mark) = MARKS.into_iter().find(begins) else {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        };
        at += mark.len();
        let start = at;
        let mut depth = 0;
        while at < tokens.len() {
            match tokens[at].as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            at += 1;
            // An item ends with its block, or with a semicolon. A field or a variant ends with a comma.
            if depth <= 0 && matches!(tokens[at - 1].as_str(), "}" | ";" | ",") {
                break;
            }
        }
        let item = &tokens[start..at];
        if let [.., keyword, name, end] = item
            && keyword == "mod"
            && end == ";"
        {
            modules.push(name.clone());
        }
    }
    (kept, modules)
}

/// Splits a text into names, `::` and single signs, without comments, strings and characters.
fn tokens(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let at_is = |at: usize, what: &str| bytes[at..].starts_with(what.as_bytes());
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if at_is(at, "//") {
            at += text[at..].find('\n').unwrap_or(bytes.len() - at);
        } else if at_is(at, "/*") {
            at += text[at..]
                .find("*/")
                .map_or(bytes.len() - at, |end| end + 2);
        } else if byte == b'"' {
            at = after_string(bytes, at);
        } else if let Some(end) = after_raw_string(text, at) {
            at = end;
        } else if byte == b'\'' {
            at = after_character(text, at);
        } else if at_is(at, "::") {
            tokens.push("::".to_owned());
            at += 2;
        } else if byte.is_ascii_alphanumeric() || byte == b'_' {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let length = text[at..].find(|c| !is_part(c)).unwrap_or(bytes.len() - at);
            tokens.push(text[at..at + length].to_owned());
            at += length;
        } else {
            if !byte.is_ascii_whitespace() && byte.is_ascii() {
                tokens.push(char::from(byte).to_string());
            }
            at += 1;
        }
    }
    tokens
}

fn after_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn after_raw_string(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let start = if bytes[at..].starts_with(b"br") {
        at + 1
    } else {
        at
    };
    if bytes.get(start) != Some(&b'r') {
        return None;
    }
    let hashes = bytes[start + 1..]
        .iter()
        .take_while(|it| **it == b'#')
        .count();
    if bytes.get(start + 1 + hashes) != Some(&b'"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = start + 2 + hashes;
    Some(inside + text[inside..].find(&end)? + end.len())
}

/// Returns the index after a character. For a lifetime, it is the index after the quote.
fn after_character(text: &str, at: usize) -> usize {
    let rest = &text[at + 1..];
    let mut characters = rest.char_indices();
    match characters.next() {
        Some((_, '\\')) => {
            let end = rest[2..].find('\'');
            at + end.map_or(1, |end| end + 4)
        }
        Some(_) => match characters.next() {
            Some((index, '\'')) => at + 1 + index + 1,
            _ => at + 1,
        },
        None => at + 1,
    }
}

fn module_of(path: &str) -> Names {
    let mut names: Names = path
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    if names.last().is_some_and(|it| it == "mod" || it == "lib") {
        names.pop();
    }
    names
}

/// The texts of all source files below `root`, by their paths relative to `root`.
pub(crate) fn texts(root: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    collect(root, root, &mut files);
    files
}

fn collect(dir: &Path, root: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).expect("the sources are readable") {
        let path = entry.expect("the sources are readable").path();
        if path.is_dir() {
            collect(&path, root, files);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let name = path.strip_prefix(root).expect("below the root");
            let text = fs::read_to_string(&path).expect("sources are text");
            files.insert(name.to_str().expect("UTF-8").to_owned(), text);
        }
    }
}
