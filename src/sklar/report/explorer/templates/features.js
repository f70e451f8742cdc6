// How often each feature is selected, overall and by class.
const FEW = 12;

function drawFeatures(all) {
  const used = [...now.features].sort((a, b) => b[1] - a[1]);
  const groups = used.length && used[0].length > 2 ? facts.groups : [];
  const head = make("tr", {}, make("th", { scope: "col", text: "feature" }), make("th", { scope: "col", text: "all rows" }));
  for (const group of groups) head.append(make("th", { scope: "col", text: cut(group, 24), title: group }));
  const body = make("tbody");
  for (const [number, ...shares] of all ? used : used.slice(0, FEW)) {
    const { name } = facts.features[number];
    const line = make("tr", {}, make("th", { scope: "row", text: name, title: name }));
    for (const share of shares) {
      line.append(share === null ? make("td", { text: "no rows" }) : make("td", {}, bar(share), `${share.toFixed(share < 10 ? 1 : 0)}\u00a0%`));
    }
    body.append(line);
  }
  if (!used.length) body.append(make("tr", {}, make("td", { colspan: 2, text: "No feature is selected in any row." })));
  byId("feature-table").replaceChildren(make("thead", {}, head), body);
  const more = byId("more-features");
  more.hidden = used.length <= FEW;
  more.textContent = all ? "Show fewer" : `Show all ${used.length} features in use`;
  more.onclick = () => drawFeatures(!all);
}
