// Curves and vectors: what is predicted for a row, or for inputs that one chooses, at all θ.

views.curves = function (given, form, box) {
  const { points, names, handles } = given, predicted = unpacked(given.predicted), held = given.held ? unpacked(given.held) : null, band90 = given.band ? unpacked(given.band) : null;
  const [R, P, m] = predicted.shape, texts = names || points.map((value) => shown(value));
  const choices = store({ theta: Math.floor(m / 2), row: 0, part: 0, mode: 0, ...handleChoices(handles) });
  slider(form, choices, "theta", names ? "output" : "θ, the point of the curve", texts, true);
  if (held) list(form, choices, "mode", "predict for", ["a row of the data", "inputs that you choose"]);
  const rowControl = slider(form, choices, "row", "row", given.rows.map((row) => `row ${row}`));
  if (P > 1) list(form, choices, "part", "component", Array.from({ length: P }, (_, k) => `component ${k}`));
  const chosen = () => choices.values.mode === 1;
  const inputs = html("div", { style: "display: contents" });
  form.append(inputs);
  if (held) handleControls(inputs, choices, handles, () => []);
  choices.listen(() => toggle());
  const toggle = () => { rowControl.hidden = chosen(); inputs.style.display = chosen() ? "contents" : "none"; };
  toggle();
  const figure = html("figure", { class: "wide" }), frameBox = html("div", {}), caption = html("figcaption", {});
  figure.append(frameBox, legend([[marks.line("orange"), "predicted"], ...(band90 ? [[marks.box("orange", 0.2), `band that holds ${shown(100 * given.coverage)} % of whole curves`]] : []), ...(given.observed ? [[marks.dot("ink"), "observed"]] : []), [marks.line("soft"), "predictions of other rows"]]), caption);
  box.append(figure);

  function here() {
    const part = choices.values.part;
    const values = chosen() ? block(held, [...handles.map((_, k) => choices.values[heldName(k)]), part]) : block(predicted, [choices.values.row, part]);
    return { part, values: Array.from(values), at: choices.values.theta, observed: !chosen() && given.observed ? given.observed[choices.values.row] : null };
  }
  const seen = (part) => (given.observed || []).filter((one) => one).map((one) => one.y[part]);
  function nearestObserved(one, part, at) {
    const gap = names ? 0 : (points[m - 1] - points[0]) / Math.max(m - 1, 1), k = nearest(one.t, points[at]);
    return Math.abs(one.t[k] - points[at]) <= gap / 2 + 1e-9 ? one.y[part][k] : null;
  }
  return {
    choices,
    theta: () => points[choices.values.theta],
    draw() {
      const { part, values, at, observed } = here(), all = Array.from({ length: R }, (_, r) => Array.from(block(predicted, [r, part])));
      const x = names ? { limits: [-0.5, m - 0.5], at: points, labels: names } : { limits: extent(points), label: "θ" };
      const frame = chart(frameBox, { x, y: { limits: padded(extent(...all, ...seen(part), held && chosen() ? values : [])), label: given.target }, most: 480, ratio: 0.5, least: 280, label: `Predicted ${given.target} at all θ` });
      const { inner, sx, sy, top, bottom } = frame;
      all.forEach((line) => inner.append(svg("path", { class: "line thin soft", "stroke-opacity": 0.25, d: path(points, line, sx, sy) })));
      if (band90 && !chosen()) {
        const ends = block(band90, [choices.values.row, part]), low = points.map((_, k) => ends[2 * k]), high = points.map((_, k) => ends[2 * k + 1]);
        if ([...low, ...high].every(Number.isFinite)) inner.append(svg("path", { class: "fill-orange", "fill-opacity": 0.2, d: band(points, low, high, sx, sy) }));
      }
      inner.append(svg("line", { class: "line thin ink dash", x1: sx(points[at]), x2: sx(points[at]), y1: top, y2: bottom }));
      if (observed) observed.t.forEach((t, k) => { if (observed.y[part][k] !== null) inner.append(svg("circle", { class: "fill-ink", "fill-opacity": 0.75, cx: sx(t), cy: sy(observed.y[part][k]), r: 3.2 })); });
      inner.append(svg("path", { class: "line halo", "stroke-width": 6, d: path(points, values, sx, sy) }), svg("path", { class: `line thick orange${names ? " dash" : ""}`, d: path(points, values, sx, sy) }));
      if (names) values.forEach((value, k) => inner.append(svg("circle", { class: "fill-orange", cx: sx(points[k]), cy: sy(value), r: 4 })));
      inner.append(svg("circle", { class: "fill-orange halo", "stroke-width": 2, cx: sx(points[at]), cy: sy(values[at]), r: 6.5 }));
      frame.root.addEventListener("pointerdown", (event) => {
        const area = frame.root.getBoundingClientRect();
        choices.set("theta", nearest(points.map(sx), ((event.clientX - area.left) * frame.root.viewBox.baseVal.width) / area.width));
      });
      const who = chosen() ? `a row with ${heldText(choices, handles, [])}` : `row ${given.rows[choices.values.row]}`;
      caption.textContent = chosen() ? "Other columns at their medians or most frequent values." : "";
      const there = observed ? nearestObserved(observed, part, at) : null;
      return `For ${who}, ${names ? `${names[at]} is predicted as` : `${given.target} at θ = ${texts[at]} is predicted as`} ${shown(values[at])}${there === null ? "" : `; observed was ${shown(there)}`}.`;
    },
    table() {
      const { part, values, observed } = here();
      tabulate([names ? "output" : "θ", "predicted", ...(observed ? ["observed"] : [])], texts.map((text, k) => [text, shown(values[k]), ...(observed ? [shown(nearestObserved(observed, part, k))] : [])]));
    },
  };
};
