//! The targets with `harness = false`, which cargo's metadata does not contain.

use camino::Utf8Path;
use toml_edit::{Document, Item, TableLike};

/// Whether libtest's harness is on for a target of the package whose manifest is at `manifest`.
///
/// If the manifest cannot be read, the default applies. Cargo reports the error.
pub(super) fn has_harness(manifest: &Utf8Path, kind: &str, name: &str) -> bool {
    let Ok(text) = std::fs::read_to_string(manifest) else {
        return true;
    };
    has_harness_in(&text, kind, name)
}

fn has_harness_in(manifest: &str, kind: &str, name: &str) -> bool {
    let Ok(manifest) = Document::parse(manifest) else {
        return true;
    };
    let on = |table: &dyn TableLike| table.get("harness").and_then(Item::as_bool).unwrap_or(true);
    match kind {
        "bin" | "test" | "example" | "bench" => manifest
            .get(kind)
            .and_then(Item::as_array_of_tables)
            .into_iter()
            .flatten()
            .filter(|target| target.get("name").and_then(Item::as_str) == Some(name))
            .all(|target| on(target)),
        _ => manifest
            .get("lib")
            .and_then(Item::as_table_like)
            .is_none_or(on),
    }
}

#[cfg(test)]
mod tests {
    use super::has_harness_in;

    const MANIFEST: &str = r#"
        [lib]
        harness = false
        [[test]]
        name = "plain"
        [[test]]
        name = "own_main"
        harness = false
        [[bin]]
        name = "plain"
        harness = false
    "#;

    #[test]
    fn a_harness_is_looked_up_by_kind_and_name() {
        assert!(has_harness_in(MANIFEST, "test", "plain"));
        assert!(has_harness_in(MANIFEST, "test", "found_by_cargo"));
        assert!(!has_harness_in(MANIFEST, "test", "own_main"));
        assert!(!has_harness_in(MANIFEST, "bin", "plain"));
        assert!(!has_harness_in(MANIFEST, "rlib", "anything"));
        assert!(has_harness_in("", "lib", "anything"));
    }
}
