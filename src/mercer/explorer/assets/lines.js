// One number, or probabilities of classes: predictions along a column.

views.lines = function (given, form, box) {
  const { lines, handles } = given, L = lines.length;
  const arrays = given.slices.map((slice) => unpacked(slice.values));
  const choices = store({ theta: 0, along: 0, ...handleChoices(handles) });
  if (L > 1) slider(form, choices, "theta", "class", lines, true);
  if (handles.length > 1) list(form, choices, "along", "along the column", handles.map((handle) => handle.name));
  const axes = () => [choices.values.along];
  if (handles.length) handleControls(form, choices, handles, axes);
  const figure = html("figure", { class: "wide" }), frameBox = html("div", {}), held = html("figcaption", {});
  figure.append(frameBox, legend([[marks.line("orange"), L > 1 ? "the chosen class" : "predicted"], ...(L > 1 ? [[marks.line("blue"), "other classes"]] : []), ...(given.y ? [[marks.dot("ink"), "rows"]] : [])]), held);
  box.append(figure);
  const limits = given.limits || padded(extent(...arrays.map((array) => array.values), given.y || []));
  function here() {
    const handle = handles[choices.values.along], values = block(arrays[choices.values.along], heldIndices(choices, handles, axes())), xs = fineOf(handle);
    return { handle, xs, columns: lines.map((_, k) => xs.map((_, g) => values[g * L + k])), at: choices.values[fineName(choices.values.along)] };
  }
  return {
    choices,
    theta: null,
    draw() {
      if (!handles.length) return "The inputs have no columns that could be moved.";
      const { handle, xs, columns, at } = here(), k = choices.values.theta;
      const { inner, sx, sy, top, bottom } = chart(frameBox, { x: axisOf(handle), y: { limits, label: given.target }, ratio: 0.5, least: 280, label: `Predictions along ${handle.name}` });
      const places = placesOf(handle);
      if (given.y) given.y.forEach((value, i) => { if (places[i] !== null) inner.append(svg("circle", { class: "fill-ink", "fill-opacity": 0.4, cx: sx(places[i] + (handle.ordered ? 0 : ((i * 0.618) % 1) * 0.5 - 0.25)), cy: sy(value), r: 2.5 })); });
      const [wide, spreadColumns] = spread(handle, xs, columns);
      spreadColumns.forEach((column, j) => { if (j !== k) inner.append(svg("path", { class: "line blue", "stroke-opacity": 0.6, d: path(wide, column, sx, sy) })); });
      inner.append(svg("path", { class: "line halo", "stroke-width": 6, d: path(wide, spreadColumns[k], sx, sy) }), svg("path", { class: "line thick orange", d: path(wide, spreadColumns[k], sx, sy) }));
      inner.append(svg("line", { class: "line thin ink dash", x1: sx(xs[at]), x2: sx(xs[at]), y1: top, y2: bottom }), svg("circle", { class: "fill-orange halo", "stroke-width": 2, cx: sx(xs[at]), cy: sy(columns[k][at]), r: 6 }));
      const others = heldText(choices, handles, axes());
      held.textContent = others ? `A slice: ${others}; other columns at their medians or most frequent values.` : "";
      const best = columns.reduce((winner, column, j) => (column[at] > columns[winner][at] ? j : winner), 0);
      const what = L > 1 ? `the probability of ${lines[k]} is ${shown(columns[k][at], 3)}, and ${lines[best]} is the most probable` : `${given.target} is predicted as ${shown(columns[0][at])}`;
      return `Where ${handle.name} is ${handle.fine.labels[at]}${others ? ` (${others})` : ""}, ${what}.`;
    },
    table() {
      if (!handles.length) return;
      const { handle, columns } = here();
      tabulate([handle.name, ...lines], handle.fine.labels.map((text, g) => [text, ...columns.map((column) => shown(column[g]))]));
    },
  };
};
