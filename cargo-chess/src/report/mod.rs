//! Reports on a run: one stream of events, several reporters.

mod abbreviate;
mod common;
mod coverage_plot;
mod covered;
mod deadlock;
mod early_timeouts;
mod excerpt;
mod explanation;
mod failure;
mod fold;
mod github;
mod human;
mod interleaving;
mod json;
mod junit;
mod last_run;
mod late_effects;
mod layout;
mod live_trace;
mod lock_holders;
mod markdown;
mod names;
mod objects;
mod outside_effects;
mod page;
mod panics;
mod plain;
mod pointers;
mod progress;
mod racing_dependencies;
mod reporter;
mod repository;
mod run_state;
mod sarif;
mod short;
mod snippet;
mod spurious;
mod summary;
mod verdict_line;

use std::io;

use camino::Utf8Path;

pub(crate) use human::Human;
pub(crate) use json::Json;
pub(crate) use last_run::LastRun;
pub(crate) use live_trace::Trace;
pub(crate) use markdown::{Surroundings, markdown};
pub(crate) use objects::Objects;
pub(crate) use page::page;
pub(crate) use pointers::Pointers;
pub(crate) use reporter::Reporter;
pub(crate) use run_state::RunState;

use coverage_plot::CoveragePlot;
use github::GitHub;
use junit::JUnit;
use plain::Plain;
use repository::Repository;
use sarif::Sarif;
use short::Short;

use crate::analysis::Detail;
use crate::cli::{MessageFormat, RunOptions};
use crate::error::Result;
use crate::events::Event;

/// The reporters that `options` and the environment select.
///
/// Reports for people always go to standard error; standard output is for programs.
pub(crate) fn reporter(
    options: &RunOptions,
    workspace_root: &Utf8Path,
) -> Result<Box<dyn Reporter>> {
    let repository = || Repository::around(workspace_root);
    let plain = || Plain::new(workspace_root);
    let mut all: Vec<Box<dyn Reporter>> = Vec::new();
    if let Some(path) = &options.reports.junit {
        all.push(Box::new(JUnit::create(path, plain())?));
    }
    if let Some(path) = &options.reports.sarif {
        all.push(Box::new(Sarif::create(path, repository())?));
    }
    if let Some(path) = &options.reports.coverage_plot {
        all.push(Box::new(CoveragePlot::create(path)?));
    }
    // The reporters of files come first: they get each event even if the consumer of standard
    // output has closed it.
    match options.message_format {
        MessageFormat::Human => {}
        MessageFormat::Short => all.push(Box::new(Short::new(io::stdout()))),
        MessageFormat::Json => all.push(Box::new(Json::new(io::stdout()))),
    }
    all.push(Box::new(Human::on_stderr(options, workspace_root)));
    if let Some(github) = GitHub::find(repository(), plain()) {
        all.push(Box::new(github));
    }
    Ok(Box::new(All(all)))
}

/// Several reporters. Each event goes to all of them, in this order.
struct All(Vec<Box<dyn Reporter>>);

impl Reporter for All {
    fn event(&mut self, event: &Event, detail: Option<&Detail>) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|it| it.event(event, detail))
    }

    fn state(&mut self, state: &RunState) {
        for reporter in &mut self.0 {
            reporter.state(state);
        }
    }

    fn warn(&mut self, message: &str) {
        for reporter in &mut self.0 {
            reporter.warn(message);
        }
    }
}

#[cfg(test)]
mod samples;
