// Codes: rows as points in the plane of two codes, and the row that the decoder makes of any code.

views.codes = function (given, form, box) {
  const { axes, columns } = given, decoded = unpacked(given.decoded), rows = unpacked(given.given);
  const codeName = (k) => `code ${k + 1}`, place = (k) => `code${k}`;
  const start = { a: 0, b: Math.min(1, axes.length - 1) };
  axes.forEach((axis, k) => { start[place(k)] = Math.floor(axis.length / 2); });
  const choices = store(start);
  axes.forEach((axis, k) => slider(form, choices, place(k), codeName(k), axis.map((value) => shown(value, 3)), true));
  if (axes.length > 2) for (const [name, text] of [["a", "across"], ["b", "up"]]) list(form, choices, name, text, axes.map((_, k) => codeName(k)));
  const left = html("figure", {}), right = html("figure", { class: "wide" }), leftBox = html("div", {}), rightBox = html("div", {});
  left.append(leftBox, legend([[marks.dot("ink"), "rows"], [marks.dot("orange"), "the code that is decoded"], [marks.ring("blue"), "the nearest row"]]));
  right.append(rightBox, legend([[marks.line("orange"), "what the code gives back"], [marks.line("blue", true), "the nearest row"]]));
  box.append(left, right);
  const at = () => axes.map((axis, k) => axis[choices.values[place(k)]]);
  function nearestRow(code) {
    const scale = axes.map((axis) => axis[axis.length - 1] - axis[0] || 1);
    let best = 0, least = Infinity;
    given.rows.forEach((_, i) => {
      const distance = code.reduce((sum, value, k) => sum + ((given.codes[k][i] - value) / scale[k]) ** 2, 0);
      if (distance < least) { least = distance; best = i; }
    });
    return best;
  }
  const limits = padded(extent(Array.from(decoded.values), Array.from(rows.values)));
  const now = () => Array.from(block(decoded, axes.map((_, k) => choices.values[place(k)])));
  return {
    choices,
    theta: null,
    draw() {
      const { a, b } = choices.values, one = axes.length < 2, code = at(), i = nearestRow(code);
      const y = one ? { limits: [0, 1], label: "", at: [], labels: [] } : { limits: padded(extent(axes[b])), label: codeName(b) };
      const frame = chart(leftBox, { x: { limits: padded(extent(axes[a])), label: codeName(a) }, y, least: one ? 140 : 280, most: one ? 140 : 420, ratio: 0.9, label: one ? "Codes of the rows" : `Rows by ${codeName(a)} and ${codeName(b)}` });
      const { inner, sx, sy } = frame, up = (k) => (one ? sy(0.2 + 0.6 * ((k * 0.618) % 1)) : sy(given.codes[b][k]));
      given.rows.forEach((_, k) => inner.append(svg("circle", { class: "fill-ink", "fill-opacity": 0.45, cx: sx(given.codes[a][k]), cy: up(k), r: 2.6 })));
      inner.append(svg("circle", { class: "ring blue", cx: sx(given.codes[a][i]), cy: up(i), r: 5 }), svg("circle", { class: "fill-orange halo", "stroke-width": 2, cx: sx(code[a]), cy: one ? sy(0.5) : sy(code[b]), r: 7 }));
      frame.root.addEventListener("pointerdown", (event) => {
        const area = frame.root.getBoundingClientRect(), scale = frame.root.viewBox.baseVal.width / area.width;
        choices.set(place(a), nearest(axes[a].map(sx), (event.clientX - area.left) * scale));
        if (!one) choices.set(place(b), nearest(axes[b].map(sy), (event.clientY - area.top) * scale));
      });
      const where = code.map((value, k) => `${codeName(k)} ${shown(value, 3)}`).join(" and "), nearby = `the nearest row is row ${given.rows[i]}`;
      const values = now(), theirs = Array.from(block(rows, [i])), m = columns.length, xs = columns.map((_, k) => k);
      const every = Math.max(1, Math.ceil(m / 8)), ticked = xs.filter((k) => k % every === 0);
      const other = chart(rightBox, { x: { limits: [-0.5, m - 0.5], at: ticked, labels: ticked.map((k) => columns[k]) }, y: { limits, label: "value" }, least: 280, most: 420, label: "What the code gives back, column by column" });
      other.inner.append(svg("path", { class: "line blue dash", d: path(xs, theirs, other.sx, other.sy) }), svg("path", { class: "line thick orange", d: path(xs, values, other.sx, other.sy) }));
      if (m <= 40) xs.forEach((k) => other.inner.append(svg("circle", { class: "fill-orange", cx: other.sx(k), cy: other.sy(values[k]), r: 4 })));
      return `At ${where} the decoder gives back ${columns.slice(0, 3).map((name, k) => `${name} ${shown(values[k], 3)}`).join(", ")}${m > 3 ? ", …" : ""}; ${nearby}.`;
    },
    table() {
      const values = now(), i = nearestRow(at()), theirs = block(rows, [i]);
      tabulate(["column", "given back", `row ${given.rows[i]}`], columns.map((name, k) => [name, shown(values[k], 3), shown(theirs[k], 3)]));
    },
  };
};
