"""The threshold of a MachineHealthCheck: boundary and rounding of MHC A.2.4, rules 4, 5 and 44."""

from fractions import Fraction
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.threshold import LARGEST, Allowance, IntOrPercent
from health.kinds.machines.check import allowance, remediations_allowed

AMOUNTS = st.one_of(
    st.integers(0, 10_000).map(IntOrPercent.parse),
    st.integers(0, 100).map(lambda share: IntOrPercent.parse(f"{share}%")),
)


def decided(most: object, total: int, unhealthy: int) -> Allowance:
    return allowance(IntOrPercent.parse(most), total=total, healthy=total - unhealthy)


@pytest.mark.rule("MHC A.2.4/threshold", "MHC A.2.4/rounding", "MHC A.1/status/remediationsAllowed", "rule 4")
@pytest.mark.parametrize(
    ("most", "total", "unhealthy", "is_allowed", "left"),
    [
        pytest.param("40%", 5, 2, True, 0, id="40% of 5 is 2"),
        pytest.param("40%", 5, 3, False, 0, id="one more than 40% of 5"),
        pytest.param("50%", 5, 3, False, 0, id="50% of 5 is 2"),
        pytest.param("50%", 5, 1, True, 1, id="50% of 5 leaves another one"),
        pytest.param("49%", 2, 1, False, 0, id="49% of 2 is none"),
        pytest.param(0, 5, 0, True, 0, id="none, and none is unhealthy"),
        pytest.param("0%", 5, 1, False, 0, id="a share of nothing"),
        pytest.param(1, 5, 2, False, 0, id="one that is over and one whose timer runs, of one"),
        pytest.param("5", 10, 5, True, 0, id="a string of digits"),
        pytest.param("100%", 5, 5, True, 0, id="all"),
        pytest.param("100%", 0, 0, True, 0, id="nobody"),
        pytest.param(1, 0, 0, True, 1, id="a number of nobody"),
        pytest.param(10, 3, 3, True, 7, id="more than there are"),
        pytest.param(LARGEST, 3, 0, True, LARGEST, id="the largest number"),
    ],
)
def test_as_many_as_max_unhealthy_may_be_unhealthy(
    most: object,
    total: int,
    unhealthy: int,
    is_allowed: bool,  # noqa: FBT001  a column of the table
    left: int,
) -> None:
    found = decided(most, total, unhealthy)

    assert (found.allowed, remediations_allowed(found)) == (is_allowed, left)


@pytest.mark.rule("rule 5")
def test_decision_is_reported_with_its_numbers_also_where_more_may_be_unhealthy_than_there_are() -> None:
    assert decided("40%", 5, 3).words == "3 of 5 unhealthy, at most 2 allowed"
    assert decided(10, 3, 3).words == "3 of 3 unhealthy, at most 10 allowed"


@pytest.mark.rule("MHC A.2.4/rounding")
@given(share=st.integers(0, 100), total=st.integers(0, 100_000))
def test_share_is_rounded_down_exactly(share: int, total: int) -> None:
    most = floor(Fraction(share, 100) * total)

    assert IntOrPercent.parse(f"{share}%").floor_of(total) == most


@pytest.mark.rule("MHC A.2.4/threshold")
@given(most=AMOUNTS, total=st.integers(0, 1000), data=st.data())
def test_allowed_number_keeps_max_unhealthy_exactly(
    most: IntOrPercent, total: int, data: st.DataObject
) -> None:
    healthy = data.draw(st.integers(0, total))
    found = allowance(most, total=total, healthy=healthy)

    assert found.allowed == (total - healthy <= most.floor_of(total))
    assert remediations_allowed(found) == max(0, most.floor_of(total) - (total - healthy))


@given(most=AMOUNTS, total=st.integers(0, 1000), data=st.data())
def test_more_healthy_machines_never_take_an_allowance_away(
    most: IntOrPercent, total: int, data: st.DataObject
) -> None:
    healthy = data.draw(st.integers(0, total))
    more = data.draw(st.integers(healthy, total))

    assert allowance(most, total=total, healthy=more).allowed >= (
        allowance(most, total=total, healthy=healthy).allowed
    )
