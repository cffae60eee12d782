"""The budget of changes of a workload cluster: only a flapping cluster exceeds it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.feeds.change_budget import CALM_SECONDS, ChangeBudget, budget_for


def change(budget: ChangeBudget, nodes: int, times: int, *, begin: float = 0, seconds: float = 0) -> float:
    """Count that many changes, evenly spread over the time; return the time of the last one."""
    for number in range(times):
        budget.count(nodes, begin + seconds * number / times)
    return begin + seconds


@pytest.mark.parametrize(
    ("nodes", "changes", "seconds"),
    [
        (1_000, 6_000, 0),  # all Nodes fail and recover at once
        (5_000, 30_000, 0),
        (5_000, 6_000, 0),  # a zone of 1,000 Nodes fails and recovers
        (5_000, 5_000 * 60, 3_600),  # each Node changes once a minute for an hour
        (5_000, 20 * 100 * 12, 3_600),  # an upgrade
        (3, 60, 1),
    ],
)
def test_no_real_cluster_goes_over_its_budget(nodes: int, changes: int, seconds: float) -> None:
    budget = ChangeBudget()
    change(budget, nodes, changes, begin=1_000, seconds=seconds)
    assert budget.excess == ""


@pytest.mark.parametrize(("nodes", "a_second"), [(1_000, 20), (3_000, 50), (200, 5)])
def test_cluster_that_is_scaled_down_stays_within_its_budget(nodes: int, a_second: int) -> None:
    budget = ChangeBudget()
    for removed in range(nodes):
        left, now = nodes - removed, 1_000 + removed / a_second
        for seen in (left, left, left - 1):  # cordoned, not Ready, deleted
            budget.count(seen, now)
        assert budget.excess == "", f"at {left} Nodes"


def test_budget_of_more_nodes_ends_once_the_level_is_zero() -> None:
    budget = ChangeBudget()
    budget.count(5_000, 1_000)
    change(budget, 20, 2_000, begin=1_001, seconds=2)
    assert "the budget for 20 Nodes" in budget.excess


def test_clock_that_goes_back_does_not_raise_the_level() -> None:
    budget = ChangeBudget()
    budget.count(20, 1_000)
    budget.count(20, 100)
    assert budget.excess == ""


def test_cluster_that_flaps_goes_over_its_budget_within_seconds_and_the_numbers_are_reported() -> None:
    budget = ChangeBudget()
    change(budget, 20, 2_000, begin=1_000, seconds=2)
    assert budget.excess == (
        "they changed 423 times in 1 s, and the budget for 20 Nodes is 420 changes at once and 5 a second"
    )


def test_sentence_stays_as_long_as_the_cluster_is_over_its_budget() -> None:
    budget = ChangeBudget()
    over = change(budget, 20, 2_000, begin=1_000, seconds=2)
    before = budget.excess
    change(budget, 20, 50_000, begin=over, seconds=50)
    assert budget.excess == before


def test_cluster_is_within_its_budget_after_half_a_minute_without_a_change_and_not_earlier() -> None:
    budget = ChangeBudget()
    over = change(budget, 20, 2_000, begin=1_000, seconds=2)
    budget.look(20, over + CALM_SECONDS - 0.1)
    assert budget.excess
    budget.look(20, over + CALM_SECONDS)
    assert budget.excess == ""


def test_cluster_that_goes_on_as_fast_as_its_budget_allows_stays_over_it() -> None:
    budget = ChangeBudget()
    over = change(budget, 200, 20_000, begin=1_000, seconds=2)
    over = change(budget, 200, round(3_600 * budget_for(200).per_second), begin=over, seconds=3_600)
    budget.look(200, over)
    assert budget.excess


def test_cluster_that_says_that_it_has_more_nodes_than_kubernetes_supports_gains_nothing() -> None:
    assert budget_for(1_000_000)[1:] == budget_for(5_000)[1:]


@given(
    st.integers(0, 10_000),
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 500)), max_size=20),
)
def test_cluster_is_over_its_budget_only_with_more_changes_than_the_budget_of_that_time(
    nodes: int, steps: list[tuple[float, int]]
) -> None:
    budget, allowed = ChangeBudget(), budget_for(nodes)
    now, changes, is_over = 0.0, 0, False
    for pause, times in steps:
        now, changes = now + pause, changes + times
        change(budget, nodes, times, begin=now)
        is_over = is_over or bool(budget.excess)
    if is_over:
        assert changes > allowed.at_once


@given(st.integers(0, 200), st.floats(1.5, 100))
def test_any_rate_above_the_budget_goes_over_it_in_the_end(nodes: int, factor: float) -> None:
    budget, allowed = ChangeBudget(), budget_for(nodes)
    seconds = 1.1 * allowed.at_once / (allowed.per_second * (factor - 1))
    change(budget, nodes, round(allowed.per_second * factor * seconds) + 2, seconds=seconds)
    assert budget.excess
