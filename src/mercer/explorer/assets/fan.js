// Quantiles: the fan along a column, and at one point of it all quantiles against their level.

views.fan = function (given, form, box) {
  const { levels, handles } = given, L = levels.length;
  const arrays = given.slices.map((slice) => unpacked(slice.values));
  const choices = store({ theta: given.start, along: 0, ...handleChoices(handles) });
  slider(form, choices, "theta", "quantile level θ", levels.map((level) => shown(level)), true);
  if (handles.length > 1) list(form, choices, "along", "along the column", handles.map((handle) => handle.name));
  const axes = () => [choices.values.along];
  handleControls(form, choices, handles, axes);
  const fan = html("figure", { class: "wide" }), side = html("figure", {});
  const fanBox = html("div", {}), sideBox = html("div", {}), held = html("figcaption", {});
  // central intervals, those whose ends are among the levels: place of the lower end, opacity
  const lower = [0.01, 0.05, 0.1, 0.25, 0.4].map((tail) => levels.indexOf(tail)), outer = Math.max(lower[1], 0);
  const SHADES = lower.map((k, j) => [k, [0.13, 0.13, 0.15, 0.2, 0.22][j]]).filter(([k]) => k >= 0);
  let opacity = 0;
  const names = SHADES.map(([k, more]) => [marks.box("blue", (opacity = 1 - (1 - opacity) * (1 - more))), `${shown(100 * (levels[L - 1 - k] - levels[k]), 3)} %`]);
  fan.append(fanBox, legend([...names, [marks.line("blue"), "median"], [marks.line("orange"), "θ-quantile"], ...(given.y ? [[marks.ring("orange"), "rows above their θ-quantile"], [marks.dot("ink"), "below"]] : [])]), held);
  side.append(sideBox, html("figcaption", {}, "All quantiles at the place of the vertical line: y against its level."));
  box.append(fan, side);

  function here() {
    const a = choices.values.along, handle = handles[a];
    const values = block(arrays[a], heldIndices(choices, handles, axes())), G = fineOf(handle).length;
    const column = (k) => Array.from({ length: G }, (_, g) => values[g * L + k]);
    return { a, handle, column, at: choices.values[fineName(a)], xs: fineOf(handle), k: choices.values.theta };
  }
  function limits() {
    let low = Infinity, high = -Infinity;
    for (const array of arrays) for (let k = 0; k < array.values.length; k++) if (L < 5 || (k % L > 0 && k % L < L - 1)) { low = Math.min(low, array.values[k]); high = Math.max(high, array.values[k]); }
    const rows = given.y ? extent(given.y) : [low, high];
    const span = Math.max(high - low, 0);
    if (given.y) { // slices where no row is may go far beyond all of them, and beyond what is shown first
      const first = block(arrays[0], heldIndices(choices, handles, axes())).filter((_, k) => L < 5 || (k % L > 0 && k % L < L - 1));
      const usual = extent(given.y, first), room = (usual[1] - usual[0]) / 2;
      low = Math.max(low, usual[0] - room);
      high = Math.min(high, usual[1] + room);
    }
    return padded([Math.max(Math.min(low, rows[0]), low - span), Math.min(Math.max(high, rows[1]), high + span)], 0.02);
  }
  const y = { limits: handles.length ? limits() : [0, 1], label: given.target };

  function drawFan({ handle, column, at, xs, k }) {
    const frame = chart(fanBox, { x: axisOf(handle), y, least: 280, label: `Quantiles of ${given.target} along ${handle.name}` });
    const { inner, sx, sy, top, bottom } = frame;
    SHADES.forEach(([j, more]) => {
      const ends = [column(j), column(L - 1 - j)];
      const shape = handle.ordered ? band(xs, ends[0], ends[1], sx, sy) : xs.map((x, g) => band([x - 0.36, x + 0.36], [ends[0][g], ends[0][g]], [ends[1][g], ends[1][g]], sx, sy)).join("");
      inner.append(svg("path", { class: "fill-blue", "fill-opacity": more, d: shape }));
    });
    if (given.y) {
      const places = placesOf(handle), above = given.above;
      given.y.forEach((value, i) => {
        if (places[i] === null) return;
        const jitter = handle.ordered ? 0 : ((i * 0.618) % 1) * 0.5 - 0.25, cx = sx(places[i] + jitter), cy = sy(value);
        inner.append(above[i] > k ? svg("circle", { class: "ring orange", cx, cy, r: 3 }) : svg("circle", { class: "fill-ink", "fill-opacity": 0.5, cx, cy, r: 2.4 }));
      });
    }
    const [wide, [median, chosen]] = spread(handle, xs, [column((L - 1) / 2), column(k)]);
    inner.append(svg("path", { class: "line blue", d: path(wide, median, sx, sy) }));
    inner.append(svg("path", { class: "line halo", "stroke-width": 6, d: path(wide, chosen, sx, sy) }), svg("path", { class: "line thick orange", d: path(wide, chosen, sx, sy) }));
    inner.append(svg("line", { class: "line thin ink dash", x1: sx(xs[at]), x2: sx(xs[at]), y1: top, y2: bottom }));
    inner.append(svg("circle", { class: "fill-orange halo", "stroke-width": 2, cx: sx(xs[at]), cy: sy(column(k)[at]), r: 6 }));
    frame.root.addEventListener("pointerdown", (event) => {
      const x = ((event.clientX - frame.root.getBoundingClientRect().left) / frame.root.getBoundingClientRect().width) * frame.root.viewBox.baseVal.width;
      choices.set(fineName(choices.values.along), nearest(xs.map(sx), x));
    });
  }
  function drawSide({ column, at, k, handle }) {
    const values = levels.map((_, j) => column(j)[at]);
    const { inner, sx, sy, left, bottom } = chart(sideBox, { x: { limits: [0, 1], label: "level θ" }, y, ratio: 1.05, label: `Quantiles of ${given.target} where ${handle.name} is ${handle.fine.labels[at]}` });
    const cross = `M${point(left, sy(values[k]))}H${sx(levels[k]).toFixed(1)}V${bottom.toFixed(1)}`;
    inner.append(svg("path", { class: "line thin orange dash", d: cross }), svg("path", { class: "line blue", d: path(levels, values, sx, sy) }));
    inner.append(svg("circle", { class: "fill-orange", cx: sx(levels[k]), cy: sy(values[k]), r: 6 }));
  }
  return {
    choices,
    theta: () => levels[choices.values.theta],
    draw() {
      const k = choices.values.theta;
      const share = given.below ? ` Of ${given.n} rows, ${percent(given.below[k])} are at or below their own ${shown(levels[k])}-quantile.` : "";
      if (!handles.length) return `Level ${shown(levels[k])}.${share}`;
      const now = here(), { handle, at, column } = now;
      drawFan(now);
      drawSide(now);
      const others = heldText(choices, handles, axes());
      held.textContent = others ? `A slice: ${others}; other columns at their medians or most frequent values. Rows have values of their own there.` : "";
      const low = column(outer)[at], high = column(L - 1 - outer)[at];
      return `Where ${handle.name} is ${handle.fine.labels[at]}${others ? ` (${others})` : ""}, the ${shown(levels[k])}-quantile of ${given.target} is ${shown(column(k)[at])}; ${percent(levels[L - 1 - outer] - levels[outer])} lie between ${shown(low)} and ${shown(high)}.${share}`;
    },
    table() {
      if (!handles.length) return;
      const { handle, column } = here(), kept = [...new Set([...[0.05, 0.25, 0.5, 0.75, 0.95].map((level) => nearest(levels, level)), choices.values.theta])].sort((a, b) => a - b), columns = kept.map(column);
      tabulate([handle.name, ...kept.map((k) => `θ = ${shown(levels[k])}`)], handle.fine.labels.map((text, g) => [text, ...columns.map((values) => shown(values[g]))]));
    },
  };
};
