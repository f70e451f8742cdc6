// Feature value against effect, for all rows shown: a strip a feature, a dot a row that selects it, dark where the value is high.
const STRIPS = 12;

function strips() {
  const total = facts.columns.map((_, column) => ({ column, sum: 0, rows: [] }));
  for (const row of facts.rows.label.keys()) {
    for (const strip of total) {
      if (!isOn(row, strip.column)) continue;
      strip.sum += Math.abs(effectOf(row, strip.column));
      strip.rows.push(row);
    }
  }
  return total.filter((strip) => strip.rows.length).sort((a, b) => b.sum - a.sum).slice(0, STRIPS);
}

function ranksOf(strip) {
  const { values, numeric } = facts.columns[strip.column];
  if (!numeric) return null;
  const order = strip.rows.filter((row) => typeof values[row] === "number").sort((a, b) => values[a] - values[b]);
  return new Map(order.map((row, place) => [row, place / Math.max(1, order.length - 1)]));
}

function mixed(from, to, share) {
  const parts = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  const [a, b] = [parts(from), parts(to)];
  return `rgb(${a.map((v, i) => Math.round(v + share * (b[i] - v))).join(" ")})`;
}

function drawEffects() {
  const canvas = byId("effects-plot");
  const told = strips();
  const wide = Math.max(300, canvas.parentElement.clientWidth);
  const [left, high, foot] = [Math.min(170, wide * 0.34), 30, 40];
  const tall = told.length * high + foot;
  const scale = window.devicePixelRatio || 1;
  [canvas.width, canvas.height] = [wide * scale, tall * scale];
  [canvas.style.width, canvas.style.height] = [`${wide}px`, `${tall}px`];
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  pen.textBaseline = "middle";
  const most = Math.max(...told.flatMap((strip) => strip.rows.map((row) => Math.abs(effectOf(row, strip.column)))), 1e-12);
  const x = (effect) => left + (wide - left - 10) * (0.5 + 0.5 * (effect / most));
  pen.strokeStyle = colour("--line");
  pen.beginPath();
  pen.moveTo(x(0), 0);
  pen.lineTo(x(0), tall - foot);
  pen.stroke();
  told.forEach((strip, place) => {
    const middle = place * high + high / 2;
    const ranks = ranksOf(strip);
    pen.fillStyle = colour("--ink");
    pen.textAlign = "right";
    pen.fillText(cut(nameOf(strip.column), Math.floor(left / 8)), left - 8, middle);
    strip.rows.forEach((row, i) => {
      const share = ranks === null || !ranks.has(row) ? 0.5 : ranks.get(row);
      pen.fillStyle = ranks === null ? colour("--muted") : mixed(colour("--low"), colour("--high"), share);
      pen.globalAlpha = 0.75;
      pen.beginPath();
      pen.arc(x(effectOf(row, strip.column)), middle + (((i * 7) % 11) - 5) * 1.8, 2.6, 0, 7);
      pen.fill();
    });
    pen.globalAlpha = 1;
  });
  pen.fillStyle = colour("--muted");
  for (const [value, align] of [[-most, "left"], [0, "center"], [most, "right"]]) {
    pen.textAlign = align;
    pen.fillText(value === 0 ? "0" : showEffect(value), x(value), tall - foot + 16);
  }
  canvas.setAttribute("aria-label", told.length ? `Effects of ${listed(told.map((strip) => nameOf(strip.column)))}, the largest first` : "No feature is selected");
}

function drawRules() {
  byId("rules-list").replaceChildren(...now.rules.map((rule) => {
    const where = rule.conditions.length ? rule.conditions.join(" and ") : "every row";
    return make("li", {}, make("span", { text: `${where}: ` }), make("strong", { text: rule.features.length ? rule.features.join(", ") : "no feature" }),
      make("span", { class: "how wrap", text: ` ${(100 * rule.share).toFixed(0)}\u00a0% of the rows, agreement ${(100 * rule.agreement).toFixed(0)}\u00a0%` }));
  }));
}
