//! The files of a linker, read from its arguments.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The usual directories that linkers search after the given ones.
const SYSTEM: &[&str] = &[
    "/usr/local/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/local/lib64",
    "/lib64",
    "/usr/lib64",
    "/usr/local/lib",
    "/lib",
    "/usr/lib",
];

/// The libraries of the C compiler. Their functions get no stubs. Functions that are interposed
/// are under control. The other functions are assumed to access no memory that tasks share.
const OWN: &[&str] = &[
    "c",
    "m",
    "dl",
    "rt",
    "pthread",
    "util",
    "gcc",
    "gcc_s",
    "gcc_eh",
    "resolv",
    "crypt",
    "c_nonshared",
    "anl",
    "nsl",
    "mvec",
    "atomic",
];

/// The arguments that the linker itself receives. Response files (`@file`) and the lists that the
/// C compiler passes on (`-Wl,a,b`) are split into single arguments.
pub(super) fn words(args: &[OsString]) -> Vec<String> {
    let mut words = Vec::new();
    for arg in args {
        let arg = arg.to_string_lossy();
        if let Some(file) = arg.strip_prefix('@') {
            let text = fs::read_to_string(file).unwrap_or_default();
            let lines: Vec<OsString> = text.lines().map(|line| unescaped(line).into()).collect();
            words.extend(self::words(&lines));
        } else if let Some(passed) = arg.strip_prefix("-Wl,") {
            words.extend(passed.split(',').map(str::to_owned));
        } else if arg != "-Xlinker" {
            words.push(arg.into_owned());
        }
    }
    words
}

fn unescaped(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        match next {
            '\\' => text.extend(rest.next()),
            '"' => {}
            next => text.push(next),
        }
    }
    text
}

/// The program that is linked.
pub(super) fn output(words: &[String]) -> Option<PathBuf> {
    let at = words.iter().position(|word| word == "-o")?;
    words.get(at + 1).map(PathBuf::from)
}

/// The objects, archives and shared libraries among the words, except those of the C compiler.
pub(super) fn files(words: &[String]) -> Vec<PathBuf> {
    let mut search = Search {
        directories: Vec::new(),
        is_static: false,
    };
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let directory = match word.strip_prefix("-L") {
            Some("") => rest.next().map(String::as_str),
            directory => directory,
        };
        search.directories.extend(directory.map(PathBuf::from));
    }
    search.directories.extend(SYSTEM.iter().map(PathBuf::from));
    let mut files = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match &**word {
            "-Bstatic" | "-static" | "-dn" | "-non_shared" => search.is_static = true,
            "-Bdynamic" | "-dy" | "-call_shared" => search.is_static = false,
            "-o" | "-L" | "-T" | "-z" | "-m" | "--version-script" => _ = rest.next(),
            "-l" | "--library" => {
                if let Some(name) = rest.next() {
                    files.extend(search.library(name));
                }
            }
            option if option.starts_with('-') => {
                let name = option.strip_prefix("-l");
                let name = name.or_else(|| option.strip_prefix("--library="));
                files.extend(name.into_iter().flat_map(|name| search.library(name)));
            }
            path => files.extend(search.opened(Path::new(path))),
        }
    }
    files
}

struct Search {
    directories: Vec<PathBuf>,
    /// Whether only static libraries are searched at this point of the arguments.
    is_static: bool,
}

impl Search {
    fn library(&self, name: &str) -> Vec<PathBuf> {
        if OWN.contains(&name) {
            return Vec::new();
        }
        let names = match name.strip_prefix(':') {
            Some(file) => vec![file.to_owned()],
            None if self.is_static => vec![format!("lib{name}.a")],
            None => vec![format!("lib{name}.so"), format!("lib{name}.a")],
        };
        for directory in &self.directories {
            for name in &names {
                let path = directory.join(name);
                if path.is_file() {
                    return self.opened(&path);
                }
            }
        }
        Vec::new()
    }

    /// The file or, if it is a linker script, the files that the script names.
    fn opened(&self, path: &Path) -> Vec<PathBuf> {
        const LONGEST: u64 = 10_000;
        let is_library = path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.contains(".so") || name.contains(".a")
        });
        let is_short = is_library && fs::metadata(path).is_ok_and(|it| it.len() < LONGEST);
        let script = is_short.then(|| fs::read_to_string(path).ok()).flatten();
        let Some(script) = script.filter(|it| it.contains("INPUT") || it.contains("GROUP")) else {
            return vec![path.to_owned()];
        };
        let separates = |next: char| next.is_whitespace() || matches!(next, '(' | ')' | ',');
        let names = script.split(separates);
        let files = names.flat_map(|name| match name.strip_prefix("-l") {
            Some(name) => self.library(name),
            None if name.starts_with('/') => vec![PathBuf::from(name)],
            None if name.contains(".so") || name.contains(".a") => {
                self.library(&format!(":{name}"))
            }
            None => Vec::new(),
        });
        files.filter(|file| file != path).collect()
    }
}
