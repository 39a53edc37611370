//! An error in Chess.toml. It is printed with its line and a caret, like an error of rustc.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use camino::Utf8PathBuf;

use super::Error;

/// An error in Chess.toml, and its place.
#[derive(Debug)]
pub(crate) struct ConfigError {
    /// Whether this is only a warning, which does not stop the run.
    pub is_warning: bool,
    /// The expected and the found text.
    pub message: String,
    /// The suggestion, if there is one.
    pub help: Option<String>,
    /// The file.
    pub path: Utf8PathBuf,
    /// The whole text of the file.
    pub source: String,
    /// The range of the wrong bytes.
    pub span: Range<usize>,
}

impl ConfigError {
    /// The error as text, with or without colour.
    pub(crate) fn render(&self, color: bool) -> String {
        let level = if self.is_warning {
            Level::WARNING
        } else {
            Level::ERROR
        };
        let snippet = Snippet::source(&self.source)
            .path(self.path.as_str())
            .annotation(AnnotationKind::Primary.span(self.span.clone()));
        let mut group = level.primary_title(&self.message).element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        let renderer = if color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer.render(&[group])
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for ConfigError {}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::Config(Box::new(error))
    }
}
