"""FailureToRequest: how long it took from the moment that a remediation was due until its request existed.

Due is a target when its duration is over. What held it back since, threshold or Lease, is part of the time.
Both ends are times of the API server, in whole seconds. The later steps of an escalation are not counted:
they wait for the timeout of the one before.
"""

from datetime import datetime

from prometheus_client import Histogram

from detector.state.cluster_state import ClusterState
from detector.state.request_index import SeenRequest
from health.gate.health_check import InvalidCheckError
from health.model.references import CheckReference
from health.model.verdict import HEALTHY, Verdict

BOUNDS = (1, 2, 3, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)


class FailureToRequest:
    """The histogram of one detector, by kind of check."""

    def __init__(self, cluster_state: ClusterState) -> None:
        self._cluster_state = cluster_state
        self.seconds = Histogram(
            "paramedic_failure_to_request_seconds",
            "Time from the deadline of an unhealthy target until its remediation request was created.",
            ("check_kind",),
            buckets=BOUNDS,
            registry=None,
        )

    def request_appeared(self, request: SeenRequest, check: CheckReference, now: datetime) -> None:
        """Note how late a request of `check` is that is new."""
        target = request.request.target_name
        deadline = self._verdict(check, target, now).deadline
        if deadline is None or deadline > now or len(self._cluster_state.requests.of(check, target)) > 1:
            return
        late = request.request.metadata.creation_timestamp - deadline
        self.seconds.labels(check.kind_name).observe(max(0.0, late.total_seconds()))

    def _verdict(self, check: CheckReference, target: str, now: datetime) -> Verdict:
        judge, seen = self._cluster_state.checks.get(check), self._cluster_state.targets.get(check, target)
        if judge is None or seen is None or isinstance(judge.check, InvalidCheckError):
            return HEALTHY
        return judge.check.verdict(seen, now, self._cluster_state.surroundings)
