"""In any order of events no check stays paused, no check is paused twice, and no annotation is invented."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from health.cluster.upgrade import PauseProgress, UpgradePhase
from health.upgrade.decision import decide
from health.upgrade.memory import UpgradeObservation
from health.upgrade.pausable_check import PausableCheck, PauseAction
from objects.metadata import ObjectMetadata
from tests.support.values.looks import NOTHING, Pause, check

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
