from sklar.explain import Explanation, Feature
from sklar.report.plots import plot_card


def card(**words):
    selected = (
        Feature("age", 41, True, 0.97, effect=0.25),
        Feature("a very long name of a column", "blue", True, 0.6, effect=-0.1),
    )
    nearly = (Feature("city", None, False, 0.3),)
    whole = {"prediction": "yes", "probability": 0.9, "selected": selected, "nearly": nearly, "n_features": 9}
    return Explanation(**{**whole, "ranked": False, "n_models": 1, **words})


def test_a_bar_is_an_effect_hatched_where_unsure():
    ax = plot_card(card())
    assert [bar.get_width() for bar in ax.patches] == [0.25, -0.1, 0]
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [False, True, True]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["age = 41", "a very long name … = blue", "city = missing"]
    assert [text.get_text().strip() for text in ax.texts] == ["+25.0 points", "-10.0 points", "not selected"]
    assert ax.get_title("left") == "predicted yes (90 %) from 2 of 9 features"


def test_of_several_targets_the_largest_effect_is_drawn():
    ax = plot_card(card(selected=(Feature("age", 41, True, 0.97, effect=(0.1, -3.0)),), nearly=(), kind="values"))
    assert ax.patches[0].get_width() == -3.0
    assert "from the prediction" in ax.get_xlabel()


def test_nothing_selected_can_be_drawn():
    assert not plot_card(card(selected=(), nearly=(), probability=None)).patches
