//! RC11: which late effects the language allows.
//!
//! A graph is consistent if `hb; eco` is irreflexive, updates are atomic, and `psc`, the order of
//! its sequentially consistent events, is acyclic (Lahav, Vafeiadis, Kang, Hur and Dreyer, PLDI'17,
//! section 4). `offered_stores.rs` considers only places of the modification order at which the
//! first two conditions hold. This file decides the third condition.

use super::graph::Window;
use super::relation::Relation;

/// The relations that decide whether a graph is consistent. They are kept to reuse their
/// allocations.
pub(super) struct Scratch {
    hb: Relation,
    elsewhere: Relation,
    between: Relation,
    scb: Relation,
    eco: Relation,
    psc: Relation,
}

impl Scratch {
    pub(super) const fn new() -> Self {
        Self {
            hb: Relation::new(),
            elsewhere: Relation::new(),
            between: Relation::new(),
            scb: Relation::new(),
            eco: Relation::new(),
            psc: Relation::new(),
        }
    }
}

/// Whether `psc` is acyclic.
pub(super) fn is_consistent(graph: &Window<'_>, scratch: &mut Scratch) -> bool {
    let size = graph.nodes.len();
    let is_sc = |a: usize| graph.nodes[a].event.is_sc;
    let is_fence = |a: usize| graph.nodes[a].is_sc_fence();
    if !(0..size).any(is_sc) {
        return true;
    }
    let Scratch {
        hb,
        elsewhere,
        between,
        scb,
        eco,
        psc,
    } = scratch;
    hb.fill(size, |a, b| graph.hb(a, b));
    elsewhere.fill(size, |a, b| graph.po(a, b) && !graph.meet(a, b));
    eco.compose(elsewhere, hb);
    between.compose(eco, elsewhere);
    scb.fill(size, |a, b| {
        graph.po(a, b) || graph.mo(a, b) || graph.rb(a, b) || graph.meet(a, b) && graph.hb(a, b)
    });
    scb.join(between);
    eco.fill(size, |a, b| graph.eco(a, b));
    psc.clear(size);
    // A pair consists of sequentially consistent events. If the first one is a fence, the path may
    // begin at an event after it in `hb`. If the second one is a fence, the path may end at an
    // event before it in `hb`.
    let mut reached = Relation::new();
    for a in (0..size).filter(|&a| is_sc(a)) {
        reached.clear(size);
        reached.add_row(a, scb, a);
        if is_fence(a) {
            for start in hb.after(a) {
                reached.add_row(a, scb, start);
            }
        }
        for end in reached.after(a) {
            if is_sc(end) {
                psc.add(a, end);
            }
            for fence in hb.after(end).filter(|&fence| is_fence(fence)) {
                psc.add(a, fence);
            }
        }
        if !is_fence(a) {
            continue;
        }
        for x in hb.after(a) {
            if is_fence(x) {
                psc.add(a, x);
            }
            for y in eco.after(x) {
                for fence in hb.after(y).filter(|&fence| is_fence(fence)) {
                    psc.add(a, fence);
                }
            }
        }
    }
    psc.is_acyclic()
}
