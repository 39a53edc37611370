// The steps: the shown event, the search, the filter, and the address that contains them.

const view = { run: 0, event: 0, object: -1, found: [] };
const timeline = new Timeline(
  (event) => go(event),
  (event) => toggleCall(event),
);
const run = () => runs[view.run];

/** Shows the step of `event`. */
function go(event) {
  view.event = Math.max(0, Math.min(run().count - 1, event));
  timeline.go(view.event);
  if (run().count === 0) return;
  showEvent(run(), view.event, go);
  showState(run(), view.event + 1);
  showValues(run(), view.event);
  // The source is last, because its height depends on the other panes.
  showSource(run(), view.event);
  byId("position").textContent = `step ${view.event + 1} of ${run().count}`;
  showFound();
  link();
}

/** Shows the next row in this direction that has an event for which `wanted` returns true. */
function towards(direction, wanted = () => true) {
  let event = view.event + direction;
  while (event >= 0 && event < run().count) {
    const row = timeline.rowOf.get(event);
    const isOther = row !== undefined && row !== timeline.rowOf.get(view.event);
    if (isOther && wanted(event)) return go(timeline.items[row].event);
    event += direction;
  }
}

/** Switches between a row for each event of the call and one row for the whole call. */
function toggleCall(event) {
  const call = run().callOf.get(event);
  if (!call) return;
  if (!run().open.delete(call.first)) run().open.add(call.first);
  timeline.show(run(), run().items(view.object));
  go(run().closedCall(view.event)?.first ?? view.event);
}

const isSwitch = (event) => event > 0 && run().task[event] !== run().task[event - 1];
const isOfSameTask = (event) => run().task[event] === run().task[view.event];

/** Shows only the events on an object; -1 stands for all objects. */
function filterBy(object) {
  view.object = object;
  byId("filter").value = object < 0 ? "" : run().objects[object];
  timeline.show(run(), run().items(object));
  if (!timeline.rowOf.has(view.event)) {
    const shown = [...timeline.rowOf.keys()];
    const nearest = shown.findLast((it) => it <= view.event) ?? shown[0];
    return go(nearest ?? view.event);
  }
  go(view.event);
}

function showRun(number) {
  view.run = number;
  byId("run").value = number;
  const objects = [...new Set(run().object)].filter((it) => it >= 0).map((it) => run().objects[it]);
  objects.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const options = objects.map((name) => make("option", { value: name, textContent: name }));
  byId("filter").replaceChildren(make("option", { value: "", textContent: "all" }), ...options);
  delete byId("source").dataset.file;
  search();
}

function search() {
  view.found = run().search(byId("search").value);
  timeline.hits = new Set(view.found);
}

function showFound() {
  const { found } = view;
  const place = found.indexOf(view.event);
  const text = !byId("search").value.trim()
    ? ""
    : !found.length
      ? "not found"
      : place < 0
        ? `${found.length} found`
        : `${place + 1} of ${found.length}`;
  byId("found").textContent = text;
}

/** Shows the next found event in this direction. After the last one, the first one follows. */
function goToFound(direction) {
  const { found, event } = view;
  if (!found.length) return;
  const next = direction > 0 ? found.find((it) => it > event) : found.findLast((it) => it < event);
  const target = next ?? (direction > 0 ? found[0] : found.at(-1));
  if (!timeline.rowOf.has(target)) filterBy(-1);
  go(target);
}

/** Sets the page's address so that it leads to the current step. */
function link() {
  const parts = [`step=${view.event + 1}`];
  if (view.object >= 0) parts.push(`object=${encodeURIComponent(run().objects[view.object])}`);
  if (view.run > 0) parts.push(`run=${view.run + 1}`);
  history.replaceState(null, "", `#${parts.join("&")}`);
}

/** Shows the step that is in the page's address. */
function follow() {
  const address = new URLSearchParams(location.hash.slice(1));
  const number = Number(address.get("run") ?? 1) - 1;
  showRun(number in runs ? number : 0);
  const step = Number(address.get("step")) || run().start + 1;
  view.event = Math.max(0, Math.min(run().count - 1, step - 1));
  filterBy(run().objects.indexOf(address.get("object")));
}
