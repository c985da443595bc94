// Drawing: elements, numbers as people write them, axes, and regions where a function on a grid is positive.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}
const html = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
const byId = (id) => document.getElementById(id);

function shown(value, digits = 4) {
  if (value === null || !Number.isFinite(value)) return "–";
  const number = Number(value.toPrecision(digits));
  const text = Math.abs(number) >= 1e6 || (number !== 0 && Math.abs(number) < 1e-4) ? number.toExponential() : String(number);
  return text.replace(/-/g, "−");
}
const percent = (share) => (share === null ? "–" : `${shown(100 * share, 3)}\u00a0%`);

// numbers that came as codes of two bytes, with their shape
function unpacked(packed) {
  const bytes = atob(packed.codes), size = bytes.length / 2, values = new Float64Array(size);
  const step = (packed.high - packed.low) / 65534;
  for (let k = 0; k < size; k++) {
    const code = bytes.charCodeAt(2 * k) + 256 * bytes.charCodeAt(2 * k + 1);
    values[k] = code === 65535 ? NaN : packed.low + code * step;
  }
  return { shape: packed.shape, values };
}
// the block of an array that some first indices leave
function block(array, indices) {
  let size = array.values.length, start = 0;
  indices.forEach((index, axis) => { size /= array.shape[axis]; start += index * size; });
  return array.values.subarray(start, start + size);
}

function ticks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw * 0.75) || power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}
function extent(...lists) {
  let low = Infinity, high = -Infinity;
  for (const list of lists) for (const value of list) if (value !== null && Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
  return low > high ? [0, 1] : low === high ? [low - 0.5, high + 0.5] : [low, high];
}
const padded = ([low, high], share = 0.04) => [low - share * (high - low), high + share * (high - low)];

// a figure with axes; x and y are {limits, label, at, labels}: at and labels are ticks of one's own
function chart(box, { x, y, ratio = 0.62, label, most = 460, least = 210, square = false }) {
  const width = Math.max(Math.round(box.clientWidth) || 320, 220);
  const finest = (most + 54) / 60; // the most ticks that the height may have room for, whose texts may be longer
  const longest = Math.max(...(y.labels || [...ticks(...y.limits, 5), ...ticks(...y.limits, finest)].map((v) => shown(v))).map((text) => text.length));
  const margin = { left: 30 + 6.6 * Math.min(longest, 18), right: 12, top: 10, bottom: 44 };
  const height = square ? Math.min(width - margin.left - margin.right, most) + 54 : Math.min(Math.max(width * ratio, least), most);
  const right = square ? Math.min(width - margin.right, margin.left + height - 54) : width - margin.right;
  const bottom = height - margin.bottom;
  const scale = ([low, high], from, to) => (value) => from + ((to - from) * (value - low)) / (high - low);
  const sx = scale(x.limits, margin.left, right), sy = scale(y.limits, bottom, margin.top);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, width, height });
  const xs = x.at || ticks(...x.limits, Math.max(3, (right - margin.left) / 80)), ys = y.at || ticks(...y.limits, height / 60);
  const grid = svg("g", { "aria-hidden": "true" });
  const wide = (right - margin.left) / Math.max(xs.length, 1);
  xs.forEach((value, k) => {
    const given = x.labels ? x.labels[k] : shown(value), most = Math.max(3, Math.floor(wide / 6.5));
    const text = x.labels && given.length > most ? given.slice(0, most - 1) + "…" : given, half = 3.3 * text.length;
    grid.append(svg("line", { class: "gridline", x1: sx(value), x2: sx(value), y1: margin.top, y2: bottom }));
    grid.append(svg("text", { x: Math.min(sx(value), width - half), y: bottom + 16, "text-anchor": "middle" }, text));
  });
  ys.forEach((value, k) => {
    const text = y.labels ? y.labels[k] : shown(value);
    grid.append(svg("line", { class: "gridline", x1: margin.left, x2: right, y1: sy(value), y2: sy(value) }));
    grid.append(svg("text", { x: margin.left - 6, y: sy(value) + 4, "text-anchor": "end" }, text.length > 18 ? text.slice(0, 17) + "…" : text));
  });
  grid.append(svg("line", { class: "rule", x1: margin.left, x2: right, y1: bottom, y2: bottom }));
  const room = (length, text) => (text && text.length * 6.6 > length ? text.slice(0, Math.max(4, Math.floor(length / 6.6) - 1)) + "…" : text);
  grid.append(svg("text", { class: "axis", x: (margin.left + right) / 2, y: height - 8, "text-anchor": "middle" }, room(right - margin.left + 40, x.label)));
  const middle = (margin.top + bottom) / 2;
  if (y.label) grid.append(svg("text", { class: "axis", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, room(bottom - margin.top, y.label)));
  const clip = `clip${chart.count = (chart.count || 0) + 1}`;
  const inner = svg("g", { "clip-path": `url(#${clip})` });
  root.append(svg("clipPath", { id: clip }, svg("rect", { x: margin.left - 1, y: margin.top - 4, width: right - margin.left + 2, height: bottom - margin.top + 5 })), grid, inner);
  box.replaceChildren(root);
  return { root, inner, sx, sy, left: margin.left, right, top: margin.top, bottom };
}

