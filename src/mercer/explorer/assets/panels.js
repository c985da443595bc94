// Pictures on how well a model does; those over θ have a mark where θ is. Each returns what redraws it.

const panels = {
  reliability(box, panel, theta) {
    const frame = chart(box, { x: { limits: [0, 1], label: panel.names[0] }, y: { limits: [0, 1], label: panel.names[1] }, square: true, most: 320, label: `${panel.title}: ${panel.names[1]} against ${panel.names[0]}` });
    const { inner, sx, sy } = frame;
    inner.append(svg("path", { class: "fill-soft", "fill-opacity": 0.2, d: band(panel.levels, panel.low, panel.high, sx, sy) }));
    inner.append(svg("line", { class: "line thin soft", x1: sx(0), y1: sy(0), x2: sx(1), y2: sy(1) }));
    inner.append(svg("path", { class: "line blue", d: path(panel.levels, panel.observed, sx, sy) }));
    const k = theta ? nearest(panel.levels, theta()) : -1;
    panel.levels.forEach((level, j) => inner.append(svg("circle", { class: j === k ? "fill-orange" : "fill-blue", cx: sx(level), cy: sy(panel.observed[j]), r: j === k ? 6 : 2.5 })));
  },
  histogram(box, panel, theta) {
    const { counts, edges } = panel, top = Math.max(...counts, panel.range ? panel.range[1] : 0) * 1.05 || 1;
    const { inner, sx, sy, left, right, top: up, bottom } = chart(box, { x: { limits: [edges[0], edges[edges.length - 1]], label: panel.name }, y: { limits: [0, top], label: "rows" }, most: 300, ratio: 0.7, label: `${panel.title}: histogram of ${panel.name}` });
    if (panel.range) inner.append(svg("rect", { class: "fill-soft", "fill-opacity": 0.2, x: left, width: right - left, y: sy(panel.range[1]), height: sy(panel.range[0]) - sy(panel.range[1]) }));
    counts.forEach((count, k) => inner.append(svg("rect", { class: "fill-blue", "fill-opacity": 0.65, x: sx(edges[k]) + 0.5, width: Math.max(sx(edges[k + 1]) - sx(edges[k]) - 1, 0.5), y: sy(count), height: bottom - sy(count) })));
    if (panel.expected) inner.append(svg("line", { class: "line thin ink", x1: left, x2: right, y1: sy(panel.expected), y2: sy(panel.expected) }));
    if (panel.theta && theta) inner.append(svg("line", { class: "line orange", x1: sx(theta()), x2: sx(theta()), y1: up, y2: bottom }));
  },
  scatter(box, panel) {
    const both = panel.line === "diagonal", unit = panel.joined ? [0, 1] : null;
    const x = unit || padded(extent(panel.x, both ? panel.y : [])), y = unit || (both ? x : padded(extent(panel.y, [0])));
    const { inner, sx, sy } = chart(box, { x: { limits: x, label: panel.names[0] }, y: { limits: y, label: panel.names[1] }, most: both ? 320 : 300, ratio: 0.7, square: both, label: `${panel.title}: ${panel.names[1]} against ${panel.names[0]}` });
    inner.append(svg("line", { class: "line thin soft", x1: sx(x[0]), x2: sx(x[1]), y1: sy(both ? x[0] : 0), y2: sy(both ? x[1] : 0) }));
    if (panel.joined) inner.append(svg("path", { class: "line blue", d: path(panel.x, panel.y, sx, sy) }));
    panel.x.forEach((value, k) => inner.append(svg("circle", { class: "fill-blue", "fill-opacity": panel.joined ? 1 : 0.45, cx: sx(value), cy: sy(panel.y[k]), r: panel.joined ? 3.5 : 2.5 })));
  },
  lines(box, panel, theta) {
    const found = padded(extent(...panel.lines.map((line) => line.y)));
    const y = panel.limits ? panel.limits.map((limit, k) => (limit === null ? found[k] : limit)) : found;
    const named = panel.labels ? { at: panel.x, labels: panel.labels } : {};
    const limits = panel.labels ? [-0.5, panel.x.length - 0.5] : extent(panel.x);
    const { inner, sx, sy, top, bottom } = chart(box, { x: { limits, label: panel.names[0], ...named }, y: { limits: y, label: panel.names[1] }, most: 300, ratio: 0.7, label: `${panel.title}: ${panel.names[1]} against ${panel.names[0]}` });
    if (panel.theta && theta) inner.append(svg("line", { class: "line thin orange dash", x1: sx(theta()), x2: sx(theta()), y1: top, y2: bottom }));
    panel.lines.forEach((line) => {
      if (!panel.labels) inner.append(svg("path", { class: `line ${line.ink}${line.dash ? " dash" : ""}`, d: path(panel.x, line.y, sx, sy) }));
      else panel.x.forEach((at, k) => inner.append(svg("circle", { class: `fill-${line.ink}`, cx: sx(at), cy: sy(line.y[k]), r: 4 })));
    });
    if (panel.lines.length > 1) box.append(legend(panel.lines.map((line) => [marks.line(line.ink, line.dash), line.name])));
  },
  bars(box, panel) {
    const top = Math.max(...panel.values) || 1;
    const width = Math.max(box.clientWidth, 240), step = 26, left = Math.min(150, width * 0.42), room = width - left - 64, most = Math.floor(left / 7);
    const root = svg("svg", { viewBox: `0 0 ${width} ${step * panel.names.length}`, role: "img", "aria-label": `${panel.title}: ${panel.names.map((name, k) => `${name} ${shown(panel.values[k], 3)}`).join(", ")}` });
    panel.names.forEach((name, k) => root.append(
      svg("text", { class: "axis", x: left - 8, y: step * k + 17, "text-anchor": "end" }, name.length > most ? name.slice(0, most - 1) + "…" : name),
      svg("rect", { class: "fill-blue", x: left, y: step * k + 5, height: step - 9, width: Math.max((room * panel.values[k]) / top, 1) }),
      svg("text", { x: left + (room * panel.values[k]) / top + 6, y: step * k + 17 }, shown(panel.values[k], 3))));
    box.replaceChildren(root);
  },
  counts(box, panel) {
    box.replaceChildren(html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": panel.title }, html("table", {},
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, ""), panel.names.map((name) => html("th", { scope: "col" }, name)))),
      html("tbody", {}, panel.counts.map((row, k) => html("tr", {}, html("th", { scope: "row" }, panel.names[k]), row.map((count) => html("td", {}, String(count)))))))));
  },
};
const nearest = (values, value) => values.reduce((best, each, k) => (Math.abs(each - value) < Math.abs(values[best] - value) ? k : best), 0);
