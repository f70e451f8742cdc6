// One row's card: what was predicted, from which features, how sure, and what could stand in for them.
const card = byId("card");

function selectedOf(row) {
  if (facts.rows.order) return facts.rows.order[row].filter((column) => isOn(row, column));
  const columns = [...facts.columns.keys()].filter((column) => isOn(row, column));
  return columns.sort((a, b) => percent(row, b) - percent(row, a));
}
const nearlyOf = (row) =>
  [...facts.columns.keys()].filter((c) => !isOn(row, c) && !isSure(row, c)).sort((a, b) => percent(row, b) - percent(row, a));

function howSure(row, column) {
  const share = percent(row, column);
  const models = facts.model.n_models;
  const told = several ? `${Math.round((share * models) / 100)} of ${models} models` : `P ${(share / 100).toFixed(2)}`;
  if (!isOn(row, column)) return `not selected (${told})`;
  return `${isSure(row, column) ? "sure" : "unsure"} (${told}${placesOf(row, column)})`;
}

function placesOf(row, column) {
  if (!facts.rows.places) return "";
  const [low, high] = facts.rows.places[row][facts.rows.order[row].indexOf(column)];
  return low === high ? `, place ${low}` : `, places ${low} to ${high}`;
}

function linesAbout(columns) {
  const features = new Set(columns.map((column) => facts.columns[column].feature));
  const name = (feature) => facts.features[feature].name;
  const lines = facts.links.interchangeable
    .filter((group) => group.some((feature) => features.has(feature)))
    .map((group) => `${listed(group.map(name))} are interchangeable: one of them would do.`);
  for (const [a, b, r] of facts.links.pairs) {
    if (r > 0 && (features.has(a) || features.has(b))) lines.push(`${name(a)} and ${name(b)} work together.`);
  }
  return lines;
}

function openCard(row) {
  const { label, target, prediction, proba, right } = facts.rows;
  const selected = selectedOf(row);
  const said = showValue(prediction[row]) + (proba ? ` (${proba[row].toFixed(0)} %)` : "");
  const close = make("button", { type: "button", class: "close", "aria-label": "Close the card", text: "Close" });
  close.addEventListener("click", closeCard);
  const verdict = right === null ? "" : right[row] ? ": right" : ": wrong";
  const truth = make("p", { class: right === null ? "" : right[row] ? "right" : "wrong", text: `Truth ${showValue(target[row])}${verdict}` });
  const list = make(facts.rows.order ? "ol" : "ul");
  for (const column of [...selected, ...nearlyOf(row)]) {
    const value = showValue(facts.columns[column].values[row]);
    const place = facts.rows.order && isOn(row, column) ? `${selected.indexOf(column) + 1}. ` : "";
    list.append(make("li", {}, make("strong", { text: `${place}${nameOf(column)}` }), ` = ${value}`, make("br"),
      bar(percent(row, column), !isOn(row, column)), make("span", { class: "how", text: howSure(row, column) })));
  }
  const few = selected.length === 1 ? "feature" : "features";
  const from = selected.length ? `from ${selected.length} of ${facts.model.n_features} ${few}` : "from no feature: none is worth its price in this row";
  card.replaceChildren(close, make("h3", { text: `Row ${label[row]}` }), make("p", {}, "Predicted ", make("strong", { text: said }), ` ${from}.`), truth, list);
  for (const line of linesAbout(selected)) card.append(make("p", { class: "links", text: line }));
  card.hidden = false;
  card.dataset.row = row;
}

function closeCard() {
  card.hidden = true;
  markOpen(null);
  focusRow();
}
