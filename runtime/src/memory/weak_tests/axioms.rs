//! Brute force by the axioms of a memory model: all consistent graphs of a program of atomics,
//! fences and locks. It shares no code with the implementation that it checks.
//!
//! A graph grows by one event of some task at a time: a load with each store that it could read,
//! or a store at each place of the modification order. If the axioms forbid a graph, they forbid
//! each larger one, so that this graph is not continued. Each graph is continued once.

use std::collections::{BTreeSet, HashSet};

use core::sync::atomic::Ordering;

use super::super::Model;
use crate::search::testing::{Act, Atomic, Final, OBJECTS, Program, seen_after};

/// A relation on events, or a set of events for each event. Bit `b` of the number with index `a`
/// stands for the pair (a, b).
type Relation = Vec<u32>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Init,
    Access,
    Fence,
    Lock,
    Unlock,
}

#[derive(Clone, Copy)]
struct Event {
    kind: Kind,
    task: usize,
    /// The number of the event among the events of its task, from 1 on.
    number: u64,
    /// The index of the value, or of the lock.
    object: usize,
    order: Ordering,
    /// The event whose store this event reads.
    reads: Option<usize>,
    writes: Option<u64>,
    /// A read-modify-write, even if it fails.
    is_update: bool,
}

impl Event {
    fn acquires(&self) -> bool {
        use Ordering::{AcqRel, Acquire, SeqCst};
        matches!(self.order, Acquire | AcqRel | SeqCst)
    }

    fn releases(&self) -> bool {
        use Ordering::{AcqRel, Release, SeqCst};
        matches!(self.order, Release | AcqRel | SeqCst)
    }

    fn is_sc(&self) -> bool {
        self.order == Ordering::SeqCst && matches!(self.kind, Kind::Access | Kind::Fence)
    }

    fn name(&self) -> u64 {
        match self.kind {
            Kind::Init => 0,
            _ => (self.task as u64 + 1) << 32 | self.number,
        }
    }
}

#[derive(Clone)]
struct Graph {
    events: Vec<Event>,
    /// The modification order of each value.
    orders: Vec<Vec<usize>>,
    /// The events of each lock, in order.
    locks: Vec<Vec<usize>>,
    at: Vec<usize>,
    seen: Vec<u64>,
}

/// The graphs of a program.
#[derive(Default)]
pub(super) struct Allowed {
    pub(super) ends: BTreeSet<Final>,
    /// The names of the graphs. A name consists of the names of each load and its store, the
    /// modification orders, and for each lock the order of the tasks that held it.
    pub(super) graphs: BTreeSet<Vec<u64>>,
}

/// All graphs of `program` that `model` allows. `None` if there are more than `most` graphs,
/// incomplete ones included.
pub(super) fn allowed(program: &Program, model: Model, most: usize) -> Option<Allowed> {
    let init = |object| Event {
        kind: Kind::Init,
        task: usize::MAX,
        number: 0,
        object,
        order: Ordering::Relaxed,
        reads: None,
        writes: Some(0),
        is_update: false,
    };
    let first = Graph {
        events: (0..OBJECTS).map(init).collect(),
        orders: (0..OBJECTS).map(|object| vec![object]).collect(),
        locks: vec![Vec::new(); OBJECTS],
        at: vec![0; program.len()],
        seen: vec![0; program.len()],
    };
    let mut allowed = Allowed::default();
    let mut known = HashSet::new();
    let mut stack = vec![first];
    while let Some(graph) = stack.pop() {
        if known.len() > most {
            return None;
        }
        let mut key = graph.key();
        key.extend(graph.at.iter().map(|&at| at as u64));
        if !known.insert(key) {
            continue;
        }
        let next: Vec<Graph> = (0..program.len())
            .flat_map(|task| graph.after(program, task))
            .collect();
        if next.is_empty() {
            allowed.ends.insert(graph.end());
            allowed.graphs.insert(graph.key());
        }
        stack.extend(next.into_iter().filter(|next| next.is_consistent(model)));
    }
    Some(allowed)
}

