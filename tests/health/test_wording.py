"""Words of an incident in another order, and cut."""

import pytest
from pydantic_core import to_json

from health.runbook.wording import cut_to_bytes, told_first, told_last

WORDS = "it is old; Reboot/a exists; held by a person: power; work"


@pytest.mark.parametrize(
    ("what", "first", "last"),
    [
        pytest.param(
            "it is old", WORDS, "Reboot/a exists; held by a person: power; work; it is old", id="first"
        ),
        pytest.param(
            "Reboot/a exists",
            "Reboot/a exists; it is old; held by a person: power; work",
            "it is old; held by a person: power; work; Reboot/a exists",
            id="middle",
        ),
        pytest.param(
            "held by a person: power; work",
            "held by a person: power; work; it is old; Reboot/a exists",
            WORDS,
            id="last, with a separator in it",
        ),
        pytest.param(WORDS, WORDS, WORDS, id="all"),
        pytest.param("nothing of it", WORDS, WORDS, id="none"),
        pytest.param("", WORDS, WORDS, id="empty"),
    ],
)
def test_part_is_moved_to_the_front_or_the_end_and_no_word_is_lost(what: str, first: str, last: str) -> None:
    assert told_first(WORDS, what) == first
    assert told_last(WORDS, what) == last


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
