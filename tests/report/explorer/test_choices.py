"""What a fit tried, as the page says it."""

from sklar.report.explorer.choices import choices


def test_every_trial_is_a_line_and_what_was_chosen_is_marked(priced):
    model, _, _ = priced
    found = choices(model.history_)
    assert [one["what"] for one in found].count("predictors") == 3
    assert sum(one["chosen"] for one in found if one["what"] == "predictors") == 1
    assert {one["how"] for one in found if one["what"] == "selector"} >= {"group lasso of its inputs x 1"}
    assert sum(one["how"].startswith("numbers also in 8 intervals") for one in found) == 1


def test_the_prices_are_those_that_the_fit_chose_from(priced):
    model, _, _ = priced
    prices = [one for one in choices(model.history_) if one["what"] == "price"]
    (chosen,) = (one for one in prices if one["chosen"])
    assert chosen["how"] == f"{model.penalty_:.2g}"
    assert min(one["above"] for one in prices) == 0
    assert chosen["above"] <= chosen["error"]
    within = [one for one in prices if one["above"] <= one["error"]]
    assert chosen["features"] == min(one["features"] for one in within)


def test_the_page_tells_the_rule_where_its_numbers_are(priced, tmp_path):
    """The table of prices is of a second selector, whose losses chose nothing."""
    model, X, y = priced
    page = model.report(X, y, tmp_path / "page.html", audit=False).read_text(encoding="utf-8")
    path, tried = page.split('id="path"')[1].split('id="choices"')
    assert "within one standard error of the best" in " ".join(tried.split())
    assert len(tried.split('id="price-table"')[1].split("</table>")[0].split("<tr")) == 6  # its head, and four prices
    assert "It did not choose the price" in path
    assert "of the best" not in path


def test_the_page_has_them_where_there_are_any(priced, ranked, tmp_path):
    for (model, X, y), has in ((priced, True), (ranked, False)):
        page = model.report(X, y, tmp_path / "page.html", audit=False).read_text()
        assert ("What the fit tried" in page) == has
        assert ("(chosen)" in page.split('id="reading"')[0].split('id="choices"')[-1]) or not has


def test_of_several_models_the_first_speaks():
    record = {"part": "strength", "strength": 1.0, "loss": 1.0, "mean_features": 2.0, "chosen": True}
    assert len(choices([{**record, "model": 0}, {**record, "model": 1}])) == 1
    assert choices([{"part": "final", "loss": 1.0, "mean_features": 2.0}]) == []
