//! The facade of libtest: it serves the request of the supervisor (`cargo chess`), for instance to
//! explore a test. Without a request it behaves as libtest.

#![feature(test)]
#![forbid(unsafe_code)]

extern crate test as real;

use chess_runtime::harness::Expectation;
use chess_runtime::harness::{Request, Test, serve};
pub use real::*;

/// The entry point of a test binary's generated `main`.
pub fn test_main_static(tests: &[&TestDescAndFn]) {
    match Request::from_environment() {
        None => real::test_main_static(tests),
        Some(request) => {
            let tests: Vec<Test> = tests.iter().filter_map(|test| described(test)).collect();
            serve(&tests, request)
        }
    }
}

/// Like [`test_main_static`], for programs that abort on panic.
pub fn test_main_static_abort(tests: &[&TestDescAndFn]) {
    match Request::from_environment() {
        None => real::test_main_static_abort(tests),
        Some(_) => test_main_static(tests),
    }
}

fn described(test: &TestDescAndFn) -> Option<Test> {
    // The other kinds are benchmarks, which only nightly has, and tests that rustdoc generates.
    let TestFn::StaticTestFn(run) = test.testfn else {
        return None;
    };
    let TestName::StaticTestName(name) = test.desc.name else {
        return None;
    };
    let expectation = match test.desc.should_panic {
        ShouldPanic::No => Expectation::Pass,
        ShouldPanic::Yes => Expectation::Panic,
        ShouldPanic::YesWithMessage(message) => Expectation::PanicWith(message),
    };
    Some(Test {
        name,
        run,
        expectation,
    })
}
