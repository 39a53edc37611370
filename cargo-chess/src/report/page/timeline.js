// The timeline: a column for each task, a row for each event. Only visible rows have elements.

const ROW = 24;
const NUMBERS = 56;
const PLACE = 190;
const NARROWEST_COLUMN = 110;
const SVG = "http://www.w3.org/2000/svg";

/** An element with these properties, and with text or children. */
function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "number") element.style.setProperty("--number", value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

function makeSvg(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "number") element.style.setProperty("--number", value);
    else element.setAttribute(key, value);
  }
  if (text !== undefined) element.textContent = text;
  return element;
}

class Timeline {
  constructor(choose, toggle) {
    this.box = document.getElementById("timeline");
    this.rows = document.getElementById("rows");
    this.heads = document.getElementById("tasks");
    this.svg = document.getElementById("order");
    this.narrow = matchMedia("(max-width: 760px)");
    this.shown = new Map();
    this.hits = new Set();
    this.current = 0;
    this.allArrows = true;
    this.box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.lay()).observe(this.box);
    this.rows.addEventListener("click", ({ target }) => {
      const row = target.closest(".row");
      if (!row?.dataset.event) return;
      const event = Number(row.dataset.event);
      if (target.closest(".fold")) toggle(event);
      else choose(event);
    });
  }

  /** Shows `items` of `run`. */
  show(run, items) {
    this.run = run;
    this.items = items;
    this.rowOf = new Map();
    items.forEach(({ event, call }, row) => {
      const count = call?.count ?? 1;
      for (let n = 0; event !== undefined && n < count; n++) this.rowOf.set(event + n, row);
    });
    this.lay();
  }

  /** Computes the widths, and draws everything again. */
  lay() {
    if (!this.run) return;
    const tasks = this.run.tasks.length;
    const room = this.box.clientWidth - NUMBERS - PLACE;
    this.column = Math.max(NARROWEST_COLUMN, Math.floor(room / tasks));
    this.width = this.narrow.matches
      ? this.box.clientWidth
      : Math.max(this.box.clientWidth, NUMBERS + tasks * this.column + PLACE);
    this.heads.style.width = this.rows.style.width = `${this.width}px`;
    this.rows.style.height = `${this.items.length * ROW}px`;
    this.heads.replaceChildren(
      ...this.run.tasks.map((name, number) => {
        const head = make("span", { textContent: name, title: name, number });
        head.style.left = `${this.left(number)}px`;
        head.style.width = `${this.column - 8}px`;
        head.style.color = "var(--task)";
        return head;
      }),
    );
    this.shown.forEach((row) => row.remove());
    this.shown.clear();
    this.draw();
  }

  left(task) {
    return NUMBERS + task * this.column;
  }

  /** The range of the visible rows and of a few rows above and below them. */
  visible() {
    const top = Math.max(0, this.box.scrollTop);
    const first = Math.max(0, Math.floor(top / ROW) - 8);
    const last = Math.min(this.items.length, Math.ceil((top + this.box.clientHeight) / ROW) + 8);
    return [first, last];
  }

  draw() {
    const [first, last] = this.visible();
    for (const [row, element] of this.shown) {
      if (row < first || row >= last) {
        element.remove();
        this.shown.delete(row);
      }
    }
    for (let row = first; row < last; row++) {
      if (!this.shown.has(row)) {
        const element = this.row(row);
        this.shown.set(row, element);
        this.rows.append(element);
      }
    }
    this.mark();
    if (!this.narrow.matches) this.drawOrder(first, last);
  }

  /** Marks the current row and the results of a search. */
  mark() {
    for (const [row, element] of this.shown) {
      const events = this.eventsOf(row);
      element.classList.toggle("current", events.includes(this.current));
      element.classList.toggle("hit", events.some((event) => this.hits.has(event)));
    }
  }

  /** The events that a row stands for. */
  eventsOf(row) {
    const { event, call } = this.items[row];
    if (event === undefined) return [];
    return Array.from({ length: call?.count ?? 1 }, (_, n) => event + n);
  }

  row(number) {
    const { event, call, mark } = this.items[number];
    const row = make("div", { className: "row" });
    row.style.top = `${number * ROW}px`;
    row.style.width = `${this.width}px`;
    const put = (element, left, width) => {
      element.style.left = `${left}px`;
      element.style.width = `${width}px`;
      row.append(element);
    };
    if (mark) {
      const [, kind, text] = mark;
      row.classList.add("mark", kind);
      put(make("span", { textContent: `~~~ ${text} ~~~`, title: text }), NUMBERS, this.width - NUMBERS);
      return row;
    }
    row.dataset.event = event;
    const task = this.run.task[event];
    const whole = this.run.callOf.get(event);
    const foldable = whole?.first === event;
    const operation = call ? `${call.name}: ${call.count} events` : this.run.operation(event);
    const note = this.run.notes[event] ? ` (${this.run.notes[event]})` : "";
    row.style.setProperty("--number", task);
    row.title = `${this.run.tasks[task]}: ${operation}${note}\n${this.run.place(event)}`;
    row.append(make("span", { className: "number", textContent: event + 1 }));
    if (foldable) {
      const title = call ? `Show the ${whole.count} events` : `One row for ${whole.name}`;
      put(make("span", { className: "fold", textContent: call ? "\u25b8" : "\u25be", title }), NUMBERS - 14, 14);
    }
    if (this.narrow.matches) {
      const whose = make("span", { className: "whose", textContent: this.run.tasks[task] });
      put(whose, NUMBERS, 72);
      put(make("span", { textContent: operation + note }), NUMBERS + 78, this.width - NUMBERS - 78);
      return row;
    }
    const left = this.left(task);
    put(make("span", { className: "dot" }), left, 9);
    const isLast = task === this.run.tasks.length - 1;
    put(make("span", { textContent: operation + note }), left + 15, this.column - (isLast ? 15 : 17));
    const where = (call && this.run.caller(event)) || this.run.place(event);
    const place = where.split("/").slice(-2).join("/");
    const placed = make("span", { className: "place", textContent: place });
    put(placed, NUMBERS + this.run.tasks.length * this.column + 6, PLACE - 12);
    return row;
  }

  /** Draws the tasks' lanes, and the arrows of happens-before that begin or end in these rows. */
  drawOrder(first, last) {
    const top = first * ROW;
    const height = (last - first) * ROW;
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("height", height);
    this.svg.style.top = `${top}px`;
    const parts = this.run.tasks.map((_, task) => {
      const x = this.left(task) + 4.5;
      return makeSvg("line", { x1: x, x2: x, y1: 0, y2: height, class: "lane" });
    });
    const y = (event) => (this.rowOf.get(event) + 0.5) * ROW - top;
    const x = (event) => this.left(this.run.task[event]) + 4.5;
    const arrow = (from, to, near) => {
      const [x1, y1, x2, y2] = [x(from), y(from), x(to), y(to)];
      const bend = Math.sign(x2 - x1) * Math.min(40, Math.abs(x2 - x1) / 2);
      const path = `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2 - 10} ${x2} ${y2 - 5}`;
      const weight = near ? " near" : "";
      parts.push(makeSvg("path", { d: path, class: `arrow${weight}` }));
      const head = `${x2 - 4},${y2 - 11} ${x2 + 4},${y2 - 11} ${x2},${y2 - 4}`;
      parts.push(makeSvg("polygon", { points: head, class: `head${weight}` }));
    };
    const drawn = new Set();
    const add = (from, to) => {
      const name = `${from} ${to}`;
      if (drawn.has(name) || !this.rowOf.has(from) || !this.rowOf.has(to)) return;
      drawn.add(name);
      const near = from === this.current || to === this.current;
      if (near || this.allArrows) arrow(from, to, near);
    };
    for (let row = first; row < last; row++) {
      for (const event of this.eventsOf(row)) {
        for (const from of this.run.after[event] ?? []) add(from, event);
        for (const to of this.run.before[event] ?? []) add(event, to);
      }
    }
    this.svg.replaceChildren(...parts);
  }

  /** Scrolls so that the column of a task is visible. */
  showColumn(task) {
    if (this.narrow.matches) return;
    const left = this.left(task);
    const { scrollLeft, clientWidth } = this.box;
    if (left < scrollLeft + NUMBERS || left + this.column > scrollLeft + clientWidth) {
      this.box.scrollLeft = left - Math.max(NUMBERS, (clientWidth - this.column) / 2);
    }
  }

  /** Makes `event` the current event, and scrolls so that its row is visible. */
  go(event) {
    this.current = event;
    const row = this.rowOf.get(event);
    if (row !== undefined) {
      // The heads cover the first row's height.
      const head = this.heads.offsetHeight;
      const room = this.box.clientHeight - head;
      const y = row * ROW;
      const { scrollTop } = this.box;
      if (y < scrollTop + ROW || y + 2 * ROW > scrollTop + room) {
        this.box.scrollTop = Math.max(0, y - room / 2);
      }
      this.showColumn(this.run.task[event]);
    }
    this.draw();
  }
}
