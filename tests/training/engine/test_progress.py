"""Parts weighed by their cost: the share that is done is the share of the time."""

import gc
import io

import pytest

import sklar
from sklar.training.engine.progress import Part, Progress
from tests.helpers import quick, toy_rows, toy_target

PARTS = [Part("cheap", 100), Part("nothing", 0), Part("dear", 50, cost=4.0)]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_share_done_is_the_share_of_the_time():
    with Progress(PARTS, file=io.StringIO()) as progress:
        shares = []
        for _ in range(150):
            progress.update()
            shares.append(progress.n / progress.total)
    spent = [*range(1, 101), *range(104, 304, 4)]  # at 1 a cheap step and 4 a dear one
    assert shares == pytest.approx([time / 300 for time in spent])


@pytest.mark.parametrize("seconds", [1.0, 0.01])
def test_the_time_left_does_not_jump(seconds):
    """Time goes by as the costs say: what was predicted at every step is what it took."""
    clock = [1000.0]
    with Progress(PARTS, file=Terminal()) as progress:
        progress._time, progress.start_t = lambda: clock[0], clock[0]
        for part in PARTS:
            for _ in range(part.steps):
                clock[0] += seconds * part.cost
                progress.update()
                facts = progress.format_dict
                left = (facts["total"] - facts["n"]) * facts["elapsed"] / facts["n"]
                assert left == pytest.approx(1000 + 300 * seconds - clock[0], abs=1e-6)


def test_a_log_gets_one_line_a_part():
    log = io.StringIO()
    with Progress(PARTS, file=log) as progress:
        for _ in range(150):
            progress.update()
    assert log.getvalue().splitlines() == [
        "training: cheap, part 1 of 2 (0 % of the time)",
        "training: dear, part 2 of 2 (33 % of the time)",
    ]


def test_a_terminal_gets_one_bar_that_goes():
    screen = Terminal()
    with Progress(PARTS, file=screen) as progress:
        progress.update(120)
        progress.refresh()
    assert "training: dear:  60%" in screen.getvalue()
    assert "\n" not in screen.getvalue()
    assert screen.getvalue().endswith("\r")


def test_silence():
    log = io.StringIO()
    with Progress(PARTS, verbose=False, file=log) as progress:
        assert progress.update(10) is None
    assert log.getvalue() == ""


def test_more_steps_than_were_planned_are_no_mistake():
    with Progress([Part("short", 1)], file=io.StringIO()) as progress:
        progress.update(5)
        assert (progress.n, progress.place) == (5, 0)
    with Progress([], file=io.StringIO()) as progress:
        progress.update(2)
        assert progress.n == 0


@pytest.mark.parametrize("rows", [60, 700])
@pytest.mark.parametrize("holes", [False, True])
def test_a_fit_takes_the_steps_that_it_planned(rows, holes, monkeypatch):
    """Those of trials of the predictors, and with few rows of rehearsals, side by side or (several inputs) in turn."""
    seen = []
    monkeypatch.setattr(Progress, "__exit__", lambda self, *error: seen.append((self.n, self.total, self.place)))
    X, value = toy_rows(rows)
    if holes:
        X[::7, 0] = float("nan")
    words = {"objective": "honest", "max_epochs": 1, "verbose": True, "penalty": "auto"}
    quick(sklar.CopulaSelectorClassifier, **words).fit(X, toy_target(sklar.CopulaSelectorClassifier, value))
    ((done, total, last),) = seen
    assert done == pytest.approx(total)
    assert last == (5 + 2 * (1 if not holes else 5 if rows < 600 else 2) - 1)


@pytest.mark.parametrize("file", [Terminal(), io.StringIO()], ids=["terminal", "log"])
def test_steps_of_an_earlier_run_are_shown_and_say_nothing_about_the_speed(file):
    clock = [1000.0]
    with Progress(PARTS, file=file) as progress:
        progress._time, progress.start_t = lambda: clock[0], clock[0]
        progress.skip(125)
        assert progress.n == 200
        clock[0] += 4.0
        progress.update()
        facts = progress.format_dict
        assert facts["elapsed"] * (300 - 204) / (facts["n"] - facts["initial"]) == pytest.approx(96)  # of 1 a unit
        progress.skip(0)
        progress.refresh()
    assert "resumed at 67 %" in file.getvalue()


def test_a_silent_bar_skips_in_silence():
    log = io.StringIO()
    with Progress(PARTS, verbose=False, file=log) as progress:
        progress.skip(7)
    assert log.getvalue() == ""


def test_one_that_was_interrupted_while_it_was_made_ends_in_silence(monkeypatch):
    def stopped(self, *given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("tqdm.std.tqdm.__init__", stopped)  # what is then collected must not complain: an error here
    with pytest.raises(KeyboardInterrupt):
        Progress(PARTS)
    gc.collect()
