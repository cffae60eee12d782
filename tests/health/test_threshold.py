"""The thresholds of the three kinds: NHC 2.2, MHC A.2.4, CAPI B.2.4, rules 4, 5, 31 and 44."""

import math
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.threshold import LARGEST, Allowance, IntOrPercent
from health.kinds.clusterapi.spec import parse_amount, parse_range
from health.kinds.machines.check import allowance, remediations_allowed
from health.kinds.nodehealthcheck.check import NodeHealthCheck
from tests.support.values.builders import check


@pytest.mark.rule("NHC 1.1/minHealthy", "NHC 1.1/maxUnhealthy")
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param("101%", id="above 100%"),
        pytest.param("007%", id="three digits"),
        pytest.param("-3", id="a negative string"),
        pytest.param("-3%", id="a negative share"),
        pytest.param("", id="nothing"),
        pytest.param("%", id="no number"),
        pytest.param("3.5%", id="a fraction"),
        pytest.param(" 3", id="a space"),
        pytest.param("3\n", id="a line end"),
        pytest.param("٣", id="digits of another script"),
        pytest.param(3.5, id="a float"),
        pytest.param(True, id="a boolean"),
        pytest.param(None, id="null"),
        pytest.param([3], id="a list"),
    ],
)
def test_threshold_that_is_neither_a_number_nor_a_percentage_is_refused(raw: object) -> None:
    with pytest.raises(ValueError, match="must be a whole number or a percentage"):
        IntOrPercent.parse(raw)


@pytest.mark.rule("NHC 1.1/webhook/negative threshold")
def test_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^must not be negative$"):
        IntOrPercent.parse(-3)


def test_number_above_32_bits_is_refused() -> None:
    assert IntOrPercent.parse(2**31 - 1).value == 2**31 - 1
    with pytest.raises(ValueError, match="must fit into 32 bits"):
        IntOrPercent.parse(2**31)


@pytest.mark.parametrize("raw", [3, "3", "40%", "100%"])
def test_amount_is_shown_as_it_was_written(raw: object) -> None:
    assert str(IntOrPercent.parse(raw)) == str(raw)


@pytest.mark.rule("NHC 2.2/minHealthy", "NHC 2.2/maxUnhealthy")
@given(share=st.integers(0, 100), total=st.integers(0, 100_000))
def test_share_is_rounded_up_exactly(share: int, total: int) -> None:
    assert IntOrPercent.parse(f"{share}%").of(total) == ceil(Fraction(share, 100) * total)


ANY_CHECK = check()
AMOUNTS = st.one_of(
    st.integers(0, 10_000).map(IntOrPercent.parse),
    st.integers(0, 100).map(lambda share: IntOrPercent.parse(f"{share}%")),
)
THRESHOLDS = st.one_of(
    AMOUNTS.map(lambda amount: threshold_of(min_healthy=amount)),
    AMOUNTS.map(lambda amount: threshold_of(max_unhealthy=amount)),
)


def threshold_of(
    min_healthy: IntOrPercent | None = None, max_unhealthy: IntOrPercent | None = None
) -> NodeHealthCheck:
    spec = ANY_CHECK.spec.model_copy(update={"min_healthy": min_healthy, "max_unhealthy": max_unhealthy})
    return ANY_CHECK.model_copy(update={"spec": spec})


def min_healthy(raw: object) -> NodeHealthCheck:
    return threshold_of(min_healthy=IntOrPercent.parse(raw))


def max_unhealthy(raw: object) -> NodeHealthCheck:
    return threshold_of(max_unhealthy=IntOrPercent.parse(raw))


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
def test_required_healthy_ones_out_of_ten(threshold: NodeHealthCheck, required: int) -> None:
    assert threshold.allowance(total=10, healthy=0).required == required


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
    assert not threshold_of().allowance(total=10, healthy=9).allowed


def test_decision_is_reported_with_its_numbers() -> None:
    threshold = max_unhealthy("40%")

    assert threshold.allowance(total=10, healthy=6).words == "4 of 10 unhealthy, at most 4 allowed"
    assert threshold.allowance(total=10, healthy=5).words == "5 of 10 unhealthy, at most 4 allowed"


def test_words_never_tell_of_less_than_none_allowed() -> None:
    assert min_healthy(12).allowance(total=10, healthy=10).words == (
        "0 of 10 unhealthy, at least 12 healthy required"
    )


@pytest.mark.rule("NHC 2.2/boundary")
@given(threshold=THRESHOLDS, total=st.integers(0, 1000), data=st.data())
def test_allowance_is_exactly_the_required_number(
    threshold: NodeHealthCheck, total: int, data: st.DataObject
) -> None:
    allowance = threshold.allowance(total=total, healthy=data.draw(st.integers(0, total)))

    assert allowance.required >= 0
    assert allowance.allowed == (allowance.healthy >= allowance.required)