impl Graph {
    /// The graphs with one more event of `task`, consistent or not.
    fn after(&self, program: &Program, task: usize) -> Vec<Self> {
        let Some(&act) = program[task].get(self.at[task]) else {
            return Vec::new();
        };
        let mut event = Event {
            kind: Kind::Access,
            task,
            number: 1 + self.events.iter().filter(|it| it.task == task).count() as u64,
            object: 0,
            order: Ordering::Relaxed,
            reads: None,
            writes: None,
            is_update: false,
        };
        match act {
            Act::Fence(order) => {
                (event.kind, event.order) = (Kind::Fence, order);
                vec![self.with(event)]
            }
            Act::Lock(lock) | Act::Unlock(lock) => {
                event.object = lock as usize;
                let order = &self.locks[event.object];
                let is_held = order
                    .last()
                    .is_some_and(|&it| self.events[it].kind == Kind::Lock);
                event.kind = match act {
                    Act::Lock(_) if is_held => return Vec::new(),
                    Act::Lock(_) => Kind::Lock,
                    _ => Kind::Unlock,
                };
                let mut next = self.with(event);
                next.locks[event.object].push(self.events.len());
                vec![next]
            }
            Act::Atomic(v, access) => {
                event.object = v as usize;
                let reads = !matches!(access, Atomic::Store(..));
                event.is_update = reads && !matches!(access, Atomic::Load(_));
                let order = &self.orders[event.object];
                let met = order.iter().enumerate().map(|(place, &store)| {
                    let value = self.events[store].writes.expect("it is a store");
                    event.writes = access.written(value);
                    event.order = access.order(event.writes.is_some());
                    event.reads = reads.then_some(store);
                    let mut next = self.with(event);
                    if event.writes.is_some() {
                        next.orders[event.object].insert(place + 1, self.events.len());
                    }
                    if reads {
                        next.seen[task] = seen_after(next.seen[task], value);
                    }
                    next
                });
                met.collect()
            }
            other => unreachable!("{other:?} is no act of such a program"),
        }
    }

    fn with(&self, event: Event) -> Self {
        let mut next = self.clone();
        next.events.push(event);
        next.at[event.task] += 1;
        next
    }

    fn end(&self) -> Final {
        let newest = |order: &Vec<usize>| {
            let newest = order.last().expect("it has an initial value");
            self.events[*newest].writes.expect("it is a store")
        };
        let values: Vec<u64> = self.orders.iter().map(newest).collect();
        Final {
            values: values.try_into().expect("one for each value"),
            seen: self.seen.clone(),
            at: self.at.clone(),
        }
    }

    fn key(&self) -> Vec<u64> {
        let name = |event: usize| self.events[event].name();
        let reads = self
            .events
            .iter()
            .filter_map(|event| Some((event.name(), event.reads?)));
        let mut reads: Vec<_> = reads.map(|(read, store)| [read, name(store)]).collect();
        reads.sort_unstable();
        let mut key: Vec<u64> = reads.concat();
        for order in &self.orders {
            key.push(u64::MAX);
            key.extend(order.iter().map(|&event| name(event)));
        }
        for lock in &self.locks {
            key.push(u64::MAX);
            let takes = lock
                .iter()
                .filter(|&&it| self.events[it].kind == Kind::Lock);
            key.extend(takes.map(|&it| self.events[it].task as u64));
        }
        key
    }

    /// The relation of all pairs for which `has` is true.
    fn relation(&self, has: impl Fn(usize, usize) -> bool) -> Relation {
        let all = 0..self.events.len();
        let row = |a: usize| {
            let after = all.clone().filter(|&b| a != b && has(a, b));
            after.fold(0, |row, b| row | 1 << b)
        };
        all.clone().map(row).collect()
    }

    fn program_order(&self) -> Relation {
        self.relation(|a, b| {
            let (first, second) = (&self.events[a], &self.events[b]);
            first.kind == Kind::Init && second.kind != Kind::Init
                || first.task == second.task && first.number < second.number
        })
    }

