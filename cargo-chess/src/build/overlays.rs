//! The overlays that this program contains: changes of some versions of packages.

use camino::Utf8PathBuf;
use cargo_metadata::semver::{Version, VersionReq};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use super::runtime::OVERLAYS;
use crate::error::{Error, Result};
use crate::plan::PlannedPackage;
use crate::wrapper::Entry;

/// The changes of one package.
pub(super) struct Overlay {
    package: String,
    versions: VersionReq,
    /// Files of the package, and the texts that replace them.
    pub(super) replace: Vec<(Utf8PathBuf, String)>,
    /// Statements that are inserted at the start of functions.
    pub(super) entries: Vec<Entry>,
    /// Names of the target's configuration that are set for the package.
    pub(super) cfg: Vec<String>,
}

impl Overlay {
    /// Whether the overlay applies to `package`, by its name and version.
    pub(super) fn fits(&self, package: &PlannedPackage) -> bool {
        package.name == self.package
            && Version::parse(&package.version).is_ok_and(|version| self.versions.matches(&version))
    }
}

/// Reads the list of overlays.
pub(super) fn all() -> Result<Vec<Overlay>> {
    parse(file("overlays.toml")?)
        .map_err(|problem| Error::Internal(format!("runtime/overlays/overlays.toml: {problem}")))
}

fn file(name: &str) -> Result<&'static str> {
    let found = OVERLAYS.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, text)| *text)
        .ok_or_else(|| Error::Internal(format!("there is no file runtime/overlays/{name}")))
}

fn parse(text: &str) -> Result<Vec<Overlay>, String> {
    let document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let overlays = tables(document.get("overlay"));
    overlays.map(overlay).collect()
}

fn overlay(table: &Table) -> Result<Overlay, String> {
    let versions = text(table, "versions")?;
    let replaced = table.get("replace").and_then(Item::as_table_like);
    let replace = replaced.into_iter().flat_map(|files| files.iter());
    Ok(Overlay {
        package: text(table, "package")?.to_owned(),
        versions: VersionReq::parse(versions).map_err(|error| format!("{versions}: {error}"))?,
        replace: replace
            .map(|(path, ours)| {
                let name = ours.as_str().ok_or("`replace` names files")?;
                let contents = file(name).map_err(|error| error.to_string())?;
                Ok((path.into(), contents.to_owned()))
            })
            .collect::<Result<_, String>>()?,
        cfg: table
            .get("cfg")
            .and_then(Item::as_str)
            .map(str::to_owned)
            .into_iter()
            .collect(),
        entries: tables(table.get("entry"))
            .map(|entry| {
                Ok(Entry {
                    file: text(entry, "file")?.into(),
                    function: text(entry, "function")?.to_owned(),
                    line: None,
                    statement: text(entry, "statement")?.to_owned(),
                })
            })
            .collect::<Result<_, String>>()?,
    })
}

fn tables(item: Option<&Item>) -> impl Iterator<Item = &Table> {
    item.and_then(Item::as_array_of_tables)
        .into_iter()
        .flat_map(ArrayOfTables::iter)
}

fn text<'a>(table: &'a Table, key: &str) -> Result<&'a str, String> {
    table
        .get(key)
        .and_then(Item::as_str)
        .ok_or_else(|| format!("an overlay without `{key}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_overlay_names_files_that_exist() {
        all().expect("the list is valid");
    }

    #[test]
    fn a_list_of_overlays_with_a_mistake_names_it() {
        let problem = |text: &str| parse(text).err().expect("a mistake");
        let package = "[[overlay]]\npackage = \"a\"\n";
        assert_eq!(problem("[[overlay]]\n"), "an overlay without `versions`");
        assert!(problem(&format!("{package}versions = \"new\"")).starts_with("new: "));
        let versions = format!("{package}versions = \"1\"\n");
        assert_eq!(
            problem(&format!("{versions}replace = {{ \"a.rs\" = 3 }}")),
            "`replace` names files"
        );
        let missing = problem(&format!("{versions}replace = {{ \"a.rs\" = \"no.rs\" }}"));
        assert!(
            missing.starts_with("internal error: there is no file runtime/overlays/no.rs"),
            "{missing}"
        );
        assert!(problem("[[").contains("TOML parse error"));
    }

    #[test]
    fn an_overlay_is_for_its_versions_only() {
        let text = "[[overlay]]\npackage = \"a\"\nversions = \">=0.8, <0.11\"\n\
                    [[overlay.entry]]\nfile = \"src/rand.rs\"\nfunction = \"R::next\"\nstatement = \"x();\"\n";
        let overlays = parse(text).expect("a valid list");
        assert_eq!(overlays[0].entries[0].function, "R::next");
        for (version, fits) in [("0.8.0", true), ("0.10.4", true), ("0.11.0", false)] {
            let version = Version::parse(version).expect("a version");
            assert_eq!(overlays[0].versions.matches(&version), fits, "{version}");
        }
    }
}
