"""Shortened texts of a workflow."""

import pytest
from pydantic_core import to_json

from objects.short_text import cut_to_bytes


@pytest.mark.parametrize("letter", ["x", "é", "…", "🔥", '"', "\n", "\\", "\x1b"])
def test_words_that_are_too_long_end_with_a_mark_and_fill_what_they_may(letter: str) -> None:
    cut = cut_to_bytes(letter * 500, 350)
    assert cut.endswith("…")
    assert set(cut[:-1]) == {letter}
    assert 350 - 6 <= len(to_json(cut)) <= 350


def test_words_that_just_fit_are_not_cut() -> None:
    assert cut_to_bytes("x" * 348, 350) == "x" * 348
    assert cut_to_bytes("x" * 349, 350) == "x" * 345 + "…"
    assert cut_to_bytes("", 350) == ""
