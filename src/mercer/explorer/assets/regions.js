// Costs and level sets: where decisions are positive at θ, over a plane of two columns or along one.

views.regions = function (given, form, box) {
  const { levels, handles, plane } = given, L = levels.length, width = L + (given.shaded ? 1 : 0), cost = given.what === "cost";
  const arrays = given.slices.map((slice) => unpacked(slice.values));
  const choices = store({ theta: given.start, slice: 0, ...handleChoices(handles) });
  const backdrop = levels.map((_, j) => j).filter((j) => j % Math.ceil(L / 9) === 0); // some of the nested regions
  const names = cost ? given.classes : ["outside", "inside"];
  slider(form, choices, "theta", cost ? `cost θ of a missed ${names[1]}` : "fraction of outliers θ", levels.map((level) => shown(level)), true);
  if (given.slices.length > 1) list(form, choices, "slice", plane ? "plane of" : "along the column", given.slices.map(({ axes }) => axes.map((k) => handles[k].name).join(" and ")));
  const axes = () => given.slices[choices.values.slice].axes;
  if (handles.length) handleControls(form, choices, handles, axes);
  const figure = html("figure", { class: "wide" }), frameBox = html("div", {}), held = html("figcaption", {});
  const rows = !given.inside ? [] : cost ? (given.label ? [[marks.dot("orange"), `rows: ${names[1]}`], [marks.ring("blue"), names[0]]] : [[marks.dot("ink"), "rows"]]) : [[marks.dot("ink"), "rows inside at θ"], [marks.ring("orange"), "outside"]];
  figure.append(frameBox, legend([[marks.box("blue", 0.35), cost ? `probability of ${names[1]}, in steps of 10 %` : "regions at other θ"], [marks.line("orange"), cost ? `boundary at θ: called ${names[1]} on the ruled side` : "boundary at θ"], ...rows]), held);
  box.append(figure);

  function here() {
    const slice = choices.values.slice, on = axes(), values = block(arrays[slice], heldIndices(choices, handles, on));
    const layer = (k) => { const found = new Float64Array(values.length / width); for (let g = 0; g < found.length; g++) found[g] = values[g * width + k]; return found; };
    return { on, layer, k: choices.values.theta };
  }
  function dots(inner, k, place) {
    given.inside.forEach((decisions, i) => {
      const at = place(i);
      if (!at) return;
      const inside = decisions[k] === "1", [cx, cy] = at;
      const marked = cost ? given.label && given.label[i] : !inside;
      if (cost && !given.label) inner.append(svg("circle", { class: "fill-ink", "fill-opacity": 0.6, cx, cy, r: 2.6 }));
      else if (cost) inner.append(marked ? svg("circle", { class: "fill-orange halo", "stroke-width": 1, cx, cy, r: 4 }) : svg("circle", { class: "ring blue", cx, cy, r: 3.2 }));
      else inner.append(marked ? svg("circle", { class: "ring orange", cx, cy, r: 3.6 }) : svg("circle", { class: "fill-ink", "fill-opacity": 0.6, cx, cy, r: 2.6 }));
    });
  }
  function drawPlane({ on, layer, k }) {
    const [a, b] = on.map((j) => handles[j]), na = a.fine.at.length, nb = b.fine.at.length, times = Math.max(1, Math.round(96 / Math.max(na, nb)));
    const frame = chart(frameBox, { x: axisOf(a), y: axisOf(b), most: 560, ratio: 0.66, least: 300, label: `${cost ? "Decisions" : "Regions"} over ${a.name} and ${b.name} at θ = ${shown(levels[k])}` });
    const { inner, sx, sy, left, right, top, bottom } = frame;
    // the second column runs fastest: it is the vertical one
    const fine = (values) => refined(values, nb, na, times);
    const cx = (i) => sx(a.fine.at[0] + ((a.fine.at[na - 1] - a.fine.at[0]) * i) / ((na - 1) * times)), cy = (j) => sy(b.fine.at[0] + ((b.fine.at[nb - 1] - b.fine.at[0]) * j) / ((nb - 1) * times));
    const turned = (grid) => { const values = new Float64Array(grid.values.length); for (let i = 0; i < grid.nx; i++) for (let j = 0; j < grid.ny; j++) values[i * grid.ny + j] = grid.values[j * grid.nx + i]; return { values, nx: grid.ny, ny: grid.nx }; };
    const grid = (j) => turned(fine(layer(j)));
    if (given.shaded) {
      const shade = grid(L);
      for (let step = 1; step < 10; step++) inner.append(svg("path", { class: "fill-blue", "fill-opacity": 0.075, "shape-rendering": "crispEdges", d: region(shade, step / 10, cx, cy).inside }));
    } else backdrop.forEach((j) => inner.append(svg("path", { class: "fill-blue", "fill-opacity": 0.1, "shape-rendering": "crispEdges", d: region(grid(j), 0, cx, cy).inside })));
    const found = region(grid(k), 0, cx, cy), id = `ruled${chart.count}`;
    frame.root.prepend(svg("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("line", { class: "line thin orange", x1: 0, x2: 0, y1: 0, y2: 8, "stroke-opacity": 0.55 })));
    if (cost) inner.append(svg("path", { fill: `url(#${id})`, d: found.inside }));
    inner.append(svg("path", { class: "line halo", "stroke-width": 5.5, d: found.edge }), svg("path", { class: "line thick orange", d: found.edge }));
    dots(inner, k, (i) => (a.rows[i] === null || b.rows[i] === null ? null : [sx(a.rows[i]), sy(b.rows[i])]));
    const [i, j] = [choices.values[fineName(on[0])], choices.values[fineName(on[1])]], px = sx(a.fine.at[i]), py = sy(b.fine.at[j]);
    inner.append(svg("path", { class: "line thin ink dash", d: `M${point(px, top)}V${bottom}M${point(left, py)}H${right}` }), svg("circle", { class: "fill-ink halo", "stroke-width": 2, cx: px, cy: py, r: 6 }));
    frame.root.addEventListener("pointerdown", (event) => {
      const seen = frame.root.getBoundingClientRect(), scale = frame.root.viewBox.baseVal.width / seen.width;
      choices.set(fineName(on[0]), nearest(a.fine.at.map(sx), (event.clientX - seen.left) * scale));
      choices.set(fineName(on[1]), nearest(b.fine.at.map(sy), (event.clientY - seen.top) * scale));
    });
    return i * nb + j;
  }
  function drawLine({ on, layer, k }) {
    const handle = handles[on[0]], xs = fineOf(handle), decision = Array.from(layer(k)), seen = given.shaded ? Array.from(layer(L)) : decision;
    const y = given.shaded ? { limits: [0, 1], label: `probability of ${names[1]}` } : { limits: padded(extent(seen, [0])), label: "margin at θ: inside where positive" };
    const { inner, sx, sy, top, bottom } = chart(frameBox, { x: axisOf(handle), y, least: 280, label: `Decisions along ${handle.name}` });
    const [wide, [line, margin]] = spread(handle, xs, [seen, decision]), half = handle.ordered ? (xs[1] - xs[0]) / 2 : 0.4;
    decision.forEach((value, g) => { if (value >= 0) inner.append(svg("rect", { class: "fill-orange", "fill-opacity": 0.2, x: sx(xs[g] - half), width: sx(xs[g] + half) - sx(xs[g] - half) + 0.3, y: top, height: bottom - top })); });
    if (!given.shaded) inner.append(svg("line", { class: "line thin soft", x1: sx(xs[0]), x2: sx(xs[xs.length - 1]), y1: sy(0), y2: sy(0) }));
    inner.append(svg("path", { class: "line thick blue", d: path(wide, given.shaded ? line : margin, sx, sy) }));
    const places = placesOf(handle);
    dots(inner, k, (i) => (places[i] === null ? null : [sx(places[i]), cost && given.label && given.label[i] ? top + 6 + ((i * 0.618) % 1) * 16 : bottom - 6 - ((i * 0.618) % 1) * 16]));
    const at = choices.values[fineName(on[0])];
    inner.append(svg("line", { class: "line thin ink dash", x1: sx(xs[at]), x2: sx(xs[at]), y1: top, y2: bottom }));
    return at;
  }
  return {
    choices,
    theta: () => levels[choices.values.theta],
    draw() {
      const k = choices.values.theta, all = cost
        ? (given.called ? ` Of ${given.n} rows, ${percent(given.called[k])} are called ${names[1]}; ${percent(given.missed[k])} of ${names[1]} are missed, and ${percent(given.false[k])} of ${names[0]} are false alarms.` : "")
        : ` Of ${given.n} rows, ${percent(given.outside[k])} lie outside.`;
      if (!handles.length || !given.slices.length) return `At θ = ${shown(levels[k])}:${all}`;
      const now = here(), place = plane ? drawPlane(now) : drawLine(now), others = heldText(choices, handles, now.on);
      held.textContent = others || handles.length < 2 ? `A slice: ${others || "one column"}; other columns at their medians or most frequent values. Rows have values of their own there.` : "";
      const where = now.on.map((j) => `${handles[j].name} ${handles[j].fine.labels[choices.values[fineName(j)]]}`).join(" and ");
      const inside = now.layer(k)[place] >= 0;
      const what = cost ? `is called ${names[inside ? 1 : 0]} (probability of ${names[1]}: ${shown(now.layer(L)[place], 2)})` : `is ${inside ? "inside" : "outside"}`;
      return `At ${cost ? "cost" : "fraction"} ${shown(levels[k])} a row with ${where}${others ? ` (${others})` : ""} ${what}.${all}`;
    },
    table() {
      const share = (values) => (values || []).map((value) => percent(value));
      if (!cost) return tabulate(["θ", "rows outside"], levels.map((level, k) => [shown(level), share(given.outside)[k]]));
      const columns = [given.called, given.missed, given.false].map(share);
      return tabulate(["cost θ", `called ${names[1]}`, `${names[1]} missed`, "false alarms"], levels.map((level, k) => [shown(level), ...columns.map((column) => column[k] || "–")]));
    },
  };
};
