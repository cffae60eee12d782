"""Amounts of targets: a number or a share of them."""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.threshold import IntOrPercent


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
