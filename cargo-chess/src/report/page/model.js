// The data of the page, and values derived from them: executions, orders of events, and states.

const data = JSON.parse(document.getElementById("data").textContent);

/** An execution: an element of `data.runs`, and maps for frequent lookups. */
class Run {
  constructor(raw) {
    Object.assign(this, raw);
    this.count = raw.task.length;
    // For each event, the events of other tasks that directly follow it: the inverse of `after`.
    this.before = {};
    for (const [later, earlier] of Object.entries(raw.after)) {
      for (const event of earlier) {
        (this.before[event] ??= []).push(Number(later));
      }
    }
    this.texts = null;
    // The calls whose events have a row each. Each call is represented by its first event.
    this.open = new Set();
    this.callOf = new Map();
    for (const [first, count, name] of raw.calls) {
      for (let event = first; event < first + count; event++) {
        this.callOf.set(event, { first, count, name });
      }
    }
  }

  /** The call that contains this event, if the call is shown as one row. */
  closedCall(event) {
    const call = this.callOf.get(event);
    return call && !this.open.has(call.first) ? call : null;
  }

  /** The line of the user's statement that led to an event in other code. */
  caller(event) {
    const caller = this.callers[event];
    return caller ? `${data.files[caller[0]].path}:${caller[1]}` : "";
  }

  /** The text of the event with this index, such as `load A1: 0 -> 1`. */
  operation(event) {
    const object = this.object[event];
    const name = object < 0 ? "" : " " + this.objects[object];
    const values = this.values(event);
    return this.ops[this.op[event]] + name + (values && ": " + values);
  }

  values(event) {
    const [read, written] = [this.read[event], this.written[event]];
    if (read !== undefined && written !== undefined) return `${read} \u2192 ${written}`;
    return read ?? written ?? "";
  }

  place(event) {
    const file = this.file[event];
    return file < 0 ? "" : `${data.files[file].path}:${this.line[event]}`;
  }

  /** For each event, the text that a search reads. */
  searched() {
    this.texts ??= Array.from({ length: this.count }, (_, event) => {
      const task = this.tasks[this.task[event]];
      const note = this.notes[event] ?? "";
      return `${task}: ${this.operation(event)} ${note} ${this.place(event)}`.toLowerCase();
    });
    return this.texts;
  }

  /** The events whose texts contain `text`. */
  search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const found = [];
    this.searched().forEach((it, event) => it.includes(wanted) && found.push(event));
    return found;
  }

  /** The holders of locks and the waiting tasks after `steps` events. */
  stateAfter(steps) {
    let [low, high] = [0, this.states.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.states[middle][0] <= steps) low = middle + 1;
      else high = middle;
    }
    const [, held, waiting] = this.states[low - 1] ?? [0, [], []];
    return { held, waiting };
  }

  /** The last known value of each atomic after `steps` events. */
  valuesAfter(steps) {
    const values = new Map();
    for (let event = 0; event < steps; event++) {
      const value = this.written[event] ?? this.read[event];
      if (value !== undefined) values.set(this.object[event], value);
    }
    return values;
  }

  /** For each task, its last event among the first `steps` events. */
  lastEvents(steps) {
    const last = new Map();
    for (let event = 0; event < steps; event++) last.set(this.task[event], event);
    return last;
  }

  /**
   * The rows of the timeline: the events on `object`, or all events if it is negative, and the
   * marks.
   */
  items(object) {
    const items = [];
    let mark = 0;
    const marksUpTo = (event) => {
      for (; mark < this.marks.length && this.marks[mark][0] <= event; mark++) {
        items.push({ mark: this.marks[mark] });
      }
    };
    for (let event = 0; event < this.count; event++) {
      marksUpTo(event);
      const call = object < 0 && this.closedCall(event);
      if (call && call.first !== event) continue;
      if (object < 0 || this.object[event] === object) items.push(call ? { event, call } : { event });
    }
    marksUpTo(Infinity);
    return items;
  }
}

const runs = data.runs.map((raw) => new Run(raw));
