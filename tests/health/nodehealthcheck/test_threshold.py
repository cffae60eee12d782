"""The threshold of a NodeHealthCheck: boundary and rounding of NHC 2.2, rules 4, 5 and 44."""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.threshold import IntOrPercent
from health.kinds.nodehealthcheck.check import Threshold

AMOUNTS = st.one_of(
    st.integers(0, 10_000).map(IntOrPercent.parse),
    st.integers(0, 100).map(lambda share: IntOrPercent.parse(f"{share}%")),
)
THRESHOLDS = st.one_of(
    AMOUNTS.map(lambda amount: Threshold(min_healthy=amount)),
    AMOUNTS.map(lambda amount: Threshold(max_unhealthy=amount)),
)


def min_healthy(raw: object) -> Threshold:
    return Threshold(min_healthy=IntOrPercent.parse(raw))


def max_unhealthy(raw: object) -> Threshold:
    return Threshold(max_unhealthy=IntOrPercent.parse(raw))


@pytest.mark.rule("NHC 2.2/minHealthy", "NHC 2.2/maxUnhealthy", "rule 5", "rule 44")
@pytest.mark.parametrize(
    ("threshold", "required"),
    [
        pytest.param(min_healthy("75%"), 8, id="min 75% rounds up"),
        pytest.param(min_healthy("0%"), 0, id="min 0%"),
        pytest.param(min_healthy("100%"), 10, id="min 100%"),
        pytest.param(min_healthy("51%"), 6, id="min 51%"),
        pytest.param(min_healthy("50%"), 5, id="min 50% needs no rounding"),
        pytest.param(min_healthy(7), 7, id="min 7"),
        pytest.param(min_healthy("7"), 7, id="min a string of digits"),
        pytest.param(min_healthy(12), 12, id="min above the total is never reached"),
        pytest.param(max_unhealthy("75%"), 2, id="max 75% rounds the share up"),
        pytest.param(max_unhealthy("0%"), 10, id="max 0%"),
        pytest.param(max_unhealthy("100%"), 0, id="max 100%"),
        pytest.param(max_unhealthy("49%"), 5, id="max 49%"),
        pytest.param(max_unhealthy(3), 7, id="max 3"),
        pytest.param(max_unhealthy("3"), 7, id="max a string of digits"),
        pytest.param(max_unhealthy(10), 0, id="max all"),
        pytest.param(max_unhealthy(12), 0, id="max above the total allows always"),
    ],
)
def test_required_healthy_ones_out_of_ten(threshold: Threshold, required: int) -> None:
    assert threshold.required(10) == required


@pytest.mark.rule("NHC 2.2/boundary")
def test_at_the_threshold_remediation_is_allowed_and_below_it_not() -> None:
    threshold = min_healthy("75%")

    assert threshold.allowance(total=10, healthy=8).allowed
    assert not threshold.allowance(total=10, healthy=7).allowed


@pytest.mark.rule("NHC 2.2/concurrency")
def test_three_of_seven_are_remediated_at_once_where_four_must_be_healthy() -> None:
    assert min_healthy("51%").allowance(total=7, healthy=4).allowed


def test_check_that_selects_nothing_allows() -> None:
    assert min_healthy("51%").allowance(total=0, healthy=0).allowed
    assert max_unhealthy(1).allowance(total=0, healthy=0).allowed


def test_threshold_that_says_nothing_allows_nothing() -> None:
    assert not Threshold().allowance(total=10, healthy=9).allowed


def test_decision_is_reported_with_its_numbers() -> None:
    threshold = max_unhealthy("40%")

    assert threshold.allowance(total=10, healthy=6).words == "4 of 10 unhealthy, at most 4 allowed"
    assert threshold.allowance(total=10, healthy=5).words == "5 of 10 unhealthy, at most 4 allowed"


def test_words_never_tell_of_less_than_none_allowed() -> None:
    assert min_healthy(12).allowance(total=10, healthy=10).words == (
        "0 of 10 unhealthy, at least 12 healthy required"
    )


@given(threshold=THRESHOLDS, total=st.integers(0, 1000), data=st.data())
def test_more_healthy_targets_never_take_an_allowance_away(
    threshold: Threshold, total: int, data: st.DataObject
) -> None:
    healthy = data.draw(st.integers(0, total))
    more = data.draw(st.integers(healthy, total))

    assert threshold.allowance(total=total, healthy=more).allowed >= (
        threshold.allowance(total=total, healthy=healthy).allowed
    )


@pytest.mark.rule("NHC 2.2/boundary")
@given(threshold=THRESHOLDS, total=st.integers(0, 1000), data=st.data())
def test_allowance_is_exactly_the_required_number(
    threshold: Threshold, total: int, data: st.DataObject
) -> None:
    allowance = threshold.allowance(total=total, healthy=data.draw(st.integers(0, total)))

    assert allowance.allowed == (allowance.healthy >= allowance.required)
    assert allowance.required >= 0


@pytest.mark.rule("NHC 2.2/maxUnhealthy")
@given(share=st.integers(0, 100), total=st.integers(0, 1000))
def test_max_unhealthy_of_a_share_is_what_min_healthy_leaves_of_the_total(share: int, total: int) -> None:
    unhealthy = ceil(Fraction(share, 100) * total)

    assert max_unhealthy(f"{share}%").required(total) == total - unhealthy
