// The controls of the page: keys, buttons and fields, and their effects on the shown step.

const keys = {
  ArrowRight: () => towards(1),
  ArrowDown: () => towards(1),
  j: () => towards(1),
  ArrowLeft: () => towards(-1),
  ArrowUp: () => towards(-1),
  k: () => towards(-1),
  "]": () => towards(1, isOfSameTask),
  "[": () => towards(-1, isOfSameTask),
  n: () => towards(1, isSwitch),
  p: () => towards(-1, isSwitch),
  Home: () => go(0),
  End: () => go(run().count - 1),
  "/": () => byId("search").focus(),
  f: () => filterBy(view.object < 0 ? run().object[view.event] : -1),
  Enter: () => toggleCall(view.event),
  t: toggleTheme,
  "?": () => byId("keys").showModal(),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === byId("search")) {
    if (event.key === "Enter") goToFound(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") byId("timeline").focus();
    return;
  }
  const pressed = event.key === "Enter" ? "select, input, dialog, button, a, summary" : "select, input, dialog";
  const isField = event.target.closest?.(pressed);
  const action = keys[event.key];
  if (isField || !action) return;
  event.preventDefault();
  action();
}

/** Connects the keys, buttons and fields of the page. */
function listen() {
  const presses = {
    first: keys.Home,
    last: keys.End,
    back: () => towards(-1),
    forward: () => towards(1),
    "switch-back": keys.p,
    "switch-on": keys.n,
    theme: toggleTheme,
    help: keys["?"],
  };
  for (const [id, press] of Object.entries(presses)) byId(id).addEventListener("click", press);
  byId("run").addEventListener("change", ({ target }) => {
    showRun(Number(target.value));
    filterBy(-1);
  });
  byId("filter").addEventListener("change", ({ target }) => {
    filterBy(target.value ? run().objects.indexOf(target.value) : -1);
  });
  byId("search").addEventListener("input", () => {
    search();
    timeline.mark();
    showFound();
  });
  byId("arrows").addEventListener("change", ({ target }) => {
    timeline.allArrows = target.checked;
    timeline.draw();
  });
  addEventListener("hashchange", follow);
  addEventListener("keydown", onKey);
}
