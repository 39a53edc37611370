//! Writes the events of the last run to `target/chess/last-run.jsonl`, even if the run is cut
//! short.

use std::fs::{self, File};

use camino::{Utf8Path, Utf8PathBuf};

use super::json::Json;
use super::reporter::Reporter;
use crate::error::{Error, Result};
use crate::events::Event;

/// The open file.
pub(crate) struct LastRun {
    path: Utf8PathBuf,
    json: Json<File>,
}

impl LastRun {
    /// Begins the record of a run, in place of the record of the last run.
    pub(crate) fn create(chess_dir: &Utf8Path) -> Result<Self> {
        fs::create_dir_all(chess_dir).map_err(Error::io("create the directory", chess_dir))?;
        let path = chess_dir.join("last-run.jsonl");
        let file = File::create(&path).map_err(Error::io("write", &path))?;
        Ok(Self {
            path,
            json: Json::new(file),
        })
    }

    /// Adds an event, unless it is progress: progress is of no interest after the run.
    pub(crate) fn event(&mut self, event: &Event) -> Result<()> {
        if matches!(event, Event::Progress(_)) {
            return Ok(());
        }
        self.json
            .event(event, None)
            .map_err(Error::io("write", &self.path))
    }
}
