// The panes next to the timeline: the step, its source, locks, waiting tasks, values.

const byId = (id) => document.getElementById(id);

/** Shows the event in words, with links to the events that happen directly before and after it. */
function showEvent(run, event, choose) {
  const task = run.task[event];
  const what = make("p", { className: "what" });
  what.append(`${event + 1}. `, make("span", { textContent: run.tasks[task], number: task }));
  what.lastChild.style.color = "var(--task)";
  what.append(`: ${run.operation(event)}`);
  const lines = [what];
  const place = run.place(event);
  if (place) lines.push(make("p", { textContent: `at ${place}:${run.column[event]}` }));
  const caller = run.caller(event);
  if (caller) lines.push(make("p", { textContent: `called from ${caller}` }));
  if (run.notes[event]) lines.push(make("p", { textContent: run.notes[event] }));
  const links = (words, events) => {
    if (!events?.length) return;
    const line = make("p", {}, words);
    for (const other of events.slice(0, 12)) {
      const text = `${other + 1} (${run.tasks[run.task[other]]}: ${run.operation(other)})`;
      const link = make("a", { href: `#step=${other + 1}`, textContent: text });
      link.addEventListener("click", (click) => {
        click.preventDefault();
        choose(other);
      });
      line.append(" ", link);
    }
    lines.push(line);
  };
  links("happens after", run.after[event]);
  links("happens before", run.before[event]);
  for (const panic of run.panics.filter((it) => it.event === event + 1)) {
    const text = `${run.tasks[panic.task]} panics: ${panic.message}`;
    lines.push(make("p", { className: "panic", textContent: text }));
  }
  byId("event").replaceChildren(...lines);
}

/** Shows the source file of the step at its line, and the lines of the other tasks in this file. */
function showSource(run, step) {
  const pane = byId("source");
  // If the event has no line, the last earlier line of its task is shown.
  let event = step;
  while (event >= 0 && (run.file[event] < 0 || run.task[event] !== run.task[step])) event--;
  // If the task has no earlier line, the line of its spawn is shown.
  if (event < 0) event = run.after[step]?.[0] ?? -1;
  const file = event < 0 ? -1 : run.file[event];
  if (file < 0) {
    pane.querySelectorAll(".current").forEach((it) => it.classList.remove("current"));
    return;
  }
  if (pane.dataset.file !== String(file)) {
    pane.dataset.file = file;
    const { path, text } = data.files[file];
    const parts = [make("div", { className: "path", textContent: path })];
    if (text === null) {
      parts.push(make("p", { className: "none", textContent: "This file is not part of the page." }));
    } else {
      const code = make("div", { className: "code" });
      text.split("\n").forEach((line, index) => {
        code.append(
          make("span", { className: "who" }),
          make("span", { className: "number", textContent: index + 1 }),
          make("span", { textContent: line }),
        );
      });
      parts.push(code);
    }
    pane.replaceChildren(...parts);
  }
  const cells = pane.querySelector(".code")?.children;
  if (!cells) return;
  pane.querySelectorAll(".current").forEach((it) => it.classList.remove("current"));
  pane.querySelectorAll(".who").forEach((it) => it.textContent && (it.textContent = ""));
  const tasksAt = new Map();
  for (const [task, last] of run.lastEvents(step + 1)) {
    if (run.file[last] !== file) continue;
    const line = run.line[last];
    tasksAt.set(line, [...(tasksAt.get(line) ?? []), run.tasks[task]]);
  }
  for (const [line, tasks] of tasksAt) {
    const who = cells[(line - 1) * 3];
    if (!who) continue;
    who.textContent = tasks.length > 1 ? `${tasks.length} tasks` : tasks[0].slice(0, 9);
    who.title = `${tasks.join(", ")}: here last`;
  }
  const place = (run.line[event] - 1) * 3;
  const current = [cells[place], cells[place + 1], cells[place + 2]];
  current.forEach((cell) => cell?.classList.add("current"));
  const line = cells[place + 1];
  if (!line) return;
  const [top, height] = [line.offsetTop, pane.clientHeight];
  if (top < pane.scrollTop + 50 || top > pane.scrollTop + height - 50) {
    pane.scrollTop = top - height / 2;
  }
}