    /// The relations by which events communicate, with the names of the papers: `rf` (a load reads
    /// from a store), `mo` (a store precedes another one in the modification order) and `rb` (a
    /// load reads from a store that precedes another store).
    fn communication(&self) -> [Relation; 3] {
        let [mut rf, mut mo, mut rb] = [const { Vec::new() }; 3];
        for relation in [&mut rf, &mut mo, &mut rb] {
            relation.resize(self.events.len(), 0);
        }
        for order in &self.orders {
            let mut later = 0;
            for &store in order.iter().rev() {
                mo[store] = later;
                later |= 1 << store;
            }
        }
        for (read, event) in self.events.iter().enumerate() {
            if let Some(source) = event.reads {
                rf[source] |= 1 << read;
                rb[read] = mo[source] & !(1 << read);
            }
        }
        [rf, mo, rb]
    }

    /// The order of the events of each lock.
    fn lock_order(&self) -> Relation {
        let mut order = vec![0; self.events.len()];
        for lock in &self.locks {
            let mut later = 0;
            for &event in lock.iter().rev() {
                order[event] = later;
                later |= 1 << event;
            }
        }
        order
    }

    fn is_consistent(&self, model: Model) -> bool {
        let [rf, mo, rb] = &self.communication();
        let is_atomic = self.orders.iter().all(|order| {
            order.windows(2).all(|pair| {
                let later = &self.events[pair[1]];
                later.reads.is_none_or(|source| source == pair[0])
            })
        });
        let po = &self.program_order();
        let locks = &self.lock_order();
        is_atomic
            && match model {
                Model::Sc => is_acyclic(union(&[po, rf, mo, rb, locks])),
                Model::Tso => self.is_tso(po, [rf, mo, rb], locks),
                Model::C11 => self.is_rc11(po, [rf, mo, rb], locks),
            }
    }

    /// Whether TSO allows the graph (Alglave, Maranget and Tautschnig, TOPLAS'14, figure 21).
    fn is_tso(&self, po: &Relation, [rf, mo, rb]: [&Relation; 3], locks: &Relation) -> bool {
        let events = &self.events;
        let meet = |a: usize, b: usize| {
            let (a, b) = (&events[a], &events[b]);
            let are_accesses = ![a, b].iter().any(|it| it.kind == Kind::Fence);
            are_accesses
                && a.object == b.object
                && matches!(a.kind, Kind::Lock | Kind::Unlock)
                    == matches!(b.kind, Kind::Lock | Kind::Unlock)
        };
        let po_loc = self.relation(|a, b| has(po, a, b) && meet(a, b));
        if !is_acyclic(union(&[&po_loc, rf, mo, rb, locks])) {
            return false;
        }
        // An instruction with a lock prefix, or a fence.
        let drains = |event: usize| match events[event].kind {
            Kind::Init => false,
            Kind::Lock | Kind::Unlock => true,
            Kind::Fence => events[event].is_sc(),
            Kind::Access => {
                events[event].is_update || events[event].reads.is_none() && events[event].is_sc()
            }
        };
        let is_instruction = |event: usize| events[event].kind != Kind::Fence || drains(event);
        let kept = self.relation(|a, b| {
            if !has(po, a, b) || !is_instruction(a) || !is_instruction(b) {
                return false;
            }
            let is_plain = |event: usize| events[event].kind == Kind::Access && !drains(event);
            let writes_then_reads = is_plain(a)
                && is_plain(b)
                && events[a].writes.is_some()
                && events[b].writes.is_none();
            let mut between = 0..events.len();
            !writes_then_reads || between.any(|it| drains(it) && has(po, a, it) && has(po, it, b))
        });
        let outside = self.relation(|a, b| has(rf, a, b) && events[a].task != events[b].task);
        is_acyclic(union(&[&kept, &outside, mo, rb, locks]))
    }

