//! `cargo chess test`: explores the tests of a build. `session.rs` builds them, and
//! `supervise/run.rs` runs them.

use crate::build;
use crate::cli::{RunOptions, TestArgs};
use crate::error::{Result, exit_code};
use crate::interrupt::Interrupt;
use crate::report;
use crate::session::Session;
use crate::supervise::{self, Inputs};

/// Explores the tests that `args` select. The exit code contains the result.
pub(crate) fn run(args: &TestArgs, interrupt: &Interrupt) -> Result<u8> {
    let options = RunOptions::from_test(args);
    let session = Session::open(
        &args.cargo,
        args.explore.profile.as_deref(),
        &args.reports.over(args.explore.to_layer()),
    )?;
    if args.no_run {
        let build = session.build(&args.cargo, &args.output, interrupt)?;
        build::print_executables(&session.plan, &build, args.output.shell());
        return Ok(exit_code::OK);
    }
    // Create the report files before the build, so that a failure is reported early.
    let mut reporter = report::reporter(&options, &session.plan.workspace_root)?;
    let build = session.build(&args.cargo, &args.output, interrupt)?;
    let inputs = Inputs {
        plan: &session.plan,
        config: &session.config,
        build: &build,
        cargo_flags: &args.cargo.build_flags(),
        options: &options,
        gating: None,
        interrupt,
    };
    supervise::run(inputs, &mut *reporter)
}