/** Shows the held locks, and a graph of the waiting tasks. */
function showState(run, steps) {
  const { held, waiting } = run.stateAfter(steps);
  const waitersOf = (object) =>
    waiting.filter(([, kind, on]) => kind === "lock" && on === object).map(([task]) => run.tasks[task]);
  const rows = held.map(([object, shared, tasks]) => {
    const holders = tasks.map((task) => run.tasks[task]).join(", ") + (shared ? " (shared)" : "");
    return [run.objects[object], holders, waitersOf(object).join(", ")];
  });
  const other = waiting.filter(([, kind]) => kind !== "lock").map(([task, kind, object, others]) => {
    const names = others.map((it) => run.tasks[it]).join(", ");
    const what = kind === "end" ? `${names} to end` : `a notification of ${run.objects[object]}`;
    return make("p", { textContent: `${run.tasks[task]} waits for ${what}` });
  });
  const row = (tag, cells) => make("tr", {}, ...cells.map((text) => make(tag, { textContent: text })));
  const parts = rows.length
    ? [make("table", {}, row("th", ["lock", "held by", "awaited by"]), ...rows.map((it) => row("td", it)))]
    : [make("p", { className: "none", textContent: "No lock is held." })];
  byId("locks").replaceChildren(...parts, ...other);
  showGraph(run, waiting);
}

/** The tasks on a cycle of the graph of waiting tasks. */
function circle(edges) {
  const next = new Map();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const reaches = (from, to, seen = new Set()) =>
    (next.get(from) ?? []).some((it) => {
      if (it === to) return true;
      if (seen.has(it)) return false;
      seen.add(it);
      return reaches(it, to, seen);
    });
  return new Set([...next.keys()].filter((task) => reaches(task, task)));
}

function showGraph(run, waiting) {
  const edges = waiting.flatMap(([from, kind, object, others]) =>
    others.map((to) => ({ from, to, object: kind === "end" ? "end" : run.objects[object] })),
  );
  const tasks = [...new Set(edges.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  if (!edges.length) {
    byId("graph").replaceChildren();
    return;
  }
  const radius = 30 + tasks.length * 14;
  const width = 2 * radius + 130;
  const height = tasks.length > 2 ? 2 * radius + 70 : 80;
  const place = (task) => {
    const angle = (2 * Math.PI * tasks.indexOf(task)) / tasks.length - Math.PI;
    return [width / 2 + radius * Math.cos(angle), height / 2 + radius * Math.sin(angle)];
  };
  const inCircle = circle(edges);
  const lines = edges.flatMap(({ from, to, object }, index) => {
    const [[x1, y1], [x2, y2]] = [place(from), place(to)];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    // If two tasks wait for each other, their two lines are drawn next to each other.
    const both = edges.some((it) => it.from === to && it.to === from && from !== to);
    const aside = both ? 9 : 0;
    const shift = (x, y, along) => [x + dx * along - dy * aside, y + dy * along + dx * aside];
    const [[a, b], [c, d]] = [shift(x1, y1, 26), shift(x2, y2, -30)];
    const isBad = inCircle.has(from) && inCircle.has(to);
    const marker = isBad ? "url(#bad-head)" : "url(#head)";
    const line = { x1: a, y1: b, x2: c, y2: d, class: isBad ? "cycle" : "", "marker-end": marker };
    const label = { x: a + (c - a) * 0.5 - dy * aside, y: b + (d - b) * 0.5 + dx * aside, class: "object" };
    return [makeSvg("line", { ...line, "data-edge": index }), makeSvg("text", label, object)];
  });
  const nodes = tasks.flatMap((task) => {
    const [cx, cy] = place(task);
    const name = run.tasks[task];
    return [
      makeSvg("circle", { cx, cy, r: 25, number: task }),
      makeSvg("text", { x: cx, y: cy }, name.length > 8 ? name.slice(0, 7) + "\u2026" : name),
    ];
  });
  const head = (id, color) => {
    const size = { id, viewBox: "0 0 10 10", refX: 8, refY: 5, markerWidth: 12, markerHeight: 12 };
    const marker = makeSvg("marker", { ...size, orient: "auto", markerUnits: "userSpaceOnUse" });
    marker.append(makeSvg("path", { d: "M0 0 L10 5 L0 10 z", style: `fill: var(${color})` }));
    return marker;
  };
  const svg = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  const words = edges.map(({ from, to }) => `${run.tasks[from]} waits for ${run.tasks[to]}`);
  svg.setAttribute("aria-label", words.join("; "));
  svg.append(head("head", "--dim"), head("bad-head", "--bad"), ...lines, ...nodes);
  byId("graph").replaceChildren(svg);
}

/** Shows the value of each atomic after the event. */
function showValues(run, event) {
  const values = [...run.valuesAfter(event + 1)];
  values.sort(([a], [b]) => run.objects[a].localeCompare(run.objects[b], "en", { numeric: true }));
  const parts = values.map(([object, value]) => {
    const className = object === run.object[event] ? "current" : "";
    return make("span", { className, textContent: `${run.objects[object]}: ${value}` });
  });
  const none = make("span", { className: "none", textContent: "None is known." });
  byId("values").replaceChildren(...(parts.length ? parts : [none]));
}
