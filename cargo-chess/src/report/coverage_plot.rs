//! The plot of the growth of coverage, as an SVG file. For each test, it shows the number of
//! distinct happens-before graphs and the number of observed states as functions of the number of
//! schedules.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};

use camino::Utf8Path;

use super::reporter::{Reporter, new_file};
use crate::analysis::Detail;
use crate::error::Result;
use crate::events::{Covered, Event, Growth};
use crate::text::thousands;

/// The size of the panel of a test in pixels, and the margins around its curves.
const WIDTH: u32 = 640;
const HEIGHT: u32 = 240;
const LEFT: u32 = 70;
const RIGHT: u32 = 20;
const TOP: u32 = 46;
const BOTTOM: u32 = 42;

/// A curve of a panel: its name, colour and values.
struct Curve {
    name: &'static str,
    colour: &'static str,
    value: fn(&Growth) -> u64,
}

const GRAPHS: Curve = Curve {
    name: "happens-before graphs",
    colour: "#1f77b4",
    value: |growth| growth.graphs,
};
const STATES: Curve = Curve {
    name: "observed states",
    colour: "#d62728",
    value: |growth| growth.states,
};

/// Writes the plot when the run ends, also if an error or an interrupt ends it.
pub(super) struct CoveragePlot {
    file: File,
    tests: Vec<(String, Covered)>,
}

impl CoveragePlot {
    /// Creates the reporter, and an empty file at `path`.
    pub(super) fn create(path: &Utf8Path) -> Result<Self> {
        Ok(Self {
            file: new_file(path)?,
            tests: Vec::new(),
        })
    }
}

impl Reporter for CoveragePlot {
    fn event(&mut self, event: &Event, _: Option<&Detail>) -> io::Result<()> {
        match event {
            Event::TestFinished(test) => {
                let covered = test.counts.covered.clone();
                let covered = covered.filter(|it| !it.growth.is_empty());
                self.tests
                    .extend(covered.map(|it| (test.id().to_string(), it)));
                Ok(())
            }
            Event::RunFinished(_) => self.file.write_all(svg(&self.tests).as_bytes()),
            Event::RunStarted(_) | Event::TestStarted(_) | Event::Progress(_) => Ok(()),
        }
    }
}

/// The picture, with a panel for each test.
fn svg(tests: &[(String, Covered)]) -> String {
    let height = HEIGHT * u32::try_from(tests.len().max(1)).unwrap_or(u32::MAX / HEIGHT);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (number, (name, covered)) in (0..).zip(tests) {
        panel(&mut text, number * HEIGHT, name, covered);
    }
    text.push_str("</svg>\n");
    text
}

fn panel(text: &mut String, top: u32, name: &str, covered: &Covered) {
    let mut put = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    put(&format!("<g transform=\"translate(0 {top})\">"));
    put(&format!(
        "<text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\">{}</text>",
        escaped(name)
    ));
    put(&format!(
        "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>"
    ));
    let curves: &[Curve] = if covered.states == 0 {
        &[GRAPHS]
    } else {
        &[GRAPHS, STATES]
    };
    let last = covered.growth.last().map_or(1, |last| last.schedules);
    let values = covered
        .growth
        .iter()
        .flat_map(|at| curves.iter().map(|curve| (curve.value)(at)));
    let most = values.max().unwrap_or(0).max(1);
    put(&format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
        LEFT - 6,
        TOP + 4,
        thousands(most)
    ));
    put(&format!(
        "<text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">0</text>",
        LEFT - 6
    ));
    for (at, anchor) in [(1, "middle"), (last, "end")] {
        put(&format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            across(at, last),
            bottom + 16,
            thousands(at)
        ));
        if last == 1 {
            break;
        }
    }
    put(&format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">schedules (logarithmic)</text>",
        LEFT.midpoint(right),
        bottom + 32
    ));
    for (curve, number) in curves.iter().zip(0..) {
        let x = LEFT + 180 * number;
        put(&format!(
            "<path d=\"M{x} 30h18\" stroke=\"{0}\" stroke-width=\"2\"/>\
             <text x=\"{1}\" y=\"34\" fill=\"{0}\">{2}</text>",
            curve.colour,
            x + 24,
            curve.name
        ));
        let mut points = String::new();
        for at in &covered.growth {
            let (x, y) = (across(at.schedules, last), up((curve.value)(at), most));
            write!(points, "{x},{y} ").expect("memory takes every byte");
        }
        put(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
            points.trim_end(),
            curve.colour
        ));
        for point in points.split_whitespace() {
            let (x, y) = point.split_once(',').unwrap_or_default();
            put(&format!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"2.5\" fill=\"{}\"/>",
                curve.colour
            ));
        }
    }
    put("</g>");
}

/// The horizontal coordinate of a number of schedules, on a logarithmic scale up to `last`.
fn across(schedules: u64, last: u64) -> String {
    let part = if last <= 1 {
        0.0
    } else {
        logarithm(schedules) / logarithm(last)
    };
    coordinate(f64::from(LEFT) + part * f64::from(WIDTH - LEFT - RIGHT))
}

/// The vertical coordinate of a value. The value `most` is at the top.
fn up(value: u64, most: u64) -> String {
    let part = to_float(value) / to_float(most);
    let bottom = f64::from(HEIGHT - BOTTOM);
    coordinate(bottom - part * (bottom - f64::from(TOP)))
}

fn logarithm(number: u64) -> f64 {
    to_float(number.max(1)).log2()
}

#[expect(clippy::cast_precision_loss, reason = "pixels need three digits")]
fn to_float(number: u64) -> f64 {
    number as f64
}

/// The text of a coordinate, with one decimal place. It is the same on every machine.
fn coordinate(place: f64) -> String {
    format!("{place:.1}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_a_panel_with_its_curves() {
        let growth = |counts: &[(u64, u64, u64)]| {
            let counts = counts.iter();
            counts
                .map(|&(schedules, states, graphs)| Growth {
                    schedules,
                    states,
                    graphs,
                })
                .collect()
        };
        let observes = Covered {
            states: 3,
            graphs: 6,
            growth: growth(&[(1, 1, 1), (2, 2, 2), (4, 3, 4), (6, 3, 6)]),
            ..Covered::default()
        };
        let one = Covered {
            graphs: 1,
            growth: growth(&[(1, 0, 1)]),
            ..Covered::default()
        };
        let tests = [
            ("bank::t a<b> & c".to_owned(), observes),
            ("bank::t one".to_owned(), one),
        ];
        insta::assert_snapshot!(svg(&tests));
    }
}