@pytest.mark.rule("NHC 2.2/maxUnhealthy")
@given(share=st.integers(0, 100), total=st.integers(0, 1000))
def test_max_unhealthy_of_a_share_is_what_min_healthy_leaves_of_the_total(share: int, total: int) -> None:
    unhealthy = ceil(Fraction(share, 100) * total)

    assert max_unhealthy(f"{share}%").allowance(total=total, healthy=0).required == total - unhealthy


def decided(most: object, total: int, unhealthy: int) -> Allowance:
    return allowance(IntOrPercent.parse(most), total=total, healthy=total - unhealthy)


@pytest.mark.rule("MHC A.2.4/threshold", "MHC A.2.4/rounding", "MHC A.1/status/remediationsAllowed", "rule 4")
@pytest.mark.rule(
    "CAPI B.2.4/threshold", "CAPI B.2.4/negative", "CAPI B.1/unhealthyLessThanOrEqualTo", "rule 5", "rule 44"
)
@pytest.mark.parametrize(
    ("most", "total", "unhealthy", "is_allowed", "left"),
    [
        pytest.param(IntOrPercent.parse("40%"), 5, 2, True, 0, id="40% of 5 is 2"),
        pytest.param(IntOrPercent.parse("40%"), 5, 3, False, 0, id="one more than 40% of 5"),
        pytest.param(IntOrPercent.parse("50%"), 5, 3, False, 0, id="50% of 5 is 2"),
        pytest.param(IntOrPercent.parse("50%"), 5, 1, True, 1, id="50% of 5 leaves another one"),
        pytest.param(IntOrPercent.parse("49%"), 2, 1, False, 0, id="49% of 2 is none"),
        pytest.param(IntOrPercent.parse(0), 5, 0, True, 0, id="none, and none is unhealthy"),
        pytest.param(IntOrPercent.parse("0%"), 5, 1, False, 0, id="a share of nothing"),
        pytest.param(
            IntOrPercent.parse(1), 5, 2, False, 0, id="one that is over and one whose timer runs, of one"
        ),
        pytest.param(IntOrPercent.parse("5"), 10, 5, True, 0, id="a string of digits"),
        pytest.param(IntOrPercent.parse("100%"), 5, 5, True, 0, id="all"),
        pytest.param(IntOrPercent.parse("100%"), 0, 0, True, 0, id="nobody"),
        pytest.param(IntOrPercent.parse(1), 0, 0, True, 1, id="a number of nobody"),
        pytest.param(IntOrPercent.parse(10), 3, 3, True, 7, id="more than there are"),
        pytest.param(IntOrPercent.parse(LARGEST), 3, 0, True, LARGEST, id="the largest number"),
        pytest.param(parse_amount("40%"), 3, 1, True, 0, id="40% of 3 is 1"),
        pytest.param(parse_amount("40%"), 3, 2, False, 0, id="one more than 40% of 3"),
        pytest.param(parse_amount("60%"), 7, 4, True, 0, id="60% of 7 is 4"),
        pytest.param(parse_amount("150%"), 4, 4, True, 2, id="more than all"),
        pytest.param(parse_amount("100%"), 0, 0, True, 0, id="nobody"),
        pytest.param(parse_amount(10), 3, 3, True, 7, id="more than there are"),
        pytest.param(parse_amount("3"), 10, 3, True, 0, id="a string of digits"),
        pytest.param(parse_amount(-1), 5, 0, False, 0, id="a negative number"),
        pytest.param(parse_amount("-10%"), 5, 0, False, 0, id="a negative share"),
        pytest.param(parse_amount("-1%"), 0, 0, False, 0, id="a negative share of nobody"),
        pytest.param(parse_amount(LARGEST), 3, 0, True, LARGEST, id="the largest number"),
        pytest.param(parse_amount(f"{LARGEST}%"), 1000, 0, True, LARGEST, id="the largest share"),
    ],
)
def test_as_many_as_max_unhealthy_may_be_unhealthy(
    most: IntOrPercent,
    total: int,
    unhealthy: int,
    is_allowed: bool,  # noqa: FBT001  a column of the table
    left: int,
) -> None:
    found = allowance(most, total=total, healthy=total - unhealthy)

    assert (found.allowed, remediations_allowed(found)) == (is_allowed, left)


@pytest.mark.rule("rule 5")
def test_decision_is_reported_with_its_numbers_also_where_more_may_be_unhealthy_than_there_are() -> None:
    assert decided("40%", 5, 3).words == "3 of 5 unhealthy, at most 2 allowed"
    assert decided(10, 3, 3).words == "3 of 3 unhealthy, at most 10 allowed"


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
@pytest.mark.rule("MHC A.2.4/rounding", "MHC A.2.4/threshold")
@given(
    share=st.integers(0, 300),
    number=st.integers(-5, 10_000),
    is_percent=st.booleans(),
    total=st.integers(0, 100_000),
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
