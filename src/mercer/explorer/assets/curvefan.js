// Quantiles of curves: the fan over the points of a curve, for a row or for inputs that one chooses.

views.curvefan = function (given, form, box) {
  const { levels, points, handles } = given, L = levels.length, m = points.length;
  const predicted = unpacked(given.predicted), held = given.held ? unpacked(given.held) : null;
  const choices = store({ theta: given.start, at: Math.floor(m / 2), row: 0, mode: 0, ...handleChoices(handles) });
  slider(form, choices, "theta", "quantile level θ", levels.map((level) => shown(level)), true);
  slider(form, choices, "at", "point of the curve", points.map((point) => shown(point)));
  if (held) list(form, choices, "mode", "predict for", ["a row of the data", "inputs that you choose"]);
  const rowControl = slider(form, choices, "row", "row", given.rows.map((row) => `row ${row}`));
  const inputs = html("div", { style: "display: contents" });
  form.append(inputs);
  if (held) handleControls(inputs, choices, handles, () => []);
  const chosen = () => choices.values.mode === 1;
  const toggle = () => { rowControl.hidden = chosen(); inputs.style.display = chosen() ? "contents" : "none"; };
  choices.listen(toggle);
  toggle();
  const wide = html("figure", { class: "wide" }), side = html("figure", {}), wideBox = html("div", {}), sideBox = html("div", {});
  const lower = levels.map((level, k) => k).filter((k) => [0.01, 0.05, 0.1, 0.25, 0.4].includes(levels[k])), shade = 0.16;
  let opacity = 0;
  const names = lower.map((k) => [marks.box("blue", (opacity = 1 - (1 - opacity) * (1 - shade))), `${shown(100 * (levels[L - 1 - k] - levels[k]), 3)} %`]);
  wide.append(wideBox, legend([...names, [marks.line("blue"), "median"], [marks.line("orange"), "θ-quantile"], ...(given.observed ? [[marks.ring("orange"), "observed, above the θ-quantile"], [marks.dot("ink"), "below"]] : [])]));
  side.append(sideBox, html("figcaption", {}, "All quantiles at the point of the vertical line: the value against its level."));
  box.append(wide, side);
  const limits = padded(extent(Array.from(predicted.values), ...(given.observed || []).map((one) => one.y)), 0.02);

  function here() {
    const values = chosen() ? block(held, handles.map((_, k) => choices.values[heldName(k)])) : block(predicted, [choices.values.row]);
    const curve = (k) => points.map((_, j) => values[j * L + k]);
    return { curve, k: choices.values.theta, at: choices.values.at, observed: !chosen() && given.observed ? given.observed[choices.values.row] : null };
  }
  // the value of a curve of the page between its points
  function between(line, t) {
    const j = Math.min(Math.max(points.findIndex((point) => point >= t), 1), m - 1), share = m > 1 ? (t - points[j - 1]) / (points[j] - points[j - 1]) : 0;
    return m > 1 ? line[j - 1] + share * (line[j] - line[j - 1]) : line[0];
  }
  return {
    choices,
    theta: () => levels[choices.values.theta],
    draw() {
      const { curve, k, at, observed } = here(), line = curve(k), median = curve((L - 1) / 2), y = { limits, label: given.target };
      const frame = chart(wideBox, { x: { limits: extent(points), label: "point of the curve" }, y, least: 280, label: `Quantiles of ${given.target} at all points` });
      const { inner, sx, sy, top, bottom } = frame;
      lower.forEach((j) => inner.append(svg("path", { class: "fill-blue", "fill-opacity": shade, d: band(points, curve(j), curve(L - 1 - j), sx, sy) })));
      if (observed) observed.t.forEach((t, i) => {
        if (observed.y[i] === null) return;
        const above = observed.y[i] > between(line, t), cx = sx(t), cy = sy(observed.y[i]);
        inner.append(above ? svg("circle", { class: "ring orange", cx, cy, r: 3.4 }) : svg("circle", { class: "fill-ink", "fill-opacity": 0.7, cx, cy, r: 3 }));
      });
      inner.append(svg("path", { class: "line blue", d: path(points, median, sx, sy) }));
      inner.append(svg("path", { class: "line halo", "stroke-width": 6, d: path(points, line, sx, sy) }), svg("path", { class: "line thick orange", d: path(points, line, sx, sy) }));
      inner.append(svg("line", { class: "line thin ink dash", x1: sx(points[at]), x2: sx(points[at]), y1: top, y2: bottom }), svg("circle", { class: "fill-orange halo", "stroke-width": 2, cx: sx(points[at]), cy: sy(line[at]), r: 6 }));
      frame.root.addEventListener("pointerdown", (event) => {
        const area = frame.root.getBoundingClientRect();
        choices.set("at", nearest(points.map(sx), ((event.clientX - area.left) * frame.root.viewBox.baseVal.width) / area.width));
      });
      const all = levels.map((_, j) => curve(j)[at]);
      const other = chart(sideBox, { x: { limits: [0, 1], label: "level θ" }, y, ratio: 1.05, label: `Quantiles of ${given.target} at ${shown(points[at])}` });
      const cross = `M${point(other.left, other.sy(all[k]))}H${other.sx(levels[k]).toFixed(1)}V${other.bottom.toFixed(1)}`;
      other.inner.append(svg("path", { class: "line thin orange dash", d: cross }), svg("path", { class: "line blue", d: path(levels, all, other.sx, other.sy) }), svg("circle", { class: "fill-orange", cx: other.sx(levels[k]), cy: other.sy(all[k]), r: 6 }));
      const who = chosen() ? `a row with ${heldText(choices, handles, [])}` : `row ${given.rows[choices.values.row]}`;
      return `For ${who} the ${shown(levels[k])}-quantile of ${given.target} at ${shown(points[at])} is ${shown(line[at])}; 90 % lie between ${shown(all[levels.indexOf(0.05)])} and ${shown(all[levels.indexOf(0.95)])}.`;
    },
    table() {
      const { curve } = here(), kept = [...new Set([0.05, 0.25, 0.5, 0.75, 0.95].map((level) => nearest(levels, level)).concat(choices.values.theta))].sort((a, b) => a - b), lines = kept.map(curve);
      tabulate(["point", ...kept.map((k) => `θ = ${shown(levels[k])}`)], points.map((t, j) => [shown(t), ...lines.map((line) => shown(line[j]))]));
    },
  };
};
