// The penalty path: held-out loss with its error, features per row, and a ring around the penalty that was chosen.
function drawPath() {
  const plot = byId("path-plot");
  if (!plot) return;
  const { penalty, loss, error, mean_features: sizes, chosen } = facts.path;
  const [wide, high, left, right, top, bottom] = [460, 260, 64, 24, 26, 40];
  plot.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  plot.setAttribute("width", wide);
  plot.setAttribute("height", high);
  plot.setAttribute("aria-label", `Held-out loss along ${penalty.length} penalties; ${penalty[chosen].toPrecision(2)} was chosen`);
  const logs = penalty.map(Math.log);
  const low = Math.min(...loss.map((l, i) => l - error[i]));
  const up = Math.max(...loss.map((l, i) => l + error[i]));
  const x = (i) => left + 16 + ((logs[i] - logs[0]) / (logs[logs.length - 1] - logs[0] || 1)) * (wide - left - right - 32);
  const y = (value) => high - bottom - 8 - ((value - low) / (up - low || 1)) * (high - top - bottom - 24);
  plot.append(draw("line", { class: "axis", x1: left, x2: wide - right, y1: high - bottom, y2: high - bottom }));
  plot.append(draw("line", { class: "axis", x1: left, x2: left, y1: top - 10, y2: high - bottom }));
  for (const value of [low, (low + up) / 2, up]) plot.append(draw("text", { class: "faint", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, value.toPrecision(3)));
  plot.append(draw("text", { x: left, y: 12 }, "held-out loss"));
  plot.append(draw("text", { x: wide - right, y: high - 4, "text-anchor": "end" }, "penalty"));
  plot.append(draw("polyline", { class: "line", points: loss.map((l, i) => `${x(i)},${y(l)}`).join(" ") }));
  for (const i of penalty.keys()) {
    plot.append(draw("line", { class: "error", x1: x(i), x2: x(i), y1: y(loss[i] - error[i]), y2: y(loss[i] + error[i]) }));
    plot.append(draw("text", { class: "faint", x: x(i), y: high - bottom + 16, "text-anchor": "middle" }, penalty[i].toPrecision(2)));
    plot.append(draw("text", { class: "faint", x: x(i) + 8, y: y(loss[i]) - 8 }, sizes[i].toFixed(1)));
    const dot = draw("circle", { cx: x(i), cy: y(loss[i]), r: 5 });
    const told = `penalty ${penalty[i].toPrecision(2)}: loss ${loss[i]} ± ${error[i].toPrecision(2)}, ${sizes[i].toFixed(1)} features per row${i === chosen ? ", chosen" : ""}`;
    dot.addEventListener("pointermove", (event) => showTip(told, event));
    dot.addEventListener("pointerleave", hideTip);
    plot.append(dot);
  }
  plot.append(draw("circle", { class: "ring", cx: x(chosen), cy: y(loss[chosen]), r: 10, "pointer-events": "none" }));
}
