// The facts of the page, and the few helpers that every part needs. Text goes in as text, never as markup.
const facts = JSON.parse(document.getElementById("facts").textContent);
const bytes = (packed) => Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
const width = facts.columns.length;
const several = facts.model.n_models > 1;
const ranked = facts.model.ranked;
const classified = facts.score.name === "accuracy";

// The model at one price, or k: cells of two bits, effects and places of the selected ones, row by row.
function unpack(level) {
  if (level.cells) return level;
  const packed = bytes(level.state);
  const count = facts.rows.label.length * width;
  const state = Uint8Array.from({ length: count }, (_, i) => (packed[i >> 2] >> (2 * (i & 3))) & 3);
  const effects = new Int16Array(bytes(level.effects).buffer);
  const order = level.order === null ? null : bytes(level.order);
  const cells = { state, effect: new Float32Array(count), place: new Uint8Array(count) };
  let next = 0;
  for (let i = 0; i < count; i += 1) {
    if (!(state[i] & 1)) continue;
    cells.effect[i] = (effects[next] / 32767) * level.largest;
    if (order) cells.place[i] = order[next];
    next += 1;
  }
  cells.certainty = level.certainty === null ? null : bytes(level.certainty);
  level.cells = cells;
  return level;
}
let now = unpack(facts.levels[facts.chosen]);

const at = (row, column) => row * width + column;
const isOn = (row, column) => (now.cells.state[at(row, column)] & 1) > 0;
const isSure = (row, column) => (now.cells.state[at(row, column)] & 2) > 0;
const placeOf = (row, column) => now.cells.place[at(row, column)];
const effectOf = (row, column) => now.cells.effect[at(row, column)];
const isRight = (row) => facts.rows.target[row] === now.prediction[row];
// on the prediction of the row: of two classes the page keeps the effect on the second
const towards = (row, column) => (facts.effect.of_class === null || now.prediction[row] === facts.effect.of_class ? 1 : -1) * effectOf(row, column);
function showEffect(value) {
  const size = Math.abs(facts.effect.points ? 100 * value : value);
  const digits = facts.effect.points ? size.toFixed(1) : String(Number(size.toPrecision(4)));
  const sign = Number(digits) === 0 ? "" : value < 0 ? "\u2212" : "+";
  return `${sign}${digits}${facts.effect.unit ? ` ${facts.effect.unit}` : ""}`;
}
const nameOf = (column) => facts.features[facts.columns[column].feature].name;
const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

function draw(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function bar(share, near = false) {
  const fill = make("i", { class: near ? "near" : null });
  fill.style.width = `${share}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, fill);
}

const showValue = (value) => (value === null ? "missing" : typeof value === "number" ? String(value).replace("-", "\u2212") : String(value));
const listed = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`);
const cut = (name, most) => (name.length <= most ? name : `${name.slice(0, most - 1)}…`);

const tip = byId("tip");
function showTip(text, event) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18}px`;
}
const hideTip = () => { tip.hidden = true; };