const point = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;
function path(xs, ys, sx, sy) {
  let text = "", pen = "M";
  for (let k = 0; k < xs.length; k++) {
    if (ys[k] === null || !Number.isFinite(ys[k])) { pen = "M"; continue; }
    text += pen + point(sx(xs[k]), sy(ys[k]));
    pen = "L";
  }
  return text;
}
function band(xs, low, high, sx, sy) {
  const up = [], down = [];
  for (let k = 0; k < xs.length; k++) { up.push(point(sx(xs[k]), sy(high[k]))); down.push(point(sx(xs[k]), sy(low[k]))); }
  return `M${up.join("L")}L${down.reverse().join("L")}Z`;
}
// categories have no way between them: values become short level strokes
function spread(axis, xs, columns) {
  if (axis.ordered) return [xs, columns];
  const wide = xs.flatMap((x) => [x - 0.36, x + 0.36, x + 0.361]);
  return [wide, columns.map((column) => Array.from(column).flatMap((value) => [value, value, NaN]))];
}

// a finer grid by cubics through its values (Catmull and Rom), so that boundaries are smooth
function refined(values, nx, ny, times) {
  const along = (read, n) => {
    const found = [];
    for (let k = 0; k < n - 1; k++) for (let s = 0; s < times; s++) {
      const t = s / times, a = read(k), b = read(k + 1), before = k > 0 ? read(k - 1) : 2 * a - b, after = k + 2 < n ? read(k + 2) : 2 * b - a;
      found.push(a + 0.5 * t * (b - before + t * (2 * before - 5 * a + 4 * b - after + t * (3 * (a - b) + after - before))));
    }
    found.push(read(n - 1));
    return found;
  };
  const rows = [];
  for (let j = 0; j < ny; j++) rows.push(along((k) => values[j * nx + k], nx));
  const mx = rows[0].length, my = (ny - 1) * times + 1, fine = new Float64Array(mx * my);
  for (let i = 0; i < mx; i++) along((k) => rows[k][i], ny).forEach((value, j) => { fine[j * mx + i] = value; });
  return { values: fine, nx: mx, ny: my };
}
// where a function on a grid is at least a threshold: the region, whole cells in a row as one, and its boundary
function region(grid, threshold, sx, sy, mirror = 1) {
  const { values, nx, ny } = grid;
  let inside = "", edge = "";
  const at = (i, j) => mirror * values[j * nx + i] - threshold;
  for (let j = 0; j < ny - 1; j++) {
    let run = -1;
    for (let i = 0; i < nx; i++) {
      const whole = i < nx - 1 && at(i, j) >= 0 && at(i + 1, j) >= 0 && at(i, j + 1) >= 0 && at(i + 1, j + 1) >= 0;
      if (whole) { if (run < 0) run = i; continue; }
      if (run >= 0) inside += `M${point(sx(run), sy(j))}H${sx(i).toFixed(1)}V${sy(j + 1).toFixed(1)}H${sx(run).toFixed(1)}Z`;
      run = -1;
      if (i === nx - 1) continue;
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], levels = corners.map(([a, b]) => at(a, b)), shape = [], cuts = [];
      if (!levels.some((level) => level >= 0)) continue;
      for (let k = 0; k < 4; k++) {
        const [a, b] = corners[k], [c, d] = corners[(k + 1) % 4], here = levels[k], next = levels[(k + 1) % 4];
        if (here >= 0) shape.push(point(sx(a), sy(b)));
        if (here >= 0 !== next >= 0) {
          const t = here / (here - next), cut = point(sx(a + t * (c - a)), sy(b + t * (d - b)));
          shape.push(cut);
          cuts.push(cut);
        }
      }
      if (shape.length > 2) inside += `M${shape.join("L")}Z`;
      for (let k = 0; k + 1 < cuts.length; k += 2) edge += `M${cuts[k]}L${cuts[k + 1]}`;
    }
  }
  return { inside, edge };
}

function legend(items) {
  return html("ul", { class: "legend" }, items.map(([mark, text]) => html("li", {}, svg("svg", { viewBox: "0 0 20 12", "aria-hidden": "true" }, mark), html("span", {}, text))));
}
const marks = {
  line: (ink, dash) => svg("line", { class: `line ${ink}${dash ? " dash" : ""}`, x1: 1, x2: 19, y1: 6, y2: 6 }),
  dot: (ink) => svg("circle", { class: `fill-${ink}`, cx: 10, cy: 6, r: 3.5 }),
  ring: (ink) => svg("circle", { class: `ring ${ink}`, cx: 10, cy: 6, r: 3.5 }),
  box: (ink, opacity) => svg("rect", { class: `fill-${ink}`, "fill-opacity": opacity, x: 1, y: 1, width: 18, height: 10 }),
};
