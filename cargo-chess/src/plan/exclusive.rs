//! The methods that `[[exclusive]]` in Chess.toml selects, found in the sources of their packages.

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{Metadata, Package};
use rewriter::{Method, Methods, NoObject};
use serde::{Deserialize, Serialize};

use super::PlannedPackage;
use super::rust_files::rust_files;
use crate::config::{Config, ExclusiveEntry, Name, Policy};
use crate::error::{Error, Result};
use crate::suggest;

/// A method whose calls are checked for overlaps.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Guard {
    /// The file below the package's root.
    pub file: Utf8PathBuf,
    /// The line of the method's name, from 1.
    pub line: usize,
    /// The path of the type in Chess.toml.
    pub of: String,
    /// The name of the type.
    pub owner: String,
    /// The name of the method.
    pub method: String,
    /// The number of dereferences from `self` to the object.
    pub dereferences: usize,
    /// Whether the method is shared: its calls may overlap with calls of the object's shared
    /// methods.
    pub is_shared: bool,
    /// The number of the table in Chess.toml, from 0.
    pub entry: usize,
}

/// Adds the methods of each `[[exclusive]]` table to their packages.
///
/// # Errors
/// If a table names a package, a type or a method that does not exist or cannot be checked.
pub(super) fn select(
    metadata: &Metadata,
    config: &Config,
    packages: &mut [PlannedPackage],
) -> Result<()> {
    for (number, entry) in config.exclusive().iter().enumerate() {
        let path: Vec<&str> = entry.of.text.split("::").collect();
        let [name, modules @ .., owner] = &path[..] else {
            unreachable!("the parser demands `::`")
        };
        let mut found = Vec::new();
        for (at, planned) in packages.iter().enumerate() {
            let mut all = metadata.packages.iter();
            let package = all.find(|it| it.id.repr == planned.id);
            if let Some(package) = package.filter(|it| is_called(it, name)) {
                found.push((at, package));
            }
        }
        let Some(&(first, _)) = found.first() else {
            return Err(no_package(config, entry, name, packages));
        };
        if packages[first].policy == Policy::Opaque {
            let message = format!(
                "`[[exclusive]]` cannot check this type, because its package `{name}` has the policy \
                 `opaque`"
            );
            let help = "give the package the policy `preempt` or `atomic`".to_owned();
            return Err(config.exclusive_error(&entry.of, message, Some(help)));
        }
        // A build may contain several versions of a package. It is enough if one of them has the
        // type.
        let mut selected = false;
        let mut first_error = None;
        for (at, package) in found {
            let search = Search {
                config,
                entry,
                number,
                package,
                root: packages[at].root.clone(),
                modules,
                owner,
            };
            match search.guards() {
                Ok(guards) => {
                    packages[at].guards.extend(guards);
                    selected = true;
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        if let Some(error) = first_error.filter(|_| !selected) {
            return Err(error);
        }
    }
    Ok(())
}

/// Whether the package or one of its targets has this crate name.
fn is_called(package: &Package, name: &str) -> bool {
    let mut targets = package.targets.iter().filter(|it| !it.is_custom_build());
    package.name.replace('-', "_") == name || targets.any(|it| it.name.replace('-', "_") == name)
}

fn no_package(
    config: &Config,
    entry: &ExclusiveEntry,
    name: &str,
    packages: &[PlannedPackage],
) -> Error {
    let names: Vec<_> = packages
        .iter()
        .map(|it| it.name.replace('-', "_"))
        .collect();
    let near = suggest::nearest(name, names.iter().map(String::as_str));
    let help = near.map_or_else(
        || "`cargo chess list` shows all packages and their treatment".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    let message = format!("no package `{name}` is in this workspace's build");
    config.exclusive_error(&entry.of, message, Some(help))
}

/// The search for the methods of one table in one package.
struct Search<'a> {
    config: &'a Config,
    entry: &'a ExclusiveEntry,
    number: usize,
    package: &'a Package,
    root: Utf8PathBuf,
    modules: &'a [&'a str],
    owner: &'a str,
}

/// A definition of a type: its modules, its file and its line.
struct Definition {
    modules: Vec<String>,
    place: String,
}

/// A function in an `impl` block of a type with the wanted name.
struct Candidate {
    file: Utf8PathBuf,
    /// The modules around the block.
    modules: Vec<String>,
    method: Method,
}

impl Search<'_> {
    fn error(&self, at: &Name, message: String, help: Option<String>) -> Error {
        self.config.exclusive_error(at, message, help)
    }

    fn guards(&self) -> Result<Vec<Guard>> {
        let (of, name) = (&self.entry.of, &self.package.name);
        let (mut types, mut candidates, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for file in rust_files(&self.root)? {
            // If a file cannot be read or is not Rust, rustc reports this when it compiles the
            // file.
            let text = std::fs::read_to_string(self.root.join(&file)).unwrap_or_default();
            let Ok(found) = Methods::of(&text) else {
                continue;
            };
            let base = self.modules_of(&file);
            let full = |inner: &[String]| [&base[..], inner].concat();
            for item in found.types {
                if item.name == self.owner {
                    types.push(Definition {
                        modules: full(&item.modules),
                        place: format!("{file}:{}", item.line),
                    });
                } else {
                    others.push(item.name);
                }
            }
            let methods = found.methods.into_iter();
            candidates.extend(methods.filter(|it| it.owner == self.owner).map(|method| {
                Candidate {
                    file: file.clone(),
                    modules: full(&method.modules),
                    method,
                }
            }));
        }
        let all = types.len();
        let elsewhere = types.first().map(|it| it.path(self.owner));
        let wanted: Vec<String> = self.modules.iter().map(|&it| it.to_owned()).collect();
        types.retain(|it| it.modules.ends_with(&wanted));
        types.dedup_by(|a, b| a.modules == b.modules);
        match &types[..] {
            [] => {
                let message = format!("the package `{name}` has no type `{}`", self.path());
                let near = suggest::nearest(self.owner, others.iter().map(String::as_str));
                let help = elsewhere.as_deref().or(near).map_or_else(
                    || "a type that a macro defines cannot be checked".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                return Err(self.error(of, message, Some(help)));
            }
            [only] if all > 1 => candidates.retain(|it| it.is_of(only)),
            [_] => {}
            [first, second, ..] => {
                let message = format!(
                    "the package `{name}` has several types `{}`: at {} and at {}",
                    self.path(),
                    first.place,
                    second.place
                );
                let crate_name = self.entry.of.text.split("::").next().unwrap_or_default();
                let path = first.path(self.owner);
                let help = format!("name the module, as in `{crate_name}::{path}`");
                return Err(self.error(of, message, Some(help)));
            }
        }
        self.chosen(&candidates)
    }

    /// The guards of the methods that the table names. If it has no `methods`, these include the
    /// guards of all methods that can be checked, except those of traits and those in `readers`.
    fn chosen(&self, candidates: &[Candidate]) -> Result<Vec<Guard>> {
        let entry = self.entry;
        let mut guards = Vec::new();
        for (names, is_shared) in [
            (entry.methods.as_ref(), false),
            (Some(&entry.readers), true),
        ] {
            for name in names.into_iter().flatten() {
                guards.extend(self.named(name, candidates, is_shared)?);
            }
        }
        if entry.methods.is_none() {
            let is_reader = |it: &Method| entry.readers.iter().any(|name| name.text == it.name);
            let inherent = candidates
                .iter()
                .filter(|it| it.method.is_inherent && !is_reader(&it.method));
            guards.extend(inherent.filter_map(|it| self.guard(it, false)));
        }
        if guards.iter().all(|it| it.is_shared) {
            let message = format!(
                "`{}` has no exclusive method whose calls can be checked for overlaps",
                entry.of.text
            );
            let help = "name in `methods` at least one method that takes `self` by reference and is \
                        neither `async` nor `const`, or remove this table; without `methods`, all \
                        such methods that are not in `readers` are exclusive";
            return Err(self.error(&entry.of, message, Some(help.to_owned())));
        }
        guards.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        Ok(guards)
    }

    fn named(&self, name: &Name, candidates: &[Candidate], is_shared: bool) -> Result<Vec<Guard>> {
        let same: Vec<_> = candidates
            .iter()
            .filter(|it| it.method.name == name.text)
            .collect();
        let guards: Vec<_> = same
            .iter()
            .filter_map(|it| self.guard(it, is_shared))
            .collect();
        if !guards.is_empty() {
            return Ok(guards);
        }
        let why_not = same.iter().filter_map(|it| it.method.object.err()).min();
        let of = &self.entry.of.text;
        let Some(why_not) = why_not else {
            let known = candidates.iter().map(|it| it.method.name.as_str());
            let help = suggest::nearest(&name.text, known).map_or_else(
                || "only methods of an `impl` in the sources can be checked, not methods that a macro defines".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("`{of}` has no method `{}`", name.text);
            return Err(self.error(name, message, Some(help)));
        };
        let (why, help) = match why_not {
            NoObject::NoReceiver => (
                "has no `self`",
                "name only methods that take `self` by reference",
            ),
            NoObject::ByValue => (
                "takes `self` by value",
                "no other call can use the object then: leave this method out",
            ),
            NoObject::Async => (
                "is `async`",
                "its body may continue on another thread: name the methods that it calls instead",
            ),
            NoObject::Const => (
                "is `const`, or has an attribute such as `const_fn` or `naked`",
                "leave this method out, or name other methods that call it",
            ),
        };
        let message = format!(
            "calls of `{of}::{}` cannot be checked for overlaps: the method {why}",
            name.text
        );
        Err(self.error(name, message, Some(help.to_owned())))
    }

    fn guard(&self, candidate: &Candidate, is_shared: bool) -> Option<Guard> {
        let object = candidate.method.object.ok()?;
        Some(Guard {
            file: candidate.file.clone(),
            line: candidate.method.line,
            of: self.entry.of.text.clone(),
            owner: self.owner.to_owned(),
            method: candidate.method.name.clone(),
            dereferences: object.dereferences,
            is_shared,
            entry: self.number,
        })
    }

    /// The path of the type within its package.
    fn path(&self) -> String {
        let parts: Vec<_> = self.modules.iter().chain([&self.owner]).copied().collect();
        parts.join("::")
    }

    /// The modules of a file of the package, as its path suggests: `src/a/b.rs` is `a::b`.
    fn modules_of(&self, file: &Utf8Path) -> Vec<String> {
        let path = self.root.join(file);
        let targets = &self.package.targets;
        if targets.iter().any(|it| it.src_path == path) {
            return Vec::new();
        }
        let directories = targets.iter().filter_map(|it| it.src_path.parent());
        let inside = directories.filter_map(|it| path.strip_prefix(it).ok());
        // The innermost directory that contains the file.
        let inside = inside.min_by_key(|it| it.components().count());
        let inside = inside.unwrap_or(file).with_extension("");
        let mut modules: Vec<_> = inside.components().map(|it| it.to_string()).collect();
        if modules.last().is_some_and(|it| it == "mod") {
            modules.pop();
        }
        modules
    }
}

impl Definition {
    /// The path of the type within its package.
    fn path(&self, name: &str) -> String {
        let modules = self.modules.iter().map(String::as_str);
        modules.chain([name]).collect::<Vec<_>>().join("::")
    }
}

impl Candidate {
    /// Whether the `impl` block of the method belongs to this type. This matters only if the
    /// package has several types of the same name. The block must be in the same module, or name
    /// the type with its module.
    fn is_of(&self, definition: &Definition) -> bool {
        match self.method.qualifier.as_deref() {
            None | Some("self") => self.modules == definition.modules,
            Some("super") => {
                let outer = self.modules.split_last().map(|(_, outer)| outer);
                outer == Some(&definition.modules[..])
            }
            Some("crate") => definition.modules.is_empty(),
            Some(module) => definition.modules.last().is_some_and(|it| it == module),
        }
    }
}
