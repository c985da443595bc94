// The page: texts of the fit, the view of its kind, the panels.

const data = JSON.parse(byId("data").textContent);
byId("title").textContent = data.title;
byId("lead").textContent = data.lead;
byId("objective").innerHTML = data.objective; // of docstrings, escaped where the page was made
byId("facts").append(...data.facts.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]));
byId("foot").textContent = `Made by mercer ${data.version}. One file: nothing is loaded from a network, and nothing leaves this page.`;

// a view gives choices, what θ is (null where there is none), and draw(); draw returns the sentence that is said
const view = views[data.view](data.explore, byId("controls"), byId("view"));
const boxes = data.panels.map((panel, k) => {
  const figure = html("figure", {});
  byId("panels").append(html("section", { class: "card panel", "aria-labelledby": `panel-${k}` }, html("h2", { id: `panel-${k}` }, panel.title), html("p", {}, panel.text), figure));
  return figure;
});
let spoken = 0, waiting = false, resized = true;
function redraw() {
  waiting = false;
  const sentence = view.draw();
  clearTimeout(spoken);
  spoken = setTimeout(() => { byId("said").textContent = sentence; }, byId("said").textContent ? 120 : 0);
  data.panels.forEach((panel, k) => {
    if (resized || panel.theta || panel.panel === "reliability") panels[panel.panel](boxes[k], panel, view.theta);
  });
  resized = false;
  if (byId("numbers").open) view.table();
}
function later() {
  if (!waiting) { waiting = true; requestAnimationFrame(redraw); }
}
view.choices.listen(later);
byId("numbers").addEventListener("toggle", () => { if (byId("numbers").open) view.table(); });
let lastWidth = 0;
new ResizeObserver(() => { if (document.body.clientWidth !== lastWidth) { lastWidth = document.body.clientWidth; resized = true; later(); } }).observe(document.body);
redraw();
document.documentElement.dataset.ready = "yes";
