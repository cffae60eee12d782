"""In any order of events no check stays paused, no check is paused twice, and no annotation is invented."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from health.cluster.upgrade import UpgradePhase
from health.model.references import CheckReference
from health.upgrade.failed_write import PauseAnswer, WriteOutcome
from health.upgrade.memory import CheckPauseState, PauseMemory
from health.upgrade.next_pass import having_written, next_pass
from health.upgrade.observation import UpgradeObservation
from health.upgrade.pausable_check import PausableCheck, PausePatch
from tests.support.values.looks import BEGAN

NAMES = ("a", "b", "c")
EDITS = {"pause": (True, None), "unpause": (False, None), "strip": (False, False), "unmark": (None, False)}
"""What others do to the two annotations; None: it stays."""


@dataclass
class Cluster:
    """An API server with checks, and what was done to them."""

    now: datetime = BEGAN
    phase: UpgradePhase = UpgradePhase.OVER
    since: datetime = BEGAN
    checks: dict[str, PausableCheck] = field(default_factory=dict)
    revision: int = 0
    paused: list[tuple[str, datetime]] = field(default_factory=list)
    """By us: uid and upgrade."""
    written: list[tuple[str, str, str]] = field(default_factory=list)

    def turn(self, phase: UpgradePhase) -> None:
        self.now += timedelta(minutes=1)
        if phase is UpgradePhase.UNKNOWN or phase is self.phase:
            self.phase = phase
            return
        self.phase, self.since = phase, self.now

    def observe(self) -> UpgradeObservation:
        return UpgradeObservation(phase=self.phase, since=self.since, checks=tuple(self.checks.values()))

    def edit(self, name: str, what: str) -> None:
        paused, marked = EDITS[what]
        one = self.checks[name]
        self._store(
            name,
            is_paused=one.is_paused if paused is None else paused,
            is_marked=one.is_marked if marked is None else marked,
        )

    def create(self, name: str) -> None:
        self.revision += 1
        reference = CheckReference(kind="MachineHealthCheck", namespace="machines", name=name)
        uid = f"{name}-{self.revision}"
        self.checks[name] = PausableCheck(reference=reference, uid=uid, resource_version=str(self.revision))

    def write(self, patch: PausePatch, *, is_up: bool) -> PauseAnswer:
        one = self.checks.get(patch.reference.name)
        if not is_up:
            return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.FAILED, why="down")
        if one is None:
            return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.GONE)
        if (one.uid, one.resource_version) != (patch.uid, patch.resource_version):
            return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.CONFLICT)
        assert one.is_marked or not one.is_paused, "what somebody else paused was touched"
        self.written.append((patch.uid, patch.action, patch.resource_version))
        after = one.after(patch.action)
        if after.is_paused:
            self.paused.append((patch.uid, self.since))
        self._store(patch.reference.name, is_paused=after.is_paused, is_marked=after.is_marked)
        return PauseAnswer(uid=patch.uid, outcome=WriteOutcome.WRITTEN)

    def _store(self, name: str, *, is_paused: bool, is_marked: bool) -> None:
        self.revision += 1
        changes = {
            "is_paused": is_paused,
            "is_marked": is_marked,
            "resource_version": str(self.revision),
        }
        self.checks[name] = self.checks[name].model_copy(update=changes)


@dataclass(frozen=True)
class Step:
    do: str
    name: str = "a"
    is_up: bool = True
    is_lost: bool = False
    """Of a pass: its worker is, with what it would answer."""


steps = st.one_of(
    st.builds(Step, do=st.sampled_from(["under way", "over", "unknown", "terminate", "look"])),
    st.builds(Step, do=st.sampled_from([*EDITS, "create", "delete"]), name=st.sampled_from(NAMES)),
    st.builds(Step, do=st.just("pass"), is_up=st.booleans()),
    st.builds(Step, do=st.just("pass from an old look")),
)
frozen_steps = st.one_of(
    st.builds(Step, do=st.sampled_from(["under way", "over", "unknown", "pass", "freeze", "thaw"])),
    st.builds(Step, do=st.sampled_from(["create", "delete"]), name=st.sampled_from(NAMES)),
)
PHASES = {"under way": UpgradePhase.UNDER_WAY, "over": UpgradePhase.OVER, "unknown": UpgradePhase.UNKNOWN}


FROZEN_OVER_THE_END = ("under way", "pass", "over", "freeze", "under way", "pass", "thaw")


class Story:
    """The cluster, and the workflow with its memory."""

    def __init__(self) -> None:
        self.cluster, self.memory = Cluster(), PauseMemory()
        self.look = self.cluster.observe()
        self.frozen: list[PausePatch] = []
        """What a frozen worker writes once it thaws."""
        for name in NAMES[:2]:
            self.cluster.create(name)

    def tell(self, step: Step) -> None:
        cluster = self.cluster
        if step.do in PHASES:
            cluster.turn(PHASES[step.do])
        elif step.do == "terminate":
            self.memory = PauseMemory()
        elif step.do == "look":
            self.look = cluster.observe()
        elif step.do == "create":
            cluster.create(step.name)
        elif step.do == "delete":
            cluster.checks.pop(step.name, None)
        elif step.do in EDITS and step.name in cluster.checks:
            cluster.edit(step.name, step.do)
        elif step.do == "pass":
            self.go_on(cluster.observe(), is_up=step.is_up, is_lost=step.is_lost)
        elif step.do == "pass from an old look":
            self.go_on(self.look, is_up=True)

    def freeze(self) -> None:
        """The worker of a pass is frozen before it writes."""
        cluster = self.cluster
        cluster.now += timedelta(minutes=10)
        done = next_pass(cluster.observe(), self.memory, cluster.now)
        self.frozen += done.patches
        self.memory = having_written(done, (), cluster.now, 0)

    def thaw(self) -> None:
        for patch in self.frozen:
            one = self.cluster.checks.get(patch.reference.name)
            if one and (one.uid, one.resource_version) == (patch.uid, patch.resource_version):
                self.cluster.write(patch, is_up=True)
        self.frozen.clear()

    def go_on(self, look: UpgradeObservation, *, is_up: bool, is_lost: bool = False) -> bool:
        """Run one pass; the result is true if the upgrade pause is over."""
        done = next_pass(look, self.memory, self.cluster.now)
        answers = [self.cluster.write(patch, is_up=is_up) for patch in done.patches]
        self.memory = having_written(done, () if is_lost else answers, self.cluster.now, 0)
        for row in self.memory.handled:
            if row.latest_write is not None:
                write = (row.uid, row.latest_write.action, row.latest_write.replaced)
                assert write in self.cluster.written, "a write was made up"
        return done.is_over

    def finish(self) -> None:
        """The upgrade ends, and the API server is there."""
        self.cluster.turn(UpgradePhase.OVER)
        for _ in range(5):
            self.cluster.now += timedelta(hours=1)
            if self.go_on(self.cluster.observe(), is_up=True):
                return
        raise AssertionError("it does not come to an end")


@pytest.mark.rule("MHC C.2/end", "MHC C.2/end over which nothing ran", "rule 47")
@given(st.lists(steps, max_size=30))
@settings(max_examples=75, deadline=None)
def test_no_check_stays_paused_by_us_after_the_end(history: list[Step]) -> None:
    story = Story()
    for step in history:
        story.tell(step)
    story.finish()

    assert not [check for check in story.cluster.checks.values() if check.is_marked]
    assert not [
        row for row in story.memory.handled if row.how is CheckPauseState.PAUSED and _is_there(story, row.uid)
    ]


def _is_there(story: Story, uid: str) -> bool:
    return uid in {check.uid for check in story.cluster.checks.values()}


@pytest.mark.rule("MHC C.2/unpaused", "rule 34")
@given(st.lists(steps.filter(lambda one: one.do not in {"terminate", "pass from an old look"}), max_size=30))
@settings(max_examples=75, deadline=None)
def test_no_check_is_paused_twice_in_one_upgrade(history: list[Step]) -> None:
    story = Story()
    for step in history:
        story.tell(step)

    assert len(story.cluster.paused) == len(set(story.cluster.paused))


@pytest.mark.rule("MHC C.2/restart", "MHC C.2/end")
@given(st.lists(steps, max_size=20))
@settings(max_examples=40, deadline=None)
def test_lost_answers_leave_no_check_paused(history: list[Step]) -> None:
    story = Story()
    for step in history:
        story.tell(replace(step, is_lost=True))
    story.finish()

    assert not [check for check in story.cluster.checks.values() if check.is_marked]


@pytest.mark.rule("MHC C.2/begin", "MHC C.2/created")
@given(st.lists(steps.filter(lambda one: one.do not in EDITS), max_size=30))
@settings(max_examples=40, deadline=None)
def test_check_that_no_other_writer_touches_is_paused_while_the_upgrade_lasts(history: list[Step]) -> None:
    story = Story()
    for step in history:
        story.tell(step)
    story.cluster.turn(UpgradePhase.OVER)
    story.cluster.turn(UpgradePhase.UNDER_WAY)
    for _ in range(3):
        story.cluster.now += timedelta(hours=1)
        story.go_on(story.cluster.observe(), is_up=True)

    assert all(check.is_paused and check.is_marked for check in story.cluster.checks.values())


@pytest.mark.rule("rule 34", "rule 46", "rule 47")
@given(st.lists(frozen_steps, max_size=30))
@example([Step(do=one) for one in FROZEN_OVER_THE_END])
@settings(max_examples=150, deadline=None)
def test_write_of_a_frozen_worker_never_counts_as_an_unpause_by_an_administrator(history: list[Step]) -> None:
    """Checks that the detector no longer holds for the upgrade stay paused, whenever a worker thaws."""
    story = Story()
    of_worker = {"freeze": story.freeze, "thaw": story.thaw}
    for step in history:
        of_worker.get(step.do, lambda step=step: story.tell(step))()
        cluster, upgrade = story.cluster, story.memory.upgrade
        is_reported = upgrade is not None and cluster.since in upgrade.transitions
        if cluster.phase is UpgradePhase.UNDER_WAY and is_reported:
            paused = {check.uid for check in cluster.checks.values() if check.is_paused}
            there = {check.uid for check in cluster.checks.values()}
            assert there & set(story.memory.settled) <= paused
