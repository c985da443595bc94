// Vector fields in the plane: arrows, shades of what the field does, and the line along it through a place.

views.field = function (given, form, box) {
  const { x, y } = given, nx = x.length, ny = y.length;
  const fields = given.fields.map((field) => unpacked(field.values)), shades = given.shades.map((shade) => (shade.values ? unpacked(shade.values) : null));
  const choices = store({ part: 0, shade: Math.min(2, shades.length - 1), x: Math.floor(nx / 2), y: Math.floor(ny / 2) });
  slider(form, choices, "x", `place: ${given.names[0]}`, x.map((value) => shown(value, 3)), true);
  slider(form, choices, "y", `place: ${given.names[1]}`, y.map((value) => shown(value, 3)), true);
  if (fields.length > 1) list(form, choices, "part", "field", given.fields.map((field) => field.name));
  list(form, choices, "shade", "shades", given.shades.map((shade) => shade.name));
  const figure = html("figure", { class: "wide" }), frameBox = html("div", {});
  figure.append(frameBox, legend([[marks.line("ink"), "field"], [marks.line("orange"), "line along it through the place"], ...(given.vectors ? [[marks.line("green"), "observed vectors"]] : []), [marks.box("orange", 0.4), "shade above 0"], [marks.box("blue", 0.4), "below 0"]]));
  box.append(figure);

  // the second coordinate runs fastest in what came
  const at = (field, i, j) => [field.values[2 * (i * ny + j)], field.values[2 * (i * ny + j) + 1]];
  function between(field, px, py) {
    const u = ((px - x[0]) / (x[nx - 1] - x[0])) * (nx - 1), v = ((py - y[0]) / (y[ny - 1] - y[0])) * (ny - 1);
    if (!(u >= 0 && v >= 0 && u <= nx - 1 && v <= ny - 1)) return null;
    const i = Math.min(Math.floor(u), nx - 2), j = Math.min(Math.floor(v), ny - 2), s = u - i, t = v - j;
    return [0, 1].map((c) => (1 - s) * ((1 - t) * at(field, i, j)[c] + t * at(field, i, j + 1)[c]) + s * ((1 - t) * at(field, i + 1, j)[c] + t * at(field, i + 1, j + 1)[c]));
  }
  function streamline(field, px, py, sign) {
    const found = [[px, py]], wx = x[nx - 1] - x[0], wy = y[ny - 1] - y[0], step = 0.006 * sign;
    for (let k = 0; k < 260; k++) {
      const move = ([a, b], v, h) => [a + (h * v[0]), b + (h * v[1])];
      const unit = (p) => { const v = between(field, ...p); if (!v) return null; const size = Math.hypot(v[0] / wx, v[1] / wy); return size > 1e-12 ? [v[0] / size, v[1] / size] : null; };
      const p = found[found.length - 1], first = unit(p), second = first && unit(move(p, first, step / 2));
      if (!second) break;
      const next = move(p, second, step);
      found.push(next);
      if (k > 12 && Math.hypot((next[0] - px) / wx, (next[1] - py) / wy) < 0.008) break; // it has closed
    }
    return found;
  }
  function arrow(inner, px, py, dx, dy, ink, more) {
    const size = Math.hypot(dx, dy);
    if (size < 0.5) return;
    const head = Math.min(5, size * 0.45), ux = dx / size, uy = dy / size, ex = px + dx / 2, ey = py + dy / 2;
    const tip = `M${point(ex - head * (ux + 0.6 * uy), ey - head * (uy - 0.6 * ux))}L${point(ex, ey)}L${point(ex - head * (ux - 0.6 * uy), ey - head * (uy + 0.6 * ux))}`;
    inner.append(svg("path", { class: `line ${ink}`, "stroke-width": more, d: `M${point(px - dx / 2, py - dy / 2)}L${point(ex, ey)}${tip}` }));
  }
  function place() { const field = fields[choices.values.part]; return at(field, choices.values.x, choices.values.y); }
  return {
    choices,
    theta: null,
    draw() {
      const field = fields[choices.values.part], shade = shades[choices.values.shade];
      const frame = chart(frameBox, { x: { limits: [x[0], x[nx - 1]], label: given.names[0] }, y: { limits: [y[0], y[ny - 1]], label: given.names[1] }, most: 620, ratio: 0.72, least: 300, label: `Vector field over ${given.names.join(" and ")}` });
      const { inner, sx, sy } = frame;
      if (shade) {
        const turned = new Float64Array(nx * ny);
        for (let i = 0; i < nx; i++) for (let j = 0; j < ny; j++) turned[j * nx + i] = shade.values[i * ny + j];
        const sorted = Array.from(shade.values, Math.abs).sort((a, b) => a - b), top = sorted[Math.floor(0.98 * (sorted.length - 1))] || 1, times = 4, fine = refined(turned, nx, ny, times);
        const cx = (i) => sx(x[0] + ((x[nx - 1] - x[0]) * i) / ((nx - 1) * times)), cy = (j) => sy(y[0] + ((y[ny - 1] - y[0]) * j) / ((ny - 1) * times));
        for (const [ink, mirror] of [["orange", 1], ["blue", -1]]) for (let step = 0; step < 6; step++) {
          inner.append(svg("path", { class: `fill-${ink}`, "fill-opacity": 0.09, "shape-rendering": "crispEdges", d: region(fine, ((step + 0.5) / 6) * top, cx, cy, mirror).inside }));
        }
      }
      const every = sx(x[1]) - sx(x[0]) < 17 ? 2 : 1, reach = every * Math.min(Math.abs(sx(x[1]) - sx(x[0])), Math.abs(sy(y[1]) - sy(y[0]))) * 1.15;
      const across = sx(1) - sx(0), up = sy(1) - sy(0);
      let longest = 0;
      for (let i = 0; i < nx; i++) for (let j = 0; j < ny; j++) { const [a, b] = at(field, i, j); longest = Math.max(longest, Math.hypot(a * across, b * up)); }
      for (let i = every - 1; i < nx; i += every) for (let j = every - 1; j < ny; j += every) {
        const [a, b] = at(field, i, j), scale = reach / (longest || 1);
        arrow(inner, sx(x[i]), sy(y[j]), a * across * scale, b * up * scale, "ink", 1.1);
      }
      if (given.vectors) given.rows[0].forEach((px, k) => { const scale = (1.6 * reach) / (longest || 1); arrow(inner, sx(px), sy(given.rows[1][k]), given.vectors[0][k] * across * scale, given.vectors[1][k] * up * scale, "green", 2); });
      const px = x[choices.values.x], py = y[choices.values.y], line = [...streamline(field, px, py, -1).reverse(), ...streamline(field, px, py, 1)];
      const text = path(line.map((p) => p[0]), line.map((p) => p[1]), sx, sy);
      inner.append(svg("path", { class: "line halo", "stroke-width": 6, d: text }), svg("path", { class: "line thick orange", d: text }));
      inner.append(svg("circle", { class: "fill-orange halo", "stroke-width": 2, cx: sx(px), cy: sy(py), r: 7 }));
      frame.root.addEventListener("pointerdown", (event) => {
        const area = frame.root.getBoundingClientRect(), scale = frame.root.viewBox.baseVal.width / area.width;
        choices.set("x", nearest(x.map(sx), (event.clientX - area.left) * scale));
        choices.set("y", nearest(y.map(sy), (event.clientY - area.top) * scale));
      });
      const [a, b] = place(), name = given.shades[choices.values.shade].name;
      const more = shade ? `; its ${name} there is ${shown(shade.values[choices.values.x * ny + choices.values.y], 3)}` : "";
      return `At ${given.names[0]} ${shown(px, 3)} and ${given.names[1]} ${shown(py, 3)}, ${given.fields[choices.values.part].name} is (${shown(a, 3)}, ${shown(b, 3)}), of length ${shown(Math.hypot(a, b), 3)}${more}.`;
    },
    table() {
      const field = fields[choices.values.part], rows = [];
      for (let i = 0; i < nx; i += 4) for (let j = 0; j < ny; j += 4) rows.push([shown(x[i], 3), shown(y[j], 3), ...at(field, i, j).map((value) => shown(value, 3))]);
      tabulate([...given.names, "first component", "second component"], rows);
    },
  };
};
