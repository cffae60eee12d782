"""Tally: what the worker counts: incidents that ended, and acts by their result.

What can be counted is there from the start, at 0: of a series that begins at 1 Prometheus sees no increase.
"""

from prometheus_client import CollectorRegistry, Counter

from health.kinds import CHECK_KINDS
from health.moves import Outcome

REQUESTED, HELD, FAILED, LOST = "Requested", "Held", "Failed", "Lost"


class Tally:
    """The counters of one worker process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._incidents = Counter(
            "paramedic_incidents",
            "Incidents that ended, by their outcome.",
            ("check_kind", "outcome"),
            registry=registry,
        )
        self._acts = Counter(
            "paramedic_acts",
            "Attempts to make a remediation request, by their result; the reason says why there is none.",
            ("result", "reason"),
            registry=registry,
        )
        self._acts.labels(REQUESTED, "")
        for kind in CHECK_KINDS:
            for outcome in Outcome:
                self._incidents.labels(kind, outcome)

    def incident_ended(self, check_kind: str, outcome: str) -> None:
        """Count an incident that ended. Workflows run in threads: the counter has a lock."""
        self._incidents.labels(check_kind, outcome).inc()

    def act_ended(self, result: str, reason: str = "") -> None:
        """Count an attempt to act."""
        self._acts.labels(result, reason).inc()
