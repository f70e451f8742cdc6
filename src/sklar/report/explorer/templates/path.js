// What every price, or k, gives on the rows of this page: the score against features per row, a ring around the fitted one.
function drawPath() {
  const plot = byId("path-plot");
  if (!plot) return;
  const { levels, chosen } = facts;
  const [wide, high, left, right, top, bottom] = [460, 280, 60, 24, 30, 44];
  plot.replaceChildren();
  plot.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  plot.setAttribute("width", wide);
  plot.setAttribute("height", high);
  plot.setAttribute("aria-label", `${facts.score.name} against features per row, at ${levels.length} ${ranked ? "numbers of features" : "prices"}`);
  const sizes = levels.map((level) => level.sizes.mean);
  const scores = levels.map((level) => level.score);
  const [least, most, low, up] = [Math.min(...sizes), Math.max(...sizes), Math.min(...scores), Math.max(...scores)];
  const x = (size) => left + 16 + ((size - least) / (most - least || 1)) * (wide - left - right - 32);
  const y = (score) => high - bottom - 10 - ((score - low) / (up - low || 1)) * (high - top - bottom - 24);
  plot.append(draw("line", { class: "axis", x1: left, x2: wide - right, y1: high - bottom, y2: high - bottom }));
  plot.append(draw("line", { class: "axis", x1: left, x2: left, y1: top - 10, y2: high - bottom }));
  for (const score of up > low ? [low, (low + up) / 2, up] : [up]) plot.append(draw("text", { class: "faint", x: left - 6, y: y(score) + 4, "text-anchor": "end" }, score.toFixed(1)));
  for (const size of most > least ? [least, (least + most) / 2, most] : [most]) plot.append(draw("text", { class: "faint", x: x(size), y: high - bottom + 17, "text-anchor": "middle" }, size.toFixed(1)));
  plot.append(draw("text", { x: left, y: 12 }, `${facts.score.name}, %`));
  plot.append(draw("text", { x: wide - right, y: high - 6, "text-anchor": "end" }, "features per row"));
  const order = [...levels.keys()].sort((a, b) => sizes[a] - sizes[b]);
  plot.append(draw("polyline", { class: "line", points: order.map((i) => `${x(sizes[i])},${y(scores[i])}`).join(" ") }));
  levels.forEach((level, i) => {
    const dot = draw("circle", { class: level === now ? "now" : "", cx: x(sizes[i]), cy: y(scores[i]), r: level === now ? 7 : 5 });
    const told = `${levelName(level)}: ${facts.score.name} ${scores[i].toFixed(1)}\u00a0%, ${sizes[i].toFixed(1)} features per row${i === chosen ? (ranked ? ", fitted" : ", chosen") : ""}`;
    dot.addEventListener("pointermove", (event) => showTip(told, event));
    dot.addEventListener("pointerleave", hideTip);
    dot.addEventListener("click", () => { slider.value = i; useLevel(i); });
    plot.append(dot);
  });
  plot.append(draw("circle", { class: "ring", cx: x(sizes[chosen]), cy: y(scores[chosen]), r: 11, "pointer-events": "none" }));
}
