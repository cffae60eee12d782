from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devcluster.build_progress import (
    BuildState,
    BuildWork,
    announcement,
    read_state,
    remaining,
    sentence,
)
from devcluster.go_programs import CONTROL_PLANE, HELM

WORK = BuildWork(packages=1000, cpu_time=timedelta(minutes=8), shares=(0, 0.2, 1))


def state(begun: int, minutes: float = 0, downloaded: int = 0) -> BuildState:
    return BuildState(downloaded=downloaded, begun=begun, compiling_for=timedelta(minutes=minutes))


def test_first_estimate_depends_on_the_cores() -> None:
    assert announcement(WORK, 2) == "about 4 to 8 minutes on 2 cores"
    assert announcement(WORK, 16) == "about 1 to 2 minutes on 16 cores"
    assert announcement(WORK, 1) == "about 8 to 16 minutes on 1 core"


def test_first_packages_count_less() -> None:
    assert WORK.done(0) == 0
    assert WORK.done(250) == pytest.approx(0.1)
    assert WORK.done(500) == pytest.approx(0.2)
    assert WORK.done(1000) == WORK.done(5000) == 1


def test_rate_of_this_build_replaces_the_measured_one() -> None:
    assert remaining(WORK, state(0), 2) == timedelta(minutes=4)
    assert remaining(WORK, state(25, minutes=1), 2) < timedelta(minutes=4)
    loaded, quick = state(100, minutes=1), state(100, minutes=0.1)
    assert remaining(WORK, loaded, 2) == pytest.approx(timedelta(minutes=24), abs=timedelta(seconds=1))
    assert remaining(WORK, quick, 2) == pytest.approx(timedelta(minutes=3.84), abs=timedelta(seconds=1))
    slow = state(500, minutes=3)
    assert remaining(WORK, slow, 2) == pytest.approx(timedelta(minutes=12), abs=timedelta(seconds=1))


def test_output_of_the_compiler_is_counted() -> None:
    lines = ["go: downloading k8s.io/api v0.36.3", "internal/abi", "k8s.io/api/core/v1"]
    assert read_state(lines, timedelta()) == state(2, downloaded=1)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (state(0, downloaded=7), "7 modules downloaded, then about 4 min 0 s of compiling"),
        (state(500, minutes=1), "20% compiled, about 4 min 0 s left (500 of about 1,000 packages)"),
        (state(1001, minutes=4), "1,001 packages compiled, about to be linked"),
    ],
)
def test_progress_says_how_long_it_still_takes(now: BuildState, words: str) -> None:
    assert sentence(WORK, now, 2) == words


@pytest.mark.parametrize("work", [CONTROL_PLANE.work, HELM.work])
@given(begun=st.integers(0, 5000))
def test_progress_never_goes_back(work: BuildWork, begun: int) -> None:
    assert 0 <= work.done(begun) <= work.done(begun + 1) <= 1
