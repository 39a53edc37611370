//! The picture of the curves: states by executions, on a logarithmic scale.

use std::fmt::Write as _;

use crate::states::Curve;

/// The size of the picture and the margins around the area of the curves, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 44.0;

/// The colours of the curves, in their order.
const COLOURS: [&str; 9] = [
    "#d62728", "#1f77b4", "#17becf", "#2ca02c", "#9467bd", "#8c564b", "#ff7f0e", "#7f7f7f",
    "#000000",
];

/// The picture as SVG.
pub(crate) fn svg(curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|it| it.points.iter().copied());
    let last = points().map(|(at, _)| at).max().unwrap_or(1).max(2);
    let most = points().map(|(_, states)| states).max().unwrap_or(1).max(1);
    let across = |at: u64| LEFT + float(at).log2() / float(last).log2() * (WIDTH - LEFT - RIGHT);
    let up = |states: u64| {
        let bottom = HEIGHT - BOTTOM;
        bottom - float(states) / float(most) * (bottom - TOP)
    };
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>\n\
         <text x=\"{0}\" y=\"{1}\" text-anchor=\"end\">{most}</text>\n\
         <text x=\"{LEFT}\" y=\"{2}\" text-anchor=\"middle\">1</text>\n\
         <text x=\"{right}\" y=\"{2}\" text-anchor=\"middle\">{last}</text>\n\
         <text x=\"{3}\" y=\"{4}\" text-anchor=\"middle\">states by executions (logarithmic)</text>\n",
        LEFT - 6.0,
        TOP + 4.0,
        bottom + 16.0,
        LEFT.midpoint(right),
        bottom + 34.0,
    );
    // The names are next to the ends of the curves, each one below the previous one.
    let mut ends: Vec<_> = curves.iter().zip(COLOURS).collect();
    ends.sort_by_key(|(curve, _)| std::cmp::Reverse(curve.points.last().map(|it| it.1)));
    let mut lowest = 0.0;
    for (curve, colour) in ends {
        let places = curve.points.iter();
        let places: Vec<_> = places
            .map(|&(at, states)| format!("{:.1},{:.1}", across(at), up(states)))
            .collect();
        let end = up(curve.points.last().map_or(0, |it| it.1)) + 4.0;
        lowest = end.max(lowest + 14.0);
        let is_bold = curve.name == "auto";
        writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\"/>\n\
             <text x=\"{}\" y=\"{lowest:.1}\" fill=\"{colour}\">{}</text>",
            places.join(" "),
            if is_bold { 3 } else { 1 },
            right + 6.0,
            curve.name,
        )
        .expect("memory takes every byte");
    }
    text.push_str("</svg>\n");
    text
}

#[expect(clippy::cast_precision_loss, reason = "pixels need three digits")]
fn float(number: u64) -> f64 {
    number as f64
}
