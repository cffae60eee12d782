"""Upgrade pauses from the begin to the end of an upgrade."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from health.cluster.upgrade import PauseProgress, UpgradePhase
from health.upgrade.decision import OrderName, decide
from health.upgrade.memory import MOST_NAMES, SETTLED_AFTER, UpgradeObservation
from health.upgrade.pausable_check import PausableCheck, PauseAction
from objects.metadata import ObjectMetadata
from tests.support.values.longest import BLOB_LIMIT, Longest, payload_bytes
from tests.support.values.looks import BEGAN, NEXT, NOTHING, NOW, UNKNOWN, Pause, check, over, under_way


def unpaused(left: str = "") -> Pause:
    """An upgrade in which a person unpaused the check."""
    pause = Pause.of(check())
    pause.sync(under_way())
    pause.cluster.edit("a", left)
    return pause


@pytest.mark.rule("MHC C.2/end and begin over which nothing ran", "rule 35")
@pytest.mark.parametrize("memory", ["kept", "lost"])
def test_next_upgrade_pauses_checks_that_were_unpaused_in_an_upgrade_with_an_unseen_end(memory: str) -> None:
    pause = unpaused("M")
    if memory == "lost":
        pause.memory = NOTHING
    pause.sync(under_way(NEXT))

    assert pause.annotations == {"a": "PM"}


@pytest.mark.rule("rule 35", "rule 47")
def test_old_mark_is_known_as_old_until_the_check_is_paused() -> None:
    pause = unpaused("M")
    pause.sync(under_way(NEXT), refused=["a"])
    pause.sync(under_way(NEXT))

    assert pause.annotations == {"a": "PM"}


@pytest.mark.rule("rule 34", "rule 35")
def test_check_still_paused_from_the_last_upgrade_is_ours_in_the_next_and_an_unpause_is_kept() -> None:
    pause = Pause.of(check())
    pause.sync(under_way())
    pause.sync(under_way(NEXT))
    assert pause.cluster.paused == [("uid-a", BEGAN)]
    pause.cluster.edit("a", "M")
    pause.memory = NOTHING
    pause.sync(under_way(NEXT))

    assert pause.annotations == {"a": "M"}


@pytest.mark.rule("MHC C.2/quickly")
def test_upgrade_that_ends_and_begins_again_unpauses_and_pauses_again() -> None:
    pause = Pause.of(check())
    for observed in (under_way(), over(), under_way(NOW + timedelta(seconds=5))):
        pause.sync(observed)

    assert pause.cluster.done("a") == [PauseAction.PAUSE, PauseAction.UNPAUSE, PauseAction.PAUSE]


@pytest.mark.rule("MHC C.2/re-targeted")
def test_upgrade_that_is_given_another_target_is_the_same() -> None:
    pause = unpaused()
    pause.sync(under_way().model_copy(update={"sign": "Version/v: to 4.19"}))

    assert pause.annotations == {"a": ""}


@pytest.mark.rule("rule 34", "rule 38")
def test_signals_that_join_and_end_one_after_the_other_are_one_upgrade() -> None:
    """Nothing is paused twice while the cluster is handed from signal to signal."""
    second, third = (BEGAN + timedelta(hours=hour) for hour in (1, 2))
    for left in ("", "M"):
        pause = unpaused(left)
        for since in [(BEGAN, second), (second,), (second, third), (third,)]:
            pause.sync(under_way(*since))
            assert pause.annotations == {"a": left}
        assert pause.memory.upgrade is not None
        assert pause.memory.upgrade.began == BEGAN
        pause.sync(under_way(NEXT))

        assert pause.annotations == {"a": "PM"}


@pytest.mark.rule("rule 38")
@pytest.mark.parametrize("since", [BEGAN - timedelta(hours=1), BEGAN])
def test_signal_that_began_earlier_and_is_seen_later_is_of_the_same_upgrade(since: datetime) -> None:
    pause = unpaused()
    pause.sync(under_way(since))

    assert pause.annotations == {"a": ""}


def test_upgrade_without_a_time_is_another_once_an_end_was_seen() -> None:
    pause = Pause.of(check())
    pause.sync(under_way(None))
    pause.cluster.edit("a", "")
    pause.sync(under_way(None))
    assert pause.annotations == {"a": ""}
    pause.sync(over())
    pause.sync(under_way(None))

    assert pause.annotations == {"a": "PM"}


@pytest.mark.rule("rule 34", "rule 36/annotations")
def test_unknown_state_in_between_forgets_nothing() -> None:
    pause = unpaused()
    pause.sync(UNKNOWN)
    pause.sync(under_way())

    assert pause.annotations == {"a": ""}


def test_orders_of_the_last_upgrade_end_with_it_but_a_pause_that_has_time() -> None:
    pause = Pause.of(check(), check(name="b"))
    pause.order(OrderName.UNPAUSE)
    pause.order(OrderName.PAUSE, "machines/b", until=NEXT + timedelta(hours=1))
    pause.sync(under_way(NEXT))

    assert [order.check for order in pause.memory.orders] == ["MachineHealthCheck/machines/b"]


@pytest.mark.rule("rule 47")
def test_pause_is_over_once_no_write_can_come_late() -> None:
    pause = Pause.of(check())
    pause.sync(over(), is_lost=True)
    pause.sync(over())
    assert not pause.memory.is_over(over(), pause.now - timedelta(seconds=1))
    assert pause.memory.is_over(over(), pause.now - timedelta(minutes=1) + SETTLED_AFTER)


@pytest.mark.rule("rule 47")
def test_pause_is_not_over_while_a_write_fails_nor_before_it_can_no_longer_come_late() -> None:
    pause = Pause.of(check("M"))
    pause.sync(over(), refused=["a"])
    assert not pause.memory.is_over(over(), pause.now + SETTLED_AFTER)
    failed = pause.now
    pause.now -= timedelta(seconds=30)
    pause.sync(over())

    assert pause.annotations == {"a": ""}
    assert not pause.memory.is_over(over(), pause.now)
    assert pause.memory.is_over(over(), failed + SETTLED_AFTER)


def test_check_keeps_the_time_since_when_it_is_in_its_state_also_after_the_upgrade() -> None:
    pause = Pause.of(check(), check("P", name="theirs"))
    times = []
    for observed in (under_way(), under_way(), over(), over()):
        pause.sync(observed)
        assert pause.memory.synced is not None
        times.append({row.check[-1]: row.since for row in pause.memory.synced.rows})

    assert times[0] == times[1]
    assert times[2] == times[3] == {"a": times[0]["a"], "s": times[0]["s"]} | {"a": times[2]["a"]}
    assert times[2]["a"] != times[0]["a"]


def test_memory_of_thousands_of_checks_that_all_failed_with_the_longest_texts_fits_into_a_payload() -> None:
    longest = Longest()
    for count, is_named in ((MOST_NAMES, True), (MOST_NAMES + 1, False)):
        checks = longest.checks(count)
        pause = Pause.of(*checks)
        for _ in range(100):
            pause.order(OrderName.PAUSE, longest.words())
        moment = pause.memory.moment(under_way(), NOW)
        failing = pause.cluster.sync(moment, NOW, list(pause.cluster.checks))
        rows = tuple(replace(row, problem=longest.words()) for row in failing.rows)
        failing = replace(failing, rows=rows, orders=moment.orders, refused=())
        assert payload_bytes(failing) < BLOB_LIMIT
        pause.memory = pause.memory.having_synced(failing, moment, NOW)

        assert payload_bytes(pause.memory) < BLOB_LIMIT
        assert (len(pause.memory.pending), failing.failed) == (count * is_named, count)
        assert (pause.memory.handled_until is not None) is is_named


NAMES = ("a", "b", "c")
EDITS = {"pause": (True, "P"), "unpause": (False, "P"), "strip": (False, "PM"), "unmark": (False, "M")}
"""The edits of other writers: True adds these of the two annotations, False removes them."""
PHASES = {"under way": UpgradePhase.UNDER_WAY, "over": UpgradePhase.OVER, "unknown": UpgradePhase.UNKNOWN}


@dataclass(frozen=True)
class Step:
    do: str
    name: str = "a"
    is_up: bool = True
    is_lost: bool = False
    """Of a sync: its worker is, with what it would answer."""


@dataclass(frozen=True)
class LatePatch:
    """A patch of a frozen worker, which the API server takes if the check is still as it was."""

    check: PausableCheck
    version: int
    action: PauseAction
    began: datetime


steps = st.one_of(
    st.builds(Step, do=st.sampled_from([*PHASES, "terminate"])),
    st.builds(Step, do=st.sampled_from([*EDITS, "create", "delete"]), name=st.sampled_from(NAMES)),
    st.builds(Step, do=st.just("sync"), is_up=st.booleans()),
)
frozen_steps = st.one_of(
    st.builds(Step, do=st.sampled_from([*PHASES, "sync", "freeze", "thaw"])),
    st.builds(Step, do=st.just("sync"), is_lost=st.booleans()),
    st.builds(Step, do=st.sampled_from(["create", "delete"]), name=st.sampled_from(NAMES)),
)
FROZEN_OVER_THE_END = ("under way", "sync", "over", "freeze", "under way", "sync", "thaw")


@dataclass
class Story:
    """The cluster with its upgrades, and the upgrade pause."""

    pause: Pause = field(default_factory=lambda: Pause.of(check(), check(name="b")))
    phase: UpgradePhase = UpgradePhase.OVER
    since: datetime = field(default_factory=lambda: Pause().now)
    frozen: list[LatePatch] = field(default_factory=list)
    created: int = 0

    def observe(self) -> UpgradeObservation:
        return UpgradeObservation(phase=self.phase, since=self.since)

    def tell(self, step: Step) -> None:
        cluster = self.pause.cluster
        if step.do in PHASES:
            self.turn(PHASES[step.do])
        elif step.do == "terminate":
            self.pause.memory = NOTHING
        elif step.do == "create":
            self.created += 1
            cluster.add(check(name=step.name, uid=f"{step.name}-{self.created}", created=self.pause.now))
        elif step.do == "delete":
            cluster.checks.pop(step.name, None)
        elif step.do in EDITS and step.name in cluster.checks:
            is_added, letters = EDITS[step.do]
            present = set(cluster.annotations()[step.name])
            cluster.edit(step.name, "".join(present | {*letters} if is_added else present - {*letters}))
        elif step.do == "sync":
            refused = () if step.is_up else NAMES
            self.pause.sync(self.observe(), refused=refused, is_lost=step.is_lost)
        elif step.do == "freeze":
            self.freeze()
        elif step.do == "thaw":
            self.thaw()

    def turn(self, phase: UpgradePhase) -> None:
        self.pause.now += timedelta(minutes=1)
        if phase is not UpgradePhase.UNKNOWN and phase is not self.phase:
            self.since = self.pause.now
        self.phase = phase

    def freeze(self) -> None:
        """The worker of a sync is frozen before it writes."""
        observed, cluster = self.observe(), self.pause.cluster
        if not (observed.is_under_way or observed.is_over):
            return
        self.pause.memory = self.pause.memory.for_upgrade(observed, self.pause.now)
        moment = self.pause.memory.moment(observed, self.pause.now)
        for name, one in cluster.checks.items():
            action = decide(one, moment).action
            if action is not None:
                self.frozen.append(LatePatch(one, cluster.versions[name], action, moment.began))
        self.pause.memory = self.pause.memory.having_lost(self.pause.now)

    def thaw(self) -> None:
        cluster = self.pause.cluster
        for late in self.frozen:
            name = late.check.reference.name
            if name in cluster.checks and cluster.versions[name] == late.version:
                cluster.patch(late.check, late.action, late.began)
        self.frozen.clear()

    def finish(self) -> None:
        """The upgrade ends, and the API server is there."""
        self.turn(UpgradePhase.OVER)
        for _ in range(3):
            self.pause.sync(self.observe())
        assert self.pause.memory.is_over(self.observe(), self.pause.now)
        assert not [one for one in self.pause.cluster.checks.values() if one.is_marked]

    def handled(self) -> set[str]:
        """The names of the checks that the upgrade does not hold any more."""
        memory = self.pause.memory
        progress = PauseProgress(
            transitions=memory.upgrade.transitions if memory.upgrade else (),
            handled_until=memory.handled_until,
            pending=memory.pending,
        )
        return {
            name
            for name, one in self.pause.cluster.checks.items()
            if progress.has_handled(
                ObjectMetadata(name=name, uid=one.uid, creation_timestamp=one.created),
                self.observe().transitions,
            )
        }


@pytest.mark.rule("MHC C.2/end", "MHC C.2/end over which nothing ran", "MHC C.2/restart", "rule 47")
@pytest.mark.parametrize("is_lost", [False, True])
@given(history=st.lists(st.one_of(steps, frozen_steps), max_size=30))
@settings(max_examples=75, deadline=None)
def test_no_check_stays_paused_by_us_after_the_end(history: list[Step], *, is_lost: bool) -> None:
    story = Story()
    for step in history:
        story.tell(replace(step, is_lost=is_lost))
    story.thaw()
    story.finish()


@pytest.mark.rule("MHC C.2/unpaused", "rule 34")
@given(st.lists(steps.filter(lambda one: one.do != "terminate"), max_size=30))
@settings(max_examples=150, deadline=None)
def test_no_check_is_paused_twice_in_one_upgrade(history: list[Step]) -> None:
    story = Story()
    for step in history:
        story.tell(step)

    paused = story.pause.cluster.paused
    assert len(paused) == len(set(paused))


@pytest.mark.rule("MHC C.2/restart", "rule 34")
@given(
    st.lists(
        st.one_of(steps, frozen_steps).filter(lambda one: one.do[-4:] not in {"trip", "mark"}), max_size=30
    )
)
@settings(max_examples=150, deadline=None)
def test_mark_alone_is_memory_enough_that_no_check_is_paused_twice(history: list[Step]) -> None:
    """The workflow may lose its history at any moment, as long as our mark stays."""
    story = Story()
    for step in history:
        story.tell(step)

    paused = story.pause.cluster.paused
    assert len(paused) == len(set(paused))


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/created")
@given(st.lists(st.one_of(steps, frozen_steps).filter(lambda one: one.do not in EDITS), max_size=30))
@settings(max_examples=75, deadline=None)
def test_check_that_no_other_writer_touches_is_paused_while_the_upgrade_lasts(history: list[Step]) -> None:
    story = Story()
    for step in history:
        story.tell(step)
    story.turn(UpgradePhase.OVER)
    story.turn(UpgradePhase.UNDER_WAY)
    story.pause.sync(story.observe())

    assert set(story.pause.annotations.values()) <= {"PM"}


@pytest.mark.rule("rule 34", "rule 46", "rule 47")
@given(st.lists(frozen_steps, max_size=30))
@example([Step(do=one) for one in FROZEN_OVER_THE_END])
@settings(max_examples=150, deadline=None)
def test_write_of_a_frozen_worker_never_counts_as_an_unpause_by_an_administrator(history: list[Step]) -> None:
    """Checks that the detector no longer holds for the upgrade stay paused, whenever a worker thaws."""
    story = Story()
    for step in history:
        story.tell(step)
        if story.phase is UpgradePhase.UNDER_WAY:
            paused = {name for name, one in story.pause.cluster.checks.items() if one.is_paused}
            assert story.handled() <= paused
