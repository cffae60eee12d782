"""SnapshotBuilder: what status and Events of one check are made from: the cluster state at one moment."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from detector.state.cluster_state import ClusterState
from detector.state.facts import check_context, target_facts
from detector.state.target_store import place_of
from health.gate.admission import target_hold
from health.gate.back_off import BackOff
from health.gate.check_snapshot import ALL_SEEN, CheckSnapshot, TargetSnapshot, Unseen
from health.gate.health_check import HealthCheck
from health.gate.invalid_check import InvalidCheckError
from health.gate.storm import Storm
from health.model.references import CheckReference
from health.model.target import Target, TargetName
from health.model.verdict import HEALTHY, Health
from health.runbook.escalation import Plan, is_classic


def _all_seen(check: CheckReference) -> Unseen:  # noqa: ARG001  as SnapshotBuilder.unseen
    return ALL_SEEN


@dataclass(frozen=True)
class SnapshotBuilder:
    """Takes the snapshots of checks, for status and Events."""

    cluster_state: ClusterState
    before: Callable[[TargetName, Target | None], BackOff]
    """What is known of the latest remediation of a target."""
    unseen: Callable[[CheckReference], Unseen] = _all_seen

    def of(self, reference: CheckReference, storm: Storm | None, now: datetime) -> CheckSnapshot | None:
        """The snapshot of a check; None if it is gone."""
        cluster_state = self.cluster_state
        entry = cluster_state.checks.get(reference)
        if entry is None:
            return None
        uid, generation = entry.record.metadata.uid, entry.record.metadata.generation
        if isinstance(entry.check, InvalidCheckError):
            return CheckSnapshot(entry.check, uid, allowance=None, storm=storm, generation=generation)
        names = entry.unhealthy | cluster_state.requests.targets_of(reference)
        targets = {name: self._target(entry.check, name, now) for name in sorted(names)}
        context = check_context(cluster_state, reference, now)
        allowance, selected = cluster_state.allowance(reference), frozenset(entry.selected)
        return CheckSnapshot(
            entry.check,
            uid,
            allowance,
            targets,
            context,
            storm,
            selected,
            generation=generation,
            unseen=self.unseen(reference),
        )

    def _target(self, check: HealthCheck, name: str, now: datetime) -> TargetSnapshot:
        cluster_state, reference = self.cluster_state, check.reference
        requests = tuple(entry.snapshot for entry in cluster_state.requests.of(reference, name))
        target = cluster_state.targets.get(reference, name)
        if target is None or not check.selects(target):
            return TargetSnapshot(name, "", HEALTHY, requests)
        verdict = check.verdict(target, now, cluster_state.cluster_context)
        snapshot = TargetSnapshot(name, target.metadata.uid, verdict, requests, node_name=target.node_name)
        return self._expired(check, target, snapshot, now) if verdict.health is Health.EXPIRED else snapshot

    def _expired(
        self, check: HealthCheck, target: Target, snapshot: TargetSnapshot, now: datetime
    ) -> TargetSnapshot:
        """The snapshot of a target whose deadline is over, with what holds it and how far its steps are."""
        cluster_state, reference, requests = self.cluster_state, check.reference, snapshot.requests
        course = Plan(check.steps).course(requests, now)
        back_off = self.before(place_of(reference).named(snapshot.name), target)
        failed = snapshot.verdict.failed(now)
        return replace(
            snapshot,
            hold=target_hold(target_facts(cluster_state, reference, target, now)),
            # A classic remediation that is overdue is not: it has no other step to try (NHC 2.5).
            is_exhausted=not is_classic(check) and bool(requests) and course.is_exhausted,
            step_ends=course.until,
            has_empty_exclusion=target.has_empty_exclusion,
            back_off=back_off.hold(failed, now, is_under_way=bool(requests) or target.is_marked),
            earlier_attempts=back_off.earlier(failed),
            found=cluster_state.act_findings.of(reference, snapshot.name, snapshot.uid),
            is_heard=cluster_state.act_findings.is_heard(reference, snapshot.name, snapshot.uid),
        )
