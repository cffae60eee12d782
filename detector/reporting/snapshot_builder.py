"""SnapshotBuilder: takes snapshots of checks at one moment, from which status and Events are made.

Judging a target takes up to a millisecond, so the targets of a large check are judged in pieces. They use a
copy of the cluster state that does not change meanwhile, and the same time.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from detector.answers.judged_target import JudgedTarget, check_holds
from detector.state.check_state import CheckRecord
from detector.state.cluster_state import ClusterState
from detector.state.state_view import StateView
from detector.state.target_store import place_of
from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.health_check import HealthCheck
from health.check.ordered import is_by_order
from health.check.storm import Storm, storm_hold
from health.gate.admission import target_hold
from health.gate.back_off import RemediationBackOff
from health.gate.check_holds import ALL_SEEN, Unseen
from health.model.references import CheckReference
from health.model.target import Target, TargetName
from health.model.verdict import HEALTHY, Health
from health.runbook.escalation import is_classic
from kube.time_slice import TimeSlice

_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rendering")
T = TypeVar("T")
MOST_AT_ONCE = 50
"""Targets that are judged without yielding, and without a copy of the cluster state."""


@dataclass(frozen=True, kw_only=True)
class SnapshotDraft:
    """A snapshot without its targets; these are judged later, as of the moment of the draft."""

    record: CheckRecord
    """The check as the API server stores it."""
    snapshot: CheckSnapshot
    names: tuple[str, ...]
    """The targets that the snapshot will have."""
    state: StateView
    """Does not change while `in_pieces` runs."""
    back_offs: Mapping[str, RemediationBackOff]
    now: datetime

    def in_one_stretch(self) -> CheckSnapshot:
        return replace(self.snapshot, targets={target.name: target for target in self._targets()})

    async def in_pieces(self) -> CheckSnapshot:
        """Return the snapshot with its targets; yields to the event loop if there are many."""
        targets, time_slice = {}, TimeSlice()
        for target in self._targets():
            targets[target.name] = target
            if len(self.names) > MOST_AT_ONCE:
                await time_slice.yield_if_over()
        return replace(self.snapshot, targets=targets)

    def _targets(self) -> Iterator[TargetSnapshot]:
        if self.snapshot.check is not None:
            for name in self.names:
                yield self._target(self.snapshot.check, name)

    def _target(self, check: HealthCheck, name: str) -> TargetSnapshot:
        judged = _judged_target(self.state, check, name, self.now)
        snapshot = _judged(self.state, check, name, judged)
        if judged is None or snapshot.verdict.health is Health.HEALTHY:
            return snapshot
        # The owners at work on an unhealthy target.
        holding, passed = judged.owners.longest, judged.owners.passed
        snapshot = replace(
            snapshot,
            owner_sign=None if holding is None else holding.sign,
            owner_until=None if holding is None else holding.until,
            overdue=tuple(work.overdue for work in passed if work.until <= self.now),
        )
        if snapshot.verdict.health is not Health.EXPIRED:
            return snapshot
        # The holds of an expired target, and the progress of its steps.
        findings, course = self.state.act_findings, judged.course(check.steps)
        back_off, failed = self.back_offs[name], snapshot.verdict.failed(self.now)
        held_back = back_off.hold(failed, self.now, is_under_way=judged.is_remediated)
        return replace(
            snapshot,
            hold=target_hold(judged.facts),
            # A classic remediation whose timeout is over is not exhausted: it has no other step (NHC 2.5).
            is_exhausted=not is_classic(check) and course.is_exhausted,
            step_ends=course.until,
            has_empty_exclusion=judged.target.has_empty_exclusion,
            back_off=None if is_by_order(snapshot.verdict.fact) else held_back,
            earlier_attempts=back_off.earlier(failed),
            found=findings.of(check.reference, name, snapshot.uid),
            is_heard=findings.is_heard(check.reference, name, snapshot.uid),
        )


def _judged_target(state: StateView, check: HealthCheck, name: str, now: datetime) -> JudgedTarget | None:
    """The target; None if it is gone, or if the check does not select it."""
    target = state.targets.get(check.reference, name)
    return JudgedTarget(state, check, target, now) if target and check.selects(target) else None


def _judged(state: StateView, check: HealthCheck, name: str, judged: JudgedTarget | None) -> TargetSnapshot:
    """The target with its verdict and requests; without a uid if the check does not select it."""
    requests = tuple(entry.snapshot for entry in state.requests.of(check.reference, name))
    if judged is None:
        return TargetSnapshot(name=name, uid="", verdict=HEALTHY, requests=requests)
    uid, node_name = judged.target.metadata.uid, judged.target.node_name
    return TargetSnapshot(name=name, uid=uid, verdict=judged.verdict, requests=requests, node_name=node_name)


@dataclass(frozen=True)
class SnapshotBuilder:
    """Takes the snapshots of checks, for status and Events."""

    cluster_state: ClusterState
    before: Callable[[TargetName, Target | None], RemediationBackOff]
    """Returns the latest remediation of a target."""
    unseen: Callable[[CheckReference], Unseen] = lambda _: ALL_SEEN

    def of(self, reference: CheckReference, storm: Storm | None, now: datetime) -> CheckSnapshot | None:
        """The snapshot of a check; None if it is gone."""
        draft = self.draft(reference, storm, now)
        return None if draft is None else draft.in_one_stretch()

    def target(self, reference: CheckReference, name: str, now: datetime) -> TargetSnapshot | None:
        """One target with its verdict and requests, but without holds; None if the check cannot be judged."""
        entry = self.cluster_state.checks.get(reference)
        if entry is None or entry.check is None:
            return None
        judged = _judged_target(self.cluster_state, entry.check, name, now)
        return _judged(self.cluster_state, entry.check, name, judged)

    def draft(self, reference: CheckReference, storm: Storm | None, now: datetime) -> SnapshotDraft | None:
        """The snapshot of a check without its targets, and the values to judge them; None if it is gone."""
        entry = self.cluster_state.checks.get(reference)
        if entry is None:
            return None
        snapshot = CheckSnapshot(
            parsed=entry.parsed,
            uid=entry.record.metadata.uid,
            allowance=None,
            storm=storm,
            generation=entry.record.metadata.generation,
        )
        names: list[str] = []
        state: StateView = self.cluster_state
        if entry.check is not None:
            names = sorted(entry.unhealthy | self.cluster_state.requests.targets_of(reference))
            state = self.cluster_state.frozen(reference) if len(names) > MOST_AT_ONCE else self.cluster_state
            allowance = state.allowance(reference)
            holds = check_holds(
                state,
                reference,
                now,
                unseen=self.unseen(reference),
                allowance=allowance,
                storm=storm_hold(storm, entry.check.storm_cooldown, now),
            )
            selected = frozenset(entry.selected)
            snapshot = replace(snapshot, allowance=allowance, holds=holds, selected=selected)
        place, targets = place_of(reference), self.cluster_state.targets.of(reference)
        return SnapshotDraft(
            record=entry.record,
            snapshot=snapshot,
            names=tuple(names),
            state=state,
            back_offs={name: self.before(place.named(name), targets.get(name)) for name in names},
            now=now,
        )


async def rendered(snapshot: CheckSnapshot, render: Callable[[], T]) -> T:
    """Return `render()`, which is about `snapshot`; that of a large check runs in a thread.

    Rendering is a pure function of immutable values. It consists of short steps, between which the
    interpreter switches threads every 5 ms, so the event loop goes on meanwhile. One thread renders for the
    whole process: with more of them the event loop would wait for each.
    """
    if len(snapshot.targets) <= MOST_AT_ONCE:
        return render()
    return await asyncio.get_running_loop().run_in_executor(_THREAD, render)
