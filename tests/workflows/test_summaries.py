"""Shortened texts of a workflow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from objects.short_text import LONGEST_LINE, SHORTEST_NAME, Brief, cut_to_bytes
from workflows.kit import SUMMARY_BYTES, in_summary


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


@given(before=st.text(), name=st.text(max_size=300), after=st.text())
def test_summary_of_any_text_is_one_short_line(before: str, name: str, after: str) -> None:
    summary = in_summary(Brief(before, name, after))
    assert len(summary) <= LONGEST_LINE
    assert len(summary.splitlines()) <= 1
    assert len(to_json(summary.encode(errors="replace").decode())) <= SUMMARY_BYTES


def test_name_is_cut_before_the_words_around_it() -> None:
    cut = Brief("create Reboot from", "n" * 250, "and 2 more").within()
    assert len(cut) == LONGEST_LINE
    assert cut.startswith("create Reboot from n")
    assert cut.endswith("n… and 2 more")
    assert Brief("delete", "Reboot/ns/node-1").within() == "delete Reboot/ns/node-1"


def test_beginning_of_a_name_stays_beside_words_that_are_too_long() -> None:
    cut = Brief("x" * 40, "name-of-a-node", "y" * 40).within()
    assert f"x {'name-of-a-node'[: SHORTEST_NAME - 1]}… y" in cut
    assert len(cut) == LONGEST_LINE
