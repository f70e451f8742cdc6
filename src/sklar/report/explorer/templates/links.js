// The map of linked features: colour says sign and strength, signs say it again, pointing at a cell says it in words.
const LONGEST = 19; // letters of a name
const MOST_TOLD = 10; // pairs

function colourOf(r) {
  const end = r < 0 ? "var(--minus)" : "var(--plus)";
  return `color-mix(in srgb, ${end} ${Math.round(100 * Math.min(1, Math.abs(r)))}%, var(--zero))`;
}

function tellPair(i, j) {
  const { features, values } = facts.links;
  const [a, b] = [facts.features[features[i]].name, facts.features[features[j]].name];
  if (i === j) return `${a}, with itself`;
  const r = values[i][j];
  const strong = Math.abs(r) > facts.thresholds.linked;
  const word = strong ? (r < 0 ? "exclude each other" : "work together") : Math.abs(r) < 0.05 ? "not linked" : r < 0 ? "weakly apart" : "weakly together";
  return `${a} and ${b}: R = ${showValue(r)}, ${word}`;
}

function drawMap() {
  const map = byId("map");
  const { features, values } = facts.links;
  const cell = features.length > 25 ? 16 : 22;
  const label = 14 + 7 * Math.max(...features.map((feature) => Math.min(LONGEST, facts.features[feature].name.length)));
  const side = label + features.length * cell + 4;
  map.classList.toggle("fit", features.length <= 20); // more would be too small on a phone: they scroll
  map.setAttribute("viewBox", `0 0 ${side} ${side}`);
  map.setAttribute("width", side);
  map.setAttribute("height", side);
  map.setAttribute("aria-label", `Correlation of the gates of ${features.length} features`);
  for (const [i, feature] of features.entries()) {
    const name = facts.features[feature].name;
    const middle = label + (i + 0.5) * cell;
    map.append(draw("text", { x: label - 6, y: middle + 4, "text-anchor": "end" }, cut(name, LONGEST)));
    map.append(draw("text", { transform: `translate(${middle + 4} ${label - 6}) rotate(-90)` }, cut(name, LONGEST)));
    for (const j of features.keys()) {
      const r = values[i][j];
      const rect = draw("rect", { x: label + j * cell, y: label + i * cell, width: cell, height: cell, "data-i": i, "data-j": j });
      rect.style.fill = i === j ? "var(--line)" : colourOf(r);
      map.append(rect);
      if (i !== j && Math.abs(r) > facts.thresholds.linked) {
        map.append(draw("text", { class: "sign", x: label + (j + 0.5) * cell, y: middle + 4 }, r < 0 ? "\u2212" : "+"));
      }
    }
  }
  startMap(map, features.length);
  drawLinks();
}

function startMap(map, count) {
  let [i, j] = [0, 0];
  const point = (row, column) => {
    map.querySelector("rect.here")?.classList.remove("here");
    [i, j] = [row, column];
    map.querySelector(`rect[data-i="${i}"][data-j="${j}"]`).classList.add("here");
    byId("map-cell").textContent = tellPair(i, j);
  };
  const onPointer = (event) => {
    const rect = event.target.closest("rect");
    if (!rect) return hideTip();
    point(Number(rect.dataset.i), Number(rect.dataset.j));
    showTip(tellPair(i, j), event);
  };
  map.addEventListener("pointermove", onPointer);
  map.addEventListener("pointerdown", onPointer);
  map.addEventListener("pointerleave", hideTip);
  map.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    point((i + step[0] + count) % count, (j + step[1] + count) % count);
  });
}

function drawLinks() {
  const list = byId("link-list");
  const name = (feature) => facts.features[feature].name;
  for (const group of facts.links.interchangeable) {
    const costs = group.replacements.map(([feature, by, cost]) => `${name(by)} for ${name(feature)} ${cost}`);
    list.append(make("li", { text: `${listed(group.features.map(name))} are interchangeable: ${costs.join("; ")}` }));
  }
  const together = facts.links.pairs.filter(([, , r]) => r > 0);
  for (const [a, b, r] of together.slice(0, MOST_TOLD)) {
    list.append(make("li", { text: `${name(a)} and ${name(b)} work together (R = ${showValue(r)})` }));
  }
  if (together.length > MOST_TOLD) list.append(make("li", { text: `and ${together.length - MOST_TOLD} more pairs that work together` }));
  if (!list.children.length) list.append(make("li", { text: `No two features are linked beyond ${facts.thresholds.linked}.` }));
}
