"""When remediation is allowed (CAPI B.2.4, rules 4, 5, 31 and 44)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.threshold import LARGEST, IntOrPercent
from health.kinds.clusterapi.spec import parse_amount, parse_range
from health.kinds.machines.check import allowance, remediations_allowed


@pytest.mark.rule(
    "CAPI B.2.4/threshold", "CAPI B.2.4/negative", "CAPI B.1/unhealthyLessThanOrEqualTo", "rule 5", "rule 44"
)
@pytest.mark.parametrize(
    ("written", "total", "unhealthy", "is_allowed", "left"),
    [
        pytest.param("40%", 3, 1, True, 0, id="40% of 3 is 1"),
        pytest.param("40%", 3, 2, False, 0, id="one more than 40% of 3"),
        pytest.param("60%", 7, 4, True, 0, id="60% of 7 is 4"),
        pytest.param("150%", 4, 4, True, 2, id="more than all"),
        pytest.param("100%", 0, 0, True, 0, id="nobody"),
        pytest.param(10, 3, 3, True, 7, id="more than there are"),
        pytest.param("3", 10, 3, True, 0, id="a string of digits"),
        pytest.param(-1, 5, 0, False, 0, id="a negative number"),
        pytest.param("-10%", 5, 0, False, 0, id="a negative share"),
        pytest.param("-1%", 0, 0, False, 0, id="a negative share of nobody"),
        pytest.param(LARGEST, 3, 0, True, LARGEST, id="the largest number"),
        pytest.param(f"{LARGEST}%", 1000, 0, True, LARGEST, id="the largest share"),
    ],
)
def test_as_many_as_the_amount_may_be_unhealthy(
    written: object,
    total: int,
    unhealthy: int,
    is_allowed: bool,  # noqa: FBT001  a column of the table
    left: int,
) -> None:
    decided = allowance(parse_amount(written), total=total, healthy=total - unhealthy)
    assert (decided.allowed, remediations_allowed(decided)) == (is_allowed, left)


@pytest.mark.rule("CAPI B.2.4/range", "CAPI B.1/unhealthyInRange")
@pytest.mark.parametrize(
    ("unhealthy", "is_allowed", "left"),
    [(1, False, 0), (2, True, 2), (4, True, 0), (5, False, 0)],
)
def test_range_takes_both_its_ends(unhealthy: int, is_allowed: bool, left: int) -> None:  # noqa: FBT001  a column
    decided = allowance(parse_range("[2-4]"), total=9, healthy=9 - unhealthy)
    assert (decided.allowed, remediations_allowed(decided)) == (is_allowed, left)
    assert decided.words == f"{unhealthy} of 9 unhealthy, from 2 to 4 allowed"


@pytest.mark.rule("CAPI B.2.4/range", "CAPI B.1/unhealthyInRange")
def test_range_up_to_all_that_go_can_count_leaves_what_a_status_can_hold() -> None:
    decided = allowance(parse_range("[0-4294967295]"), total=3, healthy=3)
    assert remediations_allowed(decided) == LARGEST


@pytest.mark.rule("CAPI B.2.4/rounding", "CAPI B.2.4/threshold", "rule 4")
@given(
    share=st.integers(0, 300),
    number=st.integers(-5, 50),
    is_percent=st.booleans(),
    total=st.integers(0, 200),
    data=st.data(),
)
def test_decision_is_that_of_the_reference(
    *, share: int, number: int, is_percent: bool, total: int, data: st.DataObject
) -> None:
    """As intstr.GetScaledValueFromIntOrPercent without rounding up, and the comparison after it."""
    unhealthy = data.draw(st.integers(0, total))
    most = math.floor(share * total / 100) if is_percent else number
    trigger = IntOrPercent(value=share if is_percent else number, is_percent=is_percent)

    decided = allowance(trigger, total=total, healthy=total - unhealthy)

    assert decided.allowed == (unhealthy <= most)
    assert remediations_allowed(decided) == max(0, most - unhealthy)


@given(ends=st.tuples(st.integers(0, 20), st.integers(0, 20)), total=st.integers(0, 30), data=st.data())
def test_range_allows_exactly_what_is_in_it(ends: tuple[int, int], total: int, data: st.DataObject) -> None:
    unhealthy = data.draw(st.integers(0, total))
    trigger = parse_range(f"[{min(ends)}-{max(ends)}]")
    decided = allowance(trigger, total=total, healthy=total - unhealthy)
    assert decided.allowed == (min(ends) <= unhealthy <= max(ends))
    assert remediations_allowed(decided) == (max(ends) - unhealthy if decided.allowed else 0)
