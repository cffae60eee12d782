"""A time is also a ratio to the calibration loop, so that two machines can be compared; a count is not."""

import pytest

from bench.figure import Figure, Goal, table

LOOP_SECONDS = 0.5


@pytest.mark.parametrize(
    ("goal", "measured", "ratio"),
    [
        (Goal("latency", 1, "s"), 0.25, "0.5"),
        (Goal("longest stop", 200, "ms"), 100, "0.2"),
        (Goal("CPU", 2, "% of a core"), 5, "0.1"),
        (Goal("memory", 150, "MB"), 100, ""),
        (Goal("requests", 15), 15, ""),
    ],
)
def test_only_a_time_has_a_ratio(goal: Goal, measured: float, ratio: str) -> None:
    assert Figure(goal, measured, LOOP_SECONDS).row[-1] == ratio


def test_a_figure_is_met_up_to_its_goal() -> None:
    figures = [Figure(Goal("requests", 15), measured, LOOP_SECONDS) for measured in (15, 16)]

    assert [figure.is_met for figure in figures] == [True, False]
    assert list(table(figures))[2:] == [
        "| requests | 15 | 15 | met |  |",
        "| requests | 16 | 15 | SHORT |  |",
        "The ratio is to a loop of Python beside it, of 0.5 to 0.5 s of CPU.",
    ]
