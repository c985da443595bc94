// The views of a page by name; each kind of model enters its own in a file beside this one.
const views = {};

// What can be moved: a store of choices, sliders and lists with labels, and the columns of the inputs.

function store(values) {
  const listeners = [];
  return {
    values,
    set(name, value) {
      if (values[name] === value) return;
      values[name] = value;
      listeners.forEach((listener) => listener(name));
    },
    listen(listener) { listeners.push(listener); },
  };
}

let controlCount = 0;
// texts: what each position of the slider means
function slider(form, choices, name, label, texts, main = false) {
  const id = `control-${++controlCount}`;
  const output = html("output", { for: id, "aria-live": "off" });
  const input = html("input", { type: "range", id, name, min: 0, max: texts.length - 1, step: 1, value: choices.values[name] });
  const tell = () => {
    const text = texts[Number(input.value)];
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  input.addEventListener("input", () => { tell(); choices.set(name, Number(input.value)); });
  choices.listen((changed) => { if (changed === name) { input.value = choices.values[name]; tell(); } });
  tell();
  const box = html("div", { class: main ? "control main" : "control" }, html("label", { for: id }, label), output, input);
  form.append(box);
  return box;
}
function list(form, choices, name, label, texts) {
  const id = `control-${++controlCount}`;
  const select = html("select", { id, name }, texts.map((text, k) => html("option", { value: k, selected: k === choices.values[name] }, text)));
  select.addEventListener("input", () => choices.set(name, Number(select.value)));
  const box = html("div", { class: "control" }, html("label", { for: id }, label), select);
  form.append(box);
  return box;
}

// the columns that are moved: those on axes by small steps, the others by a few values
const fineName = (k) => `fine${k}`, heldName = (k) => `held${k}`;
function handleChoices(handles) {
  const values = {};
  handles.forEach((handle, k) => { values[fineName(k)] = handle.start[0]; values[heldName(k)] = handle.start[1]; });
  return values;
}
function handleControls(form, choices, handles, axes) {
  const boxes = handles.map((handle, k) => [
    handle.ordered ? slider(form, choices, fineName(k), handle.name, handle.fine.labels) : list(form, choices, fineName(k), handle.name, handle.fine.labels),
    handle.kind === "category" ? list(form, choices, heldName(k), handle.name, handle.held.labels) : slider(form, choices, heldName(k), handle.name, handle.held.labels),
  ]);
  const update = () => boxes.forEach(([fine, held], k) => { fine.hidden = !axes().includes(k); held.hidden = axes().includes(k); });
  const hide = html("style", {}, ".control[hidden] { display: none; }");
  document.head.append(hide);
  choices.listen(update);
  update();
}
const heldIndices = (choices, handles, axes) => handles.map((_, k) => k).filter((k) => !axes.includes(k)).map((k) => choices.values[heldName(k)]);
function heldText(choices, handles, axes) {
  const parts = handles.map((handle, k) => (axes.includes(k) ? null : `${handle.name} ${handle.held.labels[choices.values[heldName(k)]]}`));
  return parts.filter((part) => part !== null).join(", ");
}
// limits and ticks of a column as an axis
function axisOf(handle) {
  const at = handle.fine.at, limits = handle.ordered ? [at[0], at[at.length - 1]] : [-0.6, at.length - 0.4];
  if (handle.kind === "category" || (!handle.ordered && handle.kind === "number")) return { limits: [-0.6, at.length - 0.4], at: at.map((_, k) => k), labels: handle.fine.labels, label: handle.name };
  if (handle.kind !== "date") return { limits, label: handle.name };
  const places = [0, 0.33, 0.67, 1].map((share) => Math.round(share * (at.length - 1)));
  return { limits, at: places.map((k) => at[k]), labels: places.map((k) => handle.fine.labels[k]), label: handle.name };
}
// where points of the column lie on that axis
const placesOf = (handle) => (handle.ordered || handle.kind === "category" ? handle.rows : handle.rows.map((value) => handle.fine.at.indexOf(value)));
const fineOf = (handle) => (handle.ordered ? handle.fine.at : handle.fine.at.map((_, k) => k));

function tabulate(head, rows) {
  const most = 200;
  byId("table").replaceChildren(html("table", {},
    html("thead", {}, html("tr", {}, head.map((text) => html("th", { scope: "col" }, text)))),
    html("tbody", {}, rows.slice(0, most).map((row) => html("tr", {}, row.map((cell, k) => html(k ? "td" : "th", k ? {} : { scope: "row" }, cell)))))));
}
