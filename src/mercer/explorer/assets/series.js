// Series: forecasts with bands from a time that one chooses, beside what came.

views.series = function (given, form, box) {
  const { names, times, origins } = given, T = times.length, H = given.forecasts[0][0].length;
  const after = (t) => (t < T ? times[t] : `${t - T + 1} after the end`);
  const choices = store({ origin: given.start, series: 0, step: 0 });
  slider(form, choices, "origin", "forecast what follows", origins.map((t) => times[t - 1]), true);
  slider(form, choices, "step", "steps ahead", Array.from({ length: H }, (_, k) => String(k + 1)));
  if (names.length > 1) list(form, choices, "series", "series", names);
  const figure = html("figure", { class: "wide" }), frameBox = html("div", {});
  figure.append(frameBox, legend([[marks.line("ink"), "observed before"], [marks.dot("ink"), "what came"], [marks.line("orange"), "forecast"], [marks.box("orange", 0.2), `band of ${shown(100 * given.coverage)} %`]]));
  box.append(figure);

  function here() {
    const { series, origin, step } = choices.values, of = (array) => array[series][origin];
    return { values: given.values[series], t: origins[origin], step, name: names[series], forecast: of(given.forecasts), low: of(given.low), high: of(given.high) };
  }
  return {
    choices,
    theta: null,
    draw() {
      const { values, t, step, name, forecast, low, high } = here(), first = Math.max(0, t - given.before), xs = Array.from({ length: H }, (_, k) => t + k);
      const past = values.slice(first, t), px = past.map((_, k) => first + k), came = values.slice(t, t + H);
      const places = [0, 0.33, 0.67, 1].map((share) => Math.round(first + share * (t + H - 1 - first)));
      const x = { limits: [first, t + H - 0.5], at: places, labels: places.map((place) => (place < T ? times[place] : `+${place - T + 1}`)), label: "time" };
      const frame = chart(frameBox, { x, y: { limits: padded(extent(past, came, forecast, low, high)), label: name }, most: 460, ratio: 0.46, least: 280, label: `Forecast of ${name}` });
      const { inner, sx, sy, top, bottom } = frame, join = [t - 1, ...xs], last = values[t - 1];
      inner.append(svg("path", { class: "fill-orange", "fill-opacity": 0.2, d: band(join, [last, ...low], [last, ...high], sx, sy) }));
      inner.append(svg("path", { class: "line ink", d: path(px, past, sx, sy) }));
      inner.append(svg("path", { class: "line halo", "stroke-width": 6, d: path(join, [last, ...forecast], sx, sy) }), svg("path", { class: "line thick orange", d: path(join, [last, ...forecast], sx, sy) }));
      came.forEach((value, k) => inner.append(svg("circle", { class: "fill-ink", "fill-opacity": 0.75, cx: sx(t + k), cy: sy(value), r: 3 })));
      inner.append(svg("line", { class: "line thin ink dash", x1: sx(t + step), x2: sx(t + step), y1: top, y2: bottom }), svg("circle", { class: "fill-orange halo", "stroke-width": 2, cx: sx(t + step), cy: sy(forecast[step]), r: 6 }));
      frame.root.addEventListener("pointerdown", (event) => {
        const area = frame.root.getBoundingClientRect(), where = ((event.clientX - area.left) * frame.root.viewBox.baseVal.width) / area.width;
        if (where >= sx(t - 0.5)) return choices.set("step", nearest(xs.map(sx), where));
        choices.set("origin", nearest(origins.map((origin) => sx(origin)), where));
      });
      const seen = came.length > step ? `; ${shown(came[step])} came` : "; nobody knows yet";
      return `After ${times[t - 1]}, ${name} is forecast as ${shown(forecast[step])} at ${after(t + step)}, between ${shown(low[step])} and ${shown(high[step])} with ${shown(100 * given.coverage)} %${seen}.`;
    },
    table() {
      const { values, t, forecast, low, high } = here();
      tabulate(["time", "forecast", "from", "to", "observed"], forecast.map((value, k) => [after(t + k), shown(value), shown(low[k]), shown(high[k]), t + k < T ? shown(values[t + k]) : "–"]));
    },
  };
};
