// The mask table: sorted, filtered, searched and walked through by keyboard, a page of rows at a time.
const PAGE = 50;
const BESIDE = matchMedia("(min-width: 62.01rem)"); // the card stands beside the table, not over it
const view = { rows: [], columns: [], page: 0, sort: "row", down: false, here: 0 };
const FIXED = [
  ["row", "row", (row) => row],
  ["target", "target", (row) => facts.rows.target[row]],
  ["prediction", "predicted", (row) => now.prediction[row]],
  ...(classified ? [["proba", "P, %", (row) => now.proba[row]]] : []),
  ["size", "features", (row) => selectedOf(row).length],
];
const WIDE = ["proba", "size"]; // where the screen is wide enough
const unsureRow = (row) => [...facts.columns.keys()].some((column) => !isSure(row, column));

const keyOf = (row) => {
  if (typeof view.sort === "number") return isOn(row, view.sort) ? 1 + Math.abs(effectOf(row, view.sort)) / now.largest : isSure(row, view.sort) ? 0 : 0.5;
  return FIXED.find(([id]) => id === view.sort)[2](row);
};
const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));

function filterRows(fresh = true) {
  const wanted = byId("search").value.trim().toLowerCase();
  const group = byId("group").value;
  const wrong = byId("wrong")?.checked;
  const unsure = byId("unsure").checked;
  view.columns = [...facts.columns.keys()].filter((column) => nameOf(column).toLowerCase().includes(wanted));
  view.rows = [...facts.rows.label.keys()].filter((row) =>
    (group === "" || facts.rows.group[row] === Number(group)) && (!wrong || !isRight(row)) && (!unsure || unsureRow(row)) &&
    (!wanted || view.columns.some((column) => isOn(row, column))));
  const keys = new Map(view.rows.map((row) => [row, keyOf(row)]));
  view.rows.sort((a, b) => (view.down ? -1 : 1) * compare(keys.get(a), keys.get(b)) || a - b);
  if (fresh) {
    view.page = 0;
    view.here = 0;
  }
  view.page = Math.min(view.page, Math.max(0, Math.ceil(view.rows.length / PAGE) - 1));
  const alike = facts.features.filter((feature) => feature.name.toLowerCase().includes(wanted)).length;
  const told = wanted ? ` that select a feature named like “${wanted}” (${alike} such features, ${view.columns.length} of them in this table)` : "";
  const spread = facts.rows.label.length < facts.n_rows ? `, evenly spread over the ${facts.n_rows.toLocaleString("en")} of the data` : "";
  byId("status").textContent = `${view.rows.length.toLocaleString("en")} of ${facts.rows.label.length.toLocaleString("en")} rows${told}${spread}`;
  drawRows();
}

function sortBy(id) {
  view.down = view.sort === id ? !view.down : id !== "row" && id !== "target" && id !== "prediction";
  view.sort = id;
  filterRows();
  document.querySelector(`#grid thead [data-sort="${id}"]`)?.focus();
}

function headerCell(id, text, feature) {
  const button = make("button", { type: "button", "data-sort": id, text: cut(text, 26), title: `${text}: sort by it` });
  button.addEventListener("click", () => sortBy(id));
  const sorted = view.sort === id ? (view.down ? "descending" : "ascending") : null;
  return make("th", { scope: "col", class: feature ? "feature" : WIDE.includes(id) ? "wide" : null, "aria-sort": sorted }, button);
}

function maskCell(row, column) {
  const on = isOn(row, column);
  const near = !on && !isSure(row, column);
  const rank = on && ranked ? placeOf(row, column) : "";
  const kind = on ? (isSure(row, column) ? "on" : "on unsure") : near ? "near" : "";
  const mark = make("span", { class: kind, text: rank });
  const cell = make("td", { class: "cell", "aria-label": on || near ? `${nameOf(column)} ${on ? `${showEffect(towards(row, column))} ` : ""}${howSure(row, column)}` : null }, mark);
  cell.dataset.column = column;
  return cell;
}

function rowLine(row, place) {
  const right = !classified || isRight(row);
  const line = make("tr", { tabindex: place === view.here ? 0 : -1, "aria-rowindex": view.page * PAGE + place + 2, "aria-selected": "false" },
    make("th", { scope: "row", text: facts.rows.label[row], title: facts.rows.label[row] }));
  line.dataset.row = row;
  for (const [id, , value] of FIXED.slice(1)) {
    const told = value(row);
    const kind = (typeof told === "number" ? "number" : "text") + (WIDE.includes(id) ? " wide" : "");
    const shown = id === "proba" ? told.toFixed(0) : showValue(told);
    line.append(make("td", { class: id === "prediction" && !right ? `${kind} wrong` : kind, text: id === "prediction" && !right ? `${shown} ✗` : shown, title: shown }));
  }
  line.append(...view.columns.map((column) => maskCell(row, column)));
  return line;
}

