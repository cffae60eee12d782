"""Counts remediation requests: created, how late, grown old, and gone.

Only the leader counts, so that the sum over all detectors is right. It counts requests as new only if they
were created since it became the leader, because the first list of a kind shows requests that another leader
counted.

Lateness is the time from the deadline of a target until its request was created, including holds, for example
by a threshold or a Lease. Both are times of the API server, in whole seconds. Later steps of an escalation
are not counted: they wait for the timeout of the previous step. A remediation that a person ordered is due
from the order on.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from prometheus_client import Histogram

from detector.state.cluster_state import ClusterState
from detector.state.request_index import SeenRequest
from detector.watched_kind import RequestSeries
from health.check.ordered import is_by_order, trigger_of
from health.model.references import CheckReference

BOUNDS = (1, 2, 3, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)


class RequestLedger:
    """Counts requests that appear, grow old, or end."""

    def __init__(
        self,
        cluster_state: ClusterState,
        series: Sequence[RequestSeries],
        leads_since: Callable[[], datetime | None],
        now: Callable[[], datetime],
    ) -> None:
        self._cluster_state = cluster_state
        self._series = series
        self._leads_since = leads_since
        self._now = now
        self.failure_to_request = Histogram(
            "paramedic_failure_to_request_seconds",
            "Time from the deadline of an unhealthy target until its remediation request was created.",
            ("check_kind", "trigger"),
            buckets=BOUNDS,
            registry=None,
        )

    def request_changed(self, before: SeenRequest | None, after: SeenRequest | None) -> None:
        since, request = self._leads_since(), after or before
        if since is None or request is None or request.owner is None:
            return
        if after is None:
            for series in self._series:
                series.request_ended(request, self._now())
        elif before is not None:
            if after.request.is_marked_as_old and not before.request.is_marked_as_old:
                for series in self._series:
                    series.request_grew_old(after)
        elif after.request.metadata.creation_timestamp >= since.replace(microsecond=0):
            self._observe_lateness(after, request.owner, self._now())

    def _observe_lateness(self, request: SeenRequest, check: CheckReference, now: datetime) -> None:
        """Observe how late a new request of `check` is."""
        state, name = self._cluster_state, request.request.target_name
        judge, target = state.checks.get(check), state.targets.get(check, name)
        if judge is None or target is None or judge.check is None:
            return
        verdict = judge.check.verdict(target, now, state.cluster_context)
        deadline = verdict.deadline
        if deadline is None or deadline > now or len(state.requests.of(check, name)) > 1:
            return
        late = request.request.metadata.creation_timestamp - deadline
        trigger = trigger_of(is_ordered=is_by_order(verdict.fact))
        self.failure_to_request.labels(check.kind_name, trigger).observe(max(0.0, late.total_seconds()))
