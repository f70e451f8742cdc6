// Dark or light, as the reader's system says until the reader does; then every part is drawn.
function startTheme() {
  const button = byId("theme");
  const apply = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark));
    button.textContent = dark ? "Light" : "Dark";
    drawEffects(); // a canvas has its colours from when it was drawn
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const follow = (event) => apply(event.matches);
  system.addEventListener("change", follow);
  button.addEventListener("click", () => {
    system.removeEventListener("change", follow);
    apply(document.documentElement.dataset.theme !== "dark");
  });
  apply(system.matches);
}

startTheme();
startLevels();
drawFeatures(false);
drawRules();
startRows();
drawMap();
drawPath();
addEventListener("resize", drawEffects);
