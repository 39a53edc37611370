//! The files that a file refers to: its modules and the files that it includes.

use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, ItemMod, Lit, LitStr, Macro, Meta};

use crate::source::{Source, SyntaxError};

/// A file that another file refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The path of the file, relative to the directory of the referring file. The file may not
    /// exist.
    pub path: PathBuf,
    /// Whether the modules of this file are in the directory of this file, as for the root file of
    /// a crate and for `mod.rs`. The modules of another file are in a directory with the name of
    /// that file.
    pub is_root: bool,
}

/// Returns the files that a file refers to by `mod` and `include!`. The file has this `text` and
/// this `name`. `is_root` is [`Reference::is_root`] of the file. The conditions of `cfg` are
/// ignored, and computed paths are left out.
pub fn references(text: &str, name: &str, is_root: bool) -> Result<Vec<Reference>, SyntaxError> {
    let file = Source::new(text).parse()?;
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let mut finder = Finder {
        directory: if is_root { "" } else { stem }.into(),
        is_inline: false,
        is_root,
        found: Vec::new(),
    };
    finder.visit_file(&file);
    Ok(finder.found)
}

struct Finder {
    /// The directory of the modules that are declared at the current position.
    directory: PathBuf,
    /// Whether the current module is an inline module, which has no file.
    is_inline: bool,
    is_root: bool,
    found: Vec<Reference>,
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, node: &'ast ItemMod) {
        let path = path_of(&node.attrs);
        // Explicit paths are relative to the directory of the file, except in inline modules.
        let beside = if self.is_inline {
            &*self.directory
        } else {
            Path::new("")
        };
        let name = node.ident.to_string();
        let name = name.trim_start_matches("r#");
        if node.content.is_some() {
            let inner = match &path {
                Some(path) => beside.join(path),
                None => self.directory.join(name),
            };
            let directory = std::mem::replace(&mut self.directory, inner);
            let is_inline = std::mem::replace(&mut self.is_inline, true);
            visit::visit_item_mod(self, node);
            (self.directory, self.is_inline) = (directory, is_inline);
            return;
        }
        if let Some(path) = path {
            self.found.push(Reference {
                path: beside.join(path),
                is_root: true,
            });
            return;
        }
        for (file, is_root) in [
            (format!("{name}.rs"), false),
            (format!("{name}/mod.rs"), true),
        ] {
            self.found.push(Reference {
                path: self.directory.join(file),
                is_root,
            });
        }
    }

    fn visit_macro(&mut self, node: &'ast Macro) {
        if node.path.is_ident("include")
            && let Ok(path) = node.parse_body::<LitStr>()
        {
            self.found.push(Reference {
                path: path.value().into(),
                is_root: self.is_root,
            });
        }
    }
}

/// Returns the path in `#[path = ".."]`.
fn path_of(attributes: &[Attribute]) -> Option<PathBuf> {
    attributes.iter().find_map(|attribute| {
        let Meta::NameValue(meta) = &attribute.meta else {
            return None;
        };
        match &meta.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(path),
                ..
            }) if meta.path.is_ident("path") => Some(path.value().into()),
            _ => None,
        }
    })
}
