"""Sighting: what status and Events of one check are made from, read off the picture at one moment."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from detector.picture.check_surroundings import check_surroundings
from detector.picture.picture import Picture
from detector.picture.target_facts import target_facts
from detector.picture.target_store import place_of
from health.gate.admission import target_hold
from health.gate.back_off import BackOff
from health.gate.check_sight import CheckSight, TargetSight
from health.gate.health_check import HealthCheck, InvalidCheckError
from health.gate.storm import Storm
from health.model.references import CheckReference
from health.model.target import Target, TargetName
from health.model.verdict import HEALTHY, Health
from health.runbook.escalation import Plan


@dataclass(frozen=True)
class Sighting:
    """How checks are sighted."""

    picture: Picture
    before: Callable[[TargetName, Target | None], BackOff]
    """What is known of the latest remediation of a target."""

    def of(self, reference: CheckReference, storm: Storm | None, now: datetime) -> CheckSight | None:
        """The sight of a check; None if it is gone."""
        picture = self.picture
        entry = picture.checks.get(reference)
        if entry is None:
            return None
        uid = entry.record.metadata.uid
        if isinstance(entry.check, InvalidCheckError):
            return CheckSight(entry.check, uid, allowance=None, storm=storm)
        names = entry.unhealthy | picture.requests.targets_of(reference)
        targets = {name: self._target(entry.check, name, now) for name in sorted(names)}
        around = check_surroundings(picture, reference, now)
        return CheckSight(entry.check, uid, picture.allowance(reference), targets, around, storm)

    def _target(self, check: HealthCheck, name: str, now: datetime) -> TargetSight:
        picture, reference = self.picture, check.reference
        requests = tuple(entry.sight for entry in picture.requests.of(reference, name))
        target = picture.targets.get(reference, name)
        if target is None or not check.selects(target):
            return TargetSight(name, "", HEALTHY, requests)
        verdict = check.verdict(target, now, picture.surroundings)
        sight = TargetSight(name, target.metadata.uid, verdict, requests, node_name=target.node_name)
        return self._expired(check, target, sight, now) if verdict.health is Health.EXPIRED else sight

    def _expired(self, check: HealthCheck, target: Target, sight: TargetSight, now: datetime) -> TargetSight:
        """The sight of a target whose deadline is over, with what holds it and how far its steps are."""
        picture, reference, requests = self.picture, check.reference, sight.requests
        course = Plan(check.steps).course(requests, now)
        back_off = self.before(place_of(reference).named(sight.name), target)
        failed = sight.verdict.failed(now)
        return replace(
            sight,
            hold=target_hold(target_facts(picture, reference, target, now)),
            # A classic remediation that is overdue is not: it has no other step to try (semantics 2.5).
            is_exhausted=_is_escalation(check) and bool(requests) and course.is_exhausted,
            step_ends=course.until,
            has_empty_exclusion=target.has_empty_exclusion,
            back_off=back_off.hold(failed, now, is_under_way=bool(requests) or target.is_marked),
            earlier_attempts=back_off.earlier(failed),
            found=picture.act_findings.of(reference, sight.name, sight.uid),
            is_heard=picture.act_findings.is_heard(reference, sight.name, sight.uid),
        )


def _is_escalation(check: HealthCheck) -> bool:
    return any(step.timeout_seconds is not None for step in check.steps)
