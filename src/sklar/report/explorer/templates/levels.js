// The slider: another price, or k, changes every number, mask and card of the page.
const slider = byId("level");
const levelName = (level) => (ranked ? `k = ${level.value}` : `price ${Number(level.value).toPrecision(2)}`);

function tellLevel() {
  const { sizes, score, sure } = now;
  const mean = sizes.mean.toFixed(1);
  byId("lead").replaceChildren(`On ${facts.n_rows.toLocaleString("en")} rows the model reaches `,
    make("strong", { text: `${facts.score.name} ${score.toFixed(1)}\u00a0%` }), " from ",
    make("strong", { text: `${mean} of ${facts.model.n_features} features` }), " per row.");
  byId("score").textContent = `${score.toFixed(1)}\u00a0%`;
  byId("size").textContent = mean;
  byId("size-note").textContent = sizes.least === sizes.most ? "the same number in every row" : `from ${sizes.least} to ${sizes.most}`;
  byId("ever").textContent = sizes.ever;
  byId("sure").textContent = `${(100 * sure).toFixed(0)}\u00a0%`;
  if (!slider) return;
  const chosen = now === facts.levels[facts.chosen] ? (ranked ? " (fitted)" : " (chosen)") : "";
  byId("level-told").textContent = `${levelName(now)}${chosen}: ${mean} features per row, ${facts.score.name} ${score.toFixed(1)}\u00a0%`;
  slider.setAttribute("aria-valuetext", byId("level-told").textContent);
}

function useLevel(number) {
  now = unpack(facts.levels[number]);
  tellLevel();
  drawFeatures(false);
  drawEffects();
  drawRules();
  filterRows(false);
  if (!card.hidden) openCard(Number(card.dataset.row));
  drawPath();
}

function startLevels() {
  tellLevel();
  if (!slider) return;
  slider.value = facts.chosen;
  slider.addEventListener("input", () => useLevel(Number(slider.value)));
  byId("level-reset").addEventListener("click", () => {
    slider.value = facts.chosen;
    useLevel(facts.chosen);
  });
}
