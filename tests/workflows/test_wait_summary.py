"""The summary of a timer is parsed as it was written."""

import pytest

from health.model.details import Details
from health.model.moves import Phase, Wait
from workflows.wait_summary import WaitSummary

WHY = Details(subject="Node/node-1", reason="Ready is False: since noon", held="disk: swap")
WORDS = "held by a person: disk: swap; Node/node-1: Ready is False: since noon"


@pytest.mark.parametrize("phase", Phase)
def test_phase_and_words_are_read_as_they_were_written(phase: Phase) -> None:
    written = WaitSummary.of(Wait(phase, WHY))
    assert str(written) == f"{phase}: {WORDS}"
    assert WaitSummary.parsed(str(written)) == written == WaitSummary(phase, WORDS)


def test_wait_without_words_is_read_by_its_phase() -> None:
    written = WaitSummary(Phase.WAITING, "")
    assert WaitSummary.parsed(str(written)) == written


def test_phase_of_a_summary_that_had_to_be_cut_is_read() -> None:
    written = WaitSummary(Phase.HELD, "x" * 500)
    read = WaitSummary.parsed(str(written))
    assert read.phase == Phase.HELD
    assert read.words.endswith("x…")