    /// Whether RC11 allows the graph (Lahav, Vafeiadis, Kang, Hur and Dreyer, PLDI'17, definition
    /// 1, with the release sequences of C++20). `po` and `rf` together are acyclic by
    /// construction.
    fn is_rc11(&self, po: &Relation, [rf, mo, rb]: [&Relation; 3], locks: &Relation) -> bool {
        let events = &self.events;
        let all = 0..events.len();
        let is_fence = |event: usize| events[event].kind == Kind::Fence;
        // For each store, the stores of the release sequence that it heads.
        let next = self.relation(|a, b| has(rf, a, b) && events[b].writes.is_some());
        let sequence = or_same(closure(next));
        // The release fences before the head of a sequence, and the acquire fences after a read of
        // it.
        let begins = self.relation(|a, b| is_fence(a) && events[a].releases() && has(po, a, b));
        let ends = self.relation(|a, b| is_fence(b) && events[b].acquires() && has(po, a, b));
        let mut synchronizes = locks.clone();
        for head in all.clone().filter(|&it| events[it].kind == Kind::Access) {
            if events[head].writes.is_none() {
                continue;
            }
            let mut froms: Vec<usize> = all.clone().filter(|&a| has(&begins, a, head)).collect();
            if events[head].releases() {
                froms.push(head);
            }
            let stores = all.clone().filter(|&store| has(&sequence, head, store));
            let reads = stores.flat_map(|store| all.clone().filter(move |&b| has(rf, store, b)));
            for read in reads {
                let mut tos: Vec<usize> = all.clone().filter(|&b| has(&ends, read, b)).collect();
                if events[read].acquires() {
                    tos.push(read);
                }
                for &from in &froms {
                    synchronizes[from] |= tos.iter().fold(0, |row, to| row | 1 << to);
                }
            }
        }
        let hb = closure(union(&[po, &synchronizes]));
        let eco = closure(union(&[rf, mo, rb]));
        let is_coherent = |a: usize| !has(&hb, a, a) && !has(&then(&hb, &eco), a, a);
        if !all.clone().all(is_coherent) {
            return false;
        }
        let object = |event: usize| match events[event].kind {
            Kind::Fence => None,
            Kind::Init | Kind::Access => Some((0, events[event].object)),
            Kind::Lock | Kind::Unlock => Some((1, events[event].object)),
        };
        let meet = |a: usize, b: usize| object(a).is_some() && object(a) == object(b);
        let elsewhere = self.relation(|a, b| has(po, a, b) && !meet(a, b));
        let same = self.relation(|a, b| has(&hb, a, b) && meet(a, b));
        let indirect = then(&then(&elsewhere, &hb), &elsewhere);
        let scb = union(&[po, &indirect, &same, mo, rb]);
        let sc = |it: usize| events[it].is_sc();
        let fence = |it: usize| sc(it) && is_fence(it);
        let mut left = self.relation(|a, b| fence(a) && has(&hb, a, b));
        let mut right = self.relation(|a, b| fence(b) && has(&hb, a, b));
        for it in all.clone().filter(|&it| sc(it)) {
            left[it] |= 1 << it;
            right[it] |= 1 << it;
        }
        let base = then(&then(&left, &scb), &right);
        let extended = union(&[&hb, &then(&then(&hb, &eco), &hb)]);
        let mut between = base;
        for a in all.clone().filter(|&a| fence(a)) {
            for b in all.clone().filter(|&b| fence(b) && has(&extended, a, b)) {
                between[a] |= 1 << b;
            }
        }
        is_acyclic(between)
    }
}

fn has(relation: &Relation, a: usize, b: usize) -> bool {
    relation[a] >> b & 1 == 1
}

fn union(relations: &[&Relation]) -> Relation {
    let rows = 0..relations[0].len();
    rows.map(|row| relations.iter().fold(0, |all, it| all | it[row]))
        .collect()
}

/// The composition of two relations.
fn then(first: &Relation, second: &Relation) -> Relation {
    let row = |&row: &u32| {
        let (mut through, mut after) = (row, 0);
        while through != 0 {
            after |= second[through.trailing_zeros() as usize];
            through &= through - 1;
        }
        after
    };
    first.iter().map(row).collect()
}

fn closure(mut relation: Relation) -> Relation {
    loop {
        let longer = union(&[&relation, &then(&relation, &relation)]);
        if longer == relation {
            return relation;
        }
        relation = longer;
    }
}

fn or_same(mut relation: Relation) -> Relation {
    for (it, row) in relation.iter_mut().enumerate() {
        *row |= 1 << it;
    }
    relation
}

fn is_acyclic(relation: Relation) -> bool {
    let closed = closure(relation);
    (0..closed.len()).all(|it| !has(&closed, it, it))
}
