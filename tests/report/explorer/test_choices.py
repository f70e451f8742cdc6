"""What a fit tried, as the page says it."""

from sklar.report.explorer.choices import choices


def test_every_trial_is_a_line_and_what_was_chosen_is_marked(priced):
    model, _, _ = priced
    found = choices(model.history_)
    assert [one["what"] for one in found].count("predictors") == 3
    assert sum(one["chosen"] for one in found if one["what"] == "predictors") == 1
    assert {one["how"] for one in found if one["what"] == "selector"} >= {"group lasso of its inputs x 1"}
    assert sum(one["how"].startswith("numbers also in 8 intervals") for one in found) == 1


def test_the_page_has_them_where_there_are_any(priced, ranked, tmp_path):
    for (model, X, y), has in ((priced, True), (ranked, False)):
        page = model.report(X, y, tmp_path / "page.html", audit=False).read_text()
        assert ("What the fit tried" in page) == has
        assert ("(chosen)" in page.split('id="reading"')[0].split('id="choices"')[-1]) or not has


def test_of_several_models_the_first_speaks():
    record = {"part": "strength", "strength": 1.0, "loss": 1.0, "mean_features": 2.0, "chosen": True}
    assert len(choices([{**record, "model": 0}, {**record, "model": 1}])) == 1
    assert choices([{"part": "final", "loss": 1.0, "mean_features": 2.0}]) == []
