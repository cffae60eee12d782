"""Storm recovery (NHC 2.3, rule 20), row by row and over any sequence of numbers."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.check.storm import Storm, after, storm_hold
from health.check.threshold import Allowance
from health.kinds.nodehealthcheck.status import stored_storm, storm_conditions
from health.model.observation import HoldReason
from tests.support.values.builders import ALLOWED, BLOCKED, NOW

COOLDOWN = timedelta(minutes=5)
BEFORE = NOW - timedelta(hours=1)
BEGUN = NOW - timedelta(minutes=20)
RAGING = Storm(is_active=True, turned=BEGUN, is_cooling=False, cooldown_turned=BEFORE)
COOLING = Storm(is_active=True, turned=BEGUN, is_cooling=True, cooldown_turned=NOW - timedelta(minutes=1))
OVER = Storm(is_active=False, turned=BEGUN, is_cooling=False, cooldown_turned=BEGUN)
ALL_HEALTHY = Allowance.of_required(6, total=10, healthy=10)
ALL_OF_TOO_FEW_HEALTHY = Allowance.of_required(6, total=2, healthy=2)


def next_storm(
    storm: Storm | None,
    allowance: Allowance,
    *,
    holds_back: bool | None = None,
    cooldown: timedelta | None = COOLDOWN,
    now: datetime = NOW,
) -> Storm | None:
    """The storm after one observation; by default a broken threshold holds a target."""
    held = not allowance.allowed if holds_back is None else holds_back
    return after(storm, allowance, cooldown, holds_back=held, now=now)


@pytest.mark.rule("NHC 2.3/1")
@pytest.mark.parametrize("storm", [None, OVER], ids=["never", "over"])
def test_without_a_storm_a_threshold_that_holds_changes_nothing(storm: Storm | None) -> None:
    assert next_storm(storm, ALLOWED) == storm
    assert storm_hold(storm, COOLDOWN, NOW) is None


@pytest.mark.rule("NHC 2.3/2")
def test_first_storm_begins_when_the_threshold_breaks() -> None:
    assert next_storm(None, BLOCKED) == Storm(
        is_active=True, turned=NOW, is_cooling=False, cooldown_turned=NOW
    )


@pytest.mark.rule("NHC 2.3/2", "NHC 1.3/lastTransitionTime")
def test_later_storm_leaves_the_time_of_a_cooldown_that_did_not_run() -> None:
    assert next_storm(OVER, BLOCKED) == replace(OVER, is_active=True, turned=NOW)


@pytest.mark.rule("NHC 2.1/16", "NHC 2.3/2")
@pytest.mark.parametrize("storm", [None, OVER], ids=["never", "over"])
def test_no_storm_begins_while_no_target_is_held_back(storm: Storm | None) -> None:
    assert next_storm(storm, BLOCKED, holds_back=False) == storm


@pytest.mark.rule("NHC 2.3/3")
def test_storm_goes_on_while_the_threshold_is_broken() -> None:
    assert next_storm(RAGING, BLOCKED) == RAGING


@pytest.mark.rule("NHC 2.3/3")
@pytest.mark.parametrize("holds_back", [True, False], ids=["deadlines over", "timers run"])
def test_breach_during_the_cooldown_clears_it(holds_back: bool) -> None:  # noqa: FBT001  a column of the table
    assert next_storm(COOLING, BLOCKED, holds_back=holds_back) == replace(
        COOLING, is_cooling=False, cooldown_turned=NOW
    )


@pytest.mark.rule("NHC 2.3/3")
def test_cooldown_that_was_cleared_starts_from_its_beginning() -> None:
    cleared = next_storm(COOLING, BLOCKED)
    later = NOW + timedelta(minutes=2)
    cooling = next_storm(cleared, ALLOWED, now=later)

    assert cooling == replace(COOLING, cooldown_turned=later)
    assert next_storm(cooling, ALLOWED, now=NOW + COOLDOWN) == cooling


@pytest.mark.rule("NHC 2.3/4")
def test_cooldown_begins_when_the_threshold_holds_again() -> None:
    assert next_storm(RAGING, ALLOWED) == replace(RAGING, is_cooling=True, cooldown_turned=NOW)


@pytest.mark.rule("NHC 2.1/16", "rule 20")
@pytest.mark.parametrize("allowance", [ALL_HEALTHY, ALL_OF_TOO_FEW_HEALTHY], ids=["enough", "too few"])
def test_cooldown_begins_and_ends_when_all_nodes_recover(allowance: Allowance) -> None:
    cooling = next_storm(RAGING, allowance, holds_back=False)
    assert cooling == replace(RAGING, is_cooling=True, cooldown_turned=NOW)

    end = NOW + COOLDOWN + timedelta(seconds=1)
    ended = next_storm(cooling, allowance, holds_back=False, now=end)
    assert ended == Storm(is_active=False, turned=end, is_cooling=False, cooldown_turned=end)


# One second more than the cooldown: its start is known to the second only.
SINCE_THE_START = [
    pytest.param(timedelta(0), True, id="at once"),
    pytest.param(COOLDOWN, True, id="perhaps not over"),
    pytest.param(COOLDOWN + timedelta(seconds=1, microseconds=-1), True, id="an instant before the end"),
    pytest.param(COOLDOWN + timedelta(seconds=1), False, id="over"),
    pytest.param(COOLDOWN + timedelta(days=400), False, id="over for long"),
    pytest.param(-timedelta(hours=1), True, id="a clock that ran backwards"),
]


@pytest.mark.rule("NHC 2.3/5", "NHC 2.3/6")
@pytest.mark.parametrize(("elapsed", "goes_on"), SINCE_THE_START)
def test_storm_ends_when_its_cooldown_is_over(elapsed: timedelta, goes_on: bool) -> None:  # noqa: FBT001  a column of the table
    now = COOLING.cooldown_turned + elapsed
    end = now.replace(microsecond=0)
    ended = Storm(is_active=False, turned=end, is_cooling=False, cooldown_turned=end)

    assert next_storm(COOLING, ALLOWED, now=now) == (COOLING if goes_on else ended)


@pytest.mark.rule("rule 20/removed")
@pytest.mark.parametrize("storm", [None, OVER, RAGING, COOLING], ids=["never", "over", "raging", "cooling"])
@pytest.mark.parametrize("allowance", [ALLOWED, BLOCKED], ids=["holds", "broken"])
def test_without_a_cooldown_in_the_spec_there_is_no_storm(storm: Storm | None, allowance: Allowance) -> None:
    assert next_storm(storm, allowance, cooldown=None) is None
    assert storm_hold(storm, None, NOW) is None


@pytest.mark.rule("NHC 2.3/5")
def test_hold_says_since_when_and_until_when_at_the_earliest() -> None:
    hold = storm_hold(COOLING, COOLDOWN, NOW)

    assert hold is not None
    assert hold.reason is HoldReason.STORM
    assert hold.message == (
        "storm recovery since 2026-03-01T11:40:00Z, until 2026-03-01T12:04:01Z at the earliest"
    )
    assert hold.ask_again_seconds == pytest.approx(4 * 60 + 1, abs=0.1)
    assert hold.ask_again_seconds > 4 * 60 + 1


def test_hold_of_a_storm_whose_cooldown_does_not_run_says_what_it_waits_for() -> None:
    hold = storm_hold(RAGING, COOLDOWN, NOW)

    assert hold is not None
    assert hold.message == "storm recovery since 2026-03-01T11:40:00Z, until the threshold was held for 5m"


@dataclass(frozen=True)
class Look:
    """The numbers of a check at one moment."""

    wait: timedelta
    """Since the look before."""
    allowance: Allowance
    holds_back: bool
    restarts: bool
    """Whether the storm was stored in conditions, and read by the next leader."""


@st.composite
def looks(draw: st.DrawFn) -> Look:
    total = draw(st.integers(0, 6))
    healthy, required = draw(st.integers(0, total)), draw(st.integers(0, 6))
    allowance = Allowance.of_required(required, total=total, healthy=healthy)
    expires = draw(st.booleans()) and not allowance.allowed and healthy < total
    wait = draw(st.timedeltas(min_value=timedelta(0), max_value=COOLDOWN * 2))
    return Look(wait, allowance, expires, draw(st.booleans()))


def stored_and_read(storm: Storm | None, now: datetime) -> Storm | None:
    return stored_storm({"conditions": storm_conditions(storm)}, now)


def run(
    sequence: list[Look], cooldown: timedelta, *, restarting: bool
) -> list[tuple[datetime, Storm | None]]:
    storm, now, seen = None, NOW, []
    for look in sequence:
        if restarting and look.restarts:
            storm = stored_and_read(storm, now)
        now += look.wait
        storm = after(storm, look.allowance, cooldown, holds_back=look.holds_back, now=now)
        seen.append((now, storm))
    return seen


SEQUENCES = st.lists(looks(), max_size=20)
COOLDOWNS = st.timedeltas(min_value=timedelta(0), max_value=COOLDOWN)


@given(SEQUENCES, COOLDOWNS)
def test_same_look_twice_is_the_same_as_once(sequence: list[Look], cooldown: timedelta) -> None:
    for look, (now, storm) in zip(sequence, run(sequence, cooldown, restarting=False), strict=True):
        assert after(storm, look.allowance, cooldown, holds_back=look.holds_back, now=now) == storm


@pytest.mark.rule("NHC 2.3/5", "NHC 2.7/restart")
@given(SEQUENCES, COOLDOWNS)
def test_restarts_change_no_decision_at_any_time(sequence: list[Look], cooldown: timedelta) -> None:
    assert run(sequence, cooldown, restarting=True) == run(sequence, cooldown, restarting=False)


@pytest.mark.rule("NHC 2.3/5")
@given(SEQUENCES, COOLDOWNS)
def test_nothing_is_allowed_while_a_storm_is_active(sequence: list[Look], cooldown: timedelta) -> None:
    for now, storm in run(sequence, cooldown, restarting=True):
        assert (storm_hold(storm, cooldown, now) is not None) == (storm is not None and storm.is_active)


@pytest.mark.rule("NHC 2.3/6")
@given(SEQUENCES, COOLDOWNS)
def test_storm_ends_only_after_the_threshold_held_for_the_whole_cooldown(
    sequence: list[Look], cooldown: timedelta
) -> None:
    held_since, active = None, False
    for look, (now, storm) in zip(sequence, run(sequence, cooldown, restarting=True), strict=True):
        holds = look.allowance.allowed or look.allowance.healthy == look.allowance.total
        held_since = (held_since or now) if holds and active else None
        is_active = storm is not None and storm.is_active
        if active and not is_active:
            assert held_since is not None
            assert now - held_since >= cooldown
        active = is_active


@pytest.mark.rule("NHC 2.3/6", "rule 20")
@given(SEQUENCES, COOLDOWNS, st.sampled_from([ALLOWED, ALL_HEALTHY, ALL_OF_TOO_FEW_HEALTHY]))
def test_storm_always_ends_when_the_threshold_holds_for_the_cooldown(
    sequence: list[Look], cooldown: timedelta, allowance: Allowance
) -> None:
    now, storm = run(sequence, cooldown, restarting=True)[-1] if sequence else (NOW, RAGING)
    storm = after(storm, allowance, cooldown, holds_back=False, now=now)
    end = now + cooldown + timedelta(seconds=1)
    ended = after(storm, allowance, cooldown, holds_back=False, now=end)

    assert ended is None or not ended.is_active
