// The facts of the page, and the few helpers that every part needs. Text goes in as text, never as markup.
const facts = JSON.parse(document.getElementById("facts").textContent);
const bytes = (packed) => Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
const width = facts.columns.length;
const certainty = bytes(facts.cells.certainty); // percent, row by row
const state = bytes(facts.cells.state);
const several = facts.model.n_models > 1;

const at = (row, column) => row * width + column;
const isOn = (row, column) => (state[at(row, column)] & 1) > 0;
const isSure = (row, column) => (state[at(row, column)] & 2) > 0;
const percent = (row, column) => certainty[at(row, column)];
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
