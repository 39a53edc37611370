// The start of the page: its texts, its controls, and its first step.

function start() {
  firstTheme();
  document.title = data.title;
  byId("title").textContent = data.title;
  byId("message").textContent = data.message;
  byId("reasons").replaceChildren(...data.why.map((text) => make("p", { textContent: text })));
  byId("why").hidden = !data.why.length;
  byId("why").open = !timeline.narrow.matches;
  byId("run").replaceChildren(
    ...runs.map((it, number) => make("option", { value: number, textContent: it.name })),
  );
  byId("run-label").hidden = runs.length < 2;
  listen();
  follow();
  byId("timeline").focus({ preventScroll: true });
}

start();
