// Objects: the candidates that a row, or inputs that one chooses, ranks first, by their scores.

views.candidates = function (given, form, box) {
  const { names, handles } = given, K = given.best[0].length;
  const choices = store({ row: 0, mode: 0, ...handleChoices(handles) });
  const rowControl = slider(form, choices, "row", "row", given.rows.map((row) => `row ${row}`), true);
  if (given.heldShape) list(form, choices, "mode", "rank for", ["a row of the data", "inputs that you choose"]);
  const inputs = html("div", { style: "display: contents" });
  form.append(inputs);
  if (given.heldShape) handleControls(inputs, choices, handles, () => []);
  const chosen = () => choices.values.mode === 1;
  const toggle = () => { rowControl.hidden = chosen(); inputs.style.display = chosen() ? "contents" : "none"; };
  choices.listen(toggle);
  toggle();
  const figure = html("figure", { class: "wide" }), frameBox = html("div", {}), caption = html("figcaption", {});
  figure.append(frameBox, legend([[marks.dot("blue"), "candidates"], [marks.dot("orange"), "the best, which is predicted"], ...(given.truth ? [[marks.ring("orange"), "ringed: the truth"]] : [])]), caption);
  box.append(figure);

  function here() {
    const k = chosen() ? handles.reduce((place, _, j) => place * given.heldShape[j] + choices.values[heldName(j)], 0) : choices.values.row;
    const [best, scores] = chosen() ? [given.heldBest[k], given.heldScores[k]] : [given.best[k], given.scores[k]];
    return { texts: best.map((j) => names[j]), scores, truth: !chosen() && given.truth ? given.truth[k] : null, rank: !chosen() && given.ranks ? given.ranks[k] : null };
  }
  return {
    choices,
    theta: null,
    draw() {
      const { texts, scores, truth, rank } = here();
      const y = { limits: [-0.6, K - 0.2], at: texts.map((_, k) => K - 1 - k), labels: texts.map((_, k) => String(k + 1)), label: "place" };
      const { inner, sx, sy, left, right } = chart(frameBox, { x: { limits: padded(extent(scores), 0.08), label: "score" }, y, most: 64 + 36 * K, least: 64 + 36 * K, ratio: 0.4, label: `The best ${K} of ${given.total} candidates` });
      const room = Math.max(8, Math.floor((right - left) / 7.4));
      texts.forEach((text, k) => {
        const cx = sx(scores[k]), cy = sy(K - 1 - k);
        inner.append(svg("line", { class: "line thin soft", x1: left, x2: cx, y1: cy, y2: cy }));
        if (text === truth) inner.append(svg("circle", { class: "ring orange", cx, cy, r: 10 }));
        inner.append(svg("circle", { class: k ? "fill-blue" : "fill-orange", cx, cy, r: 5.5 }), svg("text", { class: "note", x: left + 6, y: cy - 9 }, text.length > room ? text.slice(0, room - 1) + "…" : text));
      });
      caption.textContent = chosen() ? "Other columns at their medians or most frequent values." : truth === null ? "" : `Truth: ${truth}.`;
      const who = chosen() ? `a row with ${heldText(choices, handles, [])}` : `row ${given.rows[choices.values.row]}`;
      return `For ${who}, ${given.target} is predicted as ${texts[0]}${K > 1 ? `, before ${texts[1]}` : ""}${truth === null ? "" : `; in truth it is ${truth}, in place ${shown(rank)} of ${given.total}`}.`;
    },
    table() {
      const { texts, scores, truth } = here();
      tabulate(["candidate", "score", ...(truth === null ? [] : ["the truth"])], texts.map((text, k) => [text, shown(scores[k]), ...(truth === null ? [] : [text === truth ? "yes" : "–"])]));
    },
  };
};
