// One row's card: what was predicted, from which features, how sure, and what could stand in for them.
const card = byId("card");

function selectedOf(row) {
  const columns = [...facts.columns.keys()].filter((column) => isOn(row, column));
  const before = ranked ? (a, b) => placeOf(row, a) - placeOf(row, b) : (a, b) => Math.abs(effectOf(row, b)) - Math.abs(effectOf(row, a));
  return columns.sort(before);
}
const nearlyOf = (row) => [...facts.columns.keys()].filter((c) => !isOn(row, c) && !isSure(row, c));

function howSure(row, column) {
  const models = facts.model.n_models;
  const votes = several ? ` (${Math.round((now.cells.certainty[at(row, column)] * models) / 100)} of ${models} models${placesOf(row, column)})` : "";
  if (!isOn(row, column)) return `nearly selected${votes}`;
  return `${isSure(row, column) ? "sure" : "unsure"}${votes}`;
}

function placesOf(row, column) {
  if (!now.places || !isOn(row, column)) return "";
  const [low, high] = now.places[row][placeOf(row, column) - 1];
  return low === high ? `, place ${low}` : `, places ${low} to ${high}`;
}

function effectBar(value, largest) {
  const fill = make("i", { class: value < 0 ? "minus" : "plus" });
  const share = Math.min(50, (50 * Math.abs(value)) / (largest || 1));
  fill.style.width = `${share}%`;
  fill.style.marginLeft = value < 0 ? `${50 - share}%` : "50%";
  return make("span", { class: "bar effect", "aria-hidden": "true" }, fill);
}

function linesAbout(columns) {
  const features = new Set(columns.map((column) => facts.columns[column].feature));
  const name = (feature) => facts.features[feature].name;
  const lines = facts.links.interchangeable
    .filter((group) => group.features.filter((feature) => features.has(feature)).length === 1) // not of those selected together
    .flatMap((group) => group.replacements.filter(([feature]) => features.has(feature)))
    .map(([feature, by, cost]) => `${name(by)} could stand for ${name(feature)} (${cost}).`);
  for (const [a, b, r] of facts.links.pairs) {
    if (r > 0 && (features.has(a) || features.has(b))) lines.push(`${name(a)} and ${name(b)} work together.`);
  }
  return lines;
}

function openCard(row) {
  const { label, target } = facts.rows;
  const selected = selectedOf(row);
  const name = showValue(now.prediction[row]);
  const said = name + (now.proba ? ` (${now.proba[row].toFixed(0)}\u00a0%)` : "");
  const close = make("button", { type: "button", class: "close", "aria-label": "Close the card", text: "Close" });
  close.addEventListener("click", closeCard);
  const verdict = classified ? (isRight(row) ? ": right" : ": wrong") : "";
  const truth = make("p", { class: classified ? (isRight(row) ? "right" : "wrong") : "", text: `Truth ${showValue(target[row])}${verdict}` });
  const list = make(ranked ? "ol" : "ul");
  const largest = Math.max(...selected.map((column) => Math.abs(effectOf(row, column))), 0);
  for (const column of selected) {
    const value = showValue(facts.columns[column].values[row]);
    const place = ranked ? `${placeOf(row, column)}. ` : "";
    const moved = towards(row, column);
    list.append(make("li", {}, make("strong", { text: `${place}${nameOf(column)}` }), ` = ${value}`, make("br"),
      effectBar(moved, largest), make("strong", { class: "moved", text: showEffect(moved) }), " ", make("span", { class: "how", text: howSure(row, column) })));
  }
  const none = `from no feature: none ${ranked ? "has a value to show" : "is worth its price"} in this row`;
  const from = selected.length ? `from ${selected.length} of ${facts.model.n_features} features` : none;
  card.replaceChildren(close, make("h3", { text: `Row ${label[row]}` }), make("p", {}, "Predicted ", make("strong", { text: said }), ` ${from}.`), truth);
  if (selected.length) card.append(make("p", { class: "how wrap", text: `Hiding one feature would take from ${facts.effect.points ? `P(${name})` : "the prediction"}:` }), list);
  const near = nearlyOf(row).map(nameOf);
  if (near.length) card.append(make("p", { class: "links", text: `Nearly selected: ${listed(near.slice(0, 6))}${near.length > 6 ? " and more" : ""}.` }));
  for (const line of linesAbout(selected)) card.append(make("p", { class: "links", text: line }));
  card.hidden = false;
  card.dataset.row = row;
}

function closeCard() {
  card.hidden = true;
  markOpen(null);
  focusRow();
}