function drawRows() {
  const pages = Math.max(1, Math.ceil(view.rows.length / PAGE));
  const head = make("tr", { "aria-rowindex": 1 }, ...FIXED.map(([id, text]) => headerCell(id, text, false)),
    ...view.columns.map((column) => headerCell(column, nameOf(column), true)));
  const lines = view.rows.slice(view.page * PAGE, (view.page + 1) * PAGE).map(rowLine);
  if (!lines.length) lines.push(make("tr", {}, make("td", { colspan: FIXED.length + view.columns.length, text: "No row fits. Reset shows all." })));
  byId("grid").setAttribute("aria-rowcount", view.rows.length + 1);
  byId("grid").replaceChildren(make("thead", {}, head), make("tbody", {}, ...lines));
  byId("page-number").textContent = `page ${view.page + 1} of ${pages}`;
  byId("previous").disabled = view.page === 0;
  byId("next").disabled = view.page + 1 >= pages;
  byId("grid-scroll").scrollTop = 0;
  if (!card.hidden) markOpen(Number(card.dataset.row));
}

function turn(step) {
  const pages = Math.ceil(view.rows.length / PAGE);
  const page = Math.max(0, Math.min(pages - 1, view.page + step));
  if (page === view.page) return false;
  view.page = page;
  view.here = 0;
  drawRows();
  return true;
}

const lineAt = (place) => byId("grid").tBodies[0].rows[place];
function focusRow() {
  lineAt(view.here)?.focus();
}
function moveTo(place) {
  const count = byId("grid").tBodies[0].rows.length;
  lineAt(view.here)?.setAttribute("tabindex", -1);
  view.here = Math.max(0, Math.min(count - 1, place));
  lineAt(view.here).setAttribute("tabindex", 0);
  focusRow();
  if (!card.hidden) show(lineAt(view.here));
}
function markOpen(row) {
  for (const line of byId("grid").tBodies[0].rows) line.setAttribute("aria-selected", String(line.dataset.row === String(row)));
}
function show(line) {
  if (line.dataset.row === undefined) return;
  openCard(Number(line.dataset.row));
  markOpen(Number(line.dataset.row));
  const top = line.getBoundingClientRect().top;
  if (!BESIDE.matches && top > innerHeight * 0.3) scrollBy(0, top - innerHeight * 0.25); // not under the card
}

function onKey(event) {
  const line = event.target.closest("tbody tr");
  if (!line) return;
  const here = view.here;
  const moves = {
    ArrowDown: () => (lineAt(here + 1) ? moveTo(here + 1) : turn(1) && moveTo(0)),
    ArrowUp: () => (here > 0 ? moveTo(here - 1) : turn(-1) && moveTo(PAGE - 1)),
    Home: () => moveTo(0),
    End: () => moveTo(PAGE),
    PageDown: () => turn(1) && moveTo(0),
    PageUp: () => turn(-1) && moveTo(0),
    Enter: () => show(line),
    " ": () => show(line),
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  moves[event.key]();
}

function startRows() {
  const grid = byId("grid");
  grid.addEventListener("keydown", onKey);
  grid.addEventListener("click", (event) => {
    const line = event.target.closest("tbody tr");
    if (!line) return;
    moveTo(line.sectionRowIndex);
    show(line);
  });
  grid.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("td.cell");
    if (!cell) return hideTip();
    const row = Number(cell.parentElement.dataset.row);
    const column = Number(cell.dataset.column);
    const on = isOn(row, column);
    const told = on ? `${showEffect(towards(row, column))}, ${howSure(row, column)}` : isSure(row, column) ? "not selected" : howSure(row, column);
    showTip(`${nameOf(column)} = ${showValue(facts.columns[column].values[row])}: ${told}`, event);
  });
  grid.addEventListener("pointerleave", hideTip);
  for (const id of ["group", "wrong", "unsure"]) byId(id)?.addEventListener("change", () => filterRows());
  byId("search").addEventListener("input", () => filterRows());
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("show-all").addEventListener("click", () => { byId("controls").reset(); filterRows(); });
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !card.hidden) closeCard(); });
  filterRows();
  if (BESIDE.matches && view.rows.length) show(lineAt(0));
}
