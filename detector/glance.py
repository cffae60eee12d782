"""Glance: the answer to one incident, from one picture at one moment.

The first thing that is so decides: sight too old, check gone, check unreadable, target gone, target
unreadable, target not selected; else the verdict of the check, and the admission.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from detector.picture import Picture
from health.admission import Question, Rival, admission, stale_sight
from health.health_check import HealthCheck, InvalidCheckError
from health.node import Node
from health.observation import Hold, HoldReason, Observation, TargetState
from health.references import IncidentReference, RequestReference
from health.remediation_request import holder_of
from health.verdict import Health
from kube.lease import expiry, holder_is_valid, name_for_node
from kube.record import Key

_STATES = {
    Health.HEALTHY: TargetState.HEALTHY,
    Health.WAITING: TargetState.WAITING,
    Health.EXPIRED: TargetState.EXPIRED,
}


@dataclass(frozen=True)
class Sight:
    """How old the picture is for one check, and how old it may be."""

    age: timedelta | None
    """Age of the oldest source; None while one was never read completely."""
    limit: timedelta
    unread_requests: str = ""
    """Why the requests that matter to the check are not known well enough to act."""


@dataclass(frozen=True)
class Glance:
    """One look at one incident."""

    picture: Picture
    incident: IncidentReference
    sight: Sight
    now: datetime

    def observation(self) -> Observation:
        """What is with the target, and may the incident act."""
        hold = stale_sight(self.sight.age, self.sight.limit)
        if hold is not None:
            return self._unknown(hold)
        check = self.picture.checks.get(self.incident.check)
        if check is None:
            return self._ended(TargetState.RELEASED, f"{self.incident.check} is gone")
        if isinstance(check.check, InvalidCheckError):
            message = f"{self.incident.check} cannot be read: {check.check}"
            return self._unknown(Hold(reason=HoldReason.INVALID_CHECK, message=message))
        return self._of_target(check.check)

    def _of_target(self, check: HealthCheck) -> Observation:
        target = self.incident.target
        problem = self.picture.unreadable_nodes.get(Key(target.namespace, target.name))
        if problem is not None:
            message = f"{target} cannot be read: {problem}"
            return self._unknown(Hold(reason=HoldReason.INVALID_TARGET, message=message))
        node = self.picture.nodes.get(target.name)
        if node is None:
            return self._ended(TargetState.GONE, f"{target} is gone")
        if node.metadata.uid != target.uid:
            return self._ended(TargetState.GONE, f"{target} is another individual now")
        if not check.selects(node.metadata.labels):
            return self._ended(TargetState.RELEASED, f"{self.incident.check} no longer selects {target}")
        return self._judged(check, node)

    def _judged(self, check: HealthCheck, node: Node) -> Observation:
        verdict = check.verdict(node, self.now)
        if verdict.deadline is None:
            return self._ended(TargetState.HEALTHY, f"{self.incident.target} is healthy")
        return Observation(
            state=_STATES[verdict.health],
            reason=f"{self.incident.target}: {verdict.reason}",
            # A hair later than the deadline: expired is strictly after it.
            remaining_seconds=max(0.0, (verdict.deadline - self.now).total_seconds()) + 0.001,
            fact=verdict.fact,
            hold=admission(self._question(check, node)),
            steps=check.steps,
            requests=self._requests,
            generation=check.generation,
        )

    def _question(self, check: HealthCheck, node: Node) -> Question:
        reference = self.incident.check
        checks_own = self.picture.requests.targets_of(reference)
        return Question(
            check_hold=check.hold,
            unread_requests=self.sight.unread_requests,
            allowance=self.picture.checks[reference].allowance(check, checks_own),
            is_excluded=node.is_excluded,
            rival=self._request_of_another() or self._lease_of_another(),
            earlier_request=self._earlier_request(),
        )

    def _request_of_another(self) -> Rival | None:
        for entry in self.picture.requests.for_target(self.incident.target.name):
            if entry.owner != self.incident.check:
                return Rival(f"{entry.owner or 'another owner'} by request {entry.reference}")
        return None

    def _lease_of_another(self) -> Rival | None:
        lease = self.picture.leases.get(name_for_node(self.incident.target.name))
        if lease is None or not holder_is_valid(lease, self.now):
            return None
        if lease.spec.holder_identity == holder_of(self.incident.check):
            return None
        ends = expiry(lease) or self.now
        return Rival(f"{lease.spec.holder_identity} by its Lease", (ends - self.now).total_seconds())

    def _earlier_request(self) -> str:
        for entry in self.picture.requests.of(self.incident.check, self.incident.target.name):
            if entry.request.target_uid not in ("", self.incident.target.uid):
                return str(entry.reference)
        return ""

    @property
    def _requests(self) -> tuple[RequestReference, ...]:
        return tuple(entry.reference for entry in self.picture.own_requests(self.incident))

    def _ended(self, state: TargetState, reason: str) -> Observation:
        return Observation(state=state, reason=reason, requests=self._requests)

    def _unknown(self, hold: Hold) -> Observation:
        return Observation(
            state=TargetState.UNKNOWN, reason=str(self.incident.target), hold=hold, requests=self._requests
        )
