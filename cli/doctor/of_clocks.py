"""Findings about clocks and leader Leases: clock skew, no leader, another leader, an operator beside us.

The `Date` header of the API server's answers shows the skew of our clock. The leader Lease shows the skew of
the detector's clock: the detector wrote renewTime, and the API server recorded the time of that write in
`managedFields`.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from pydantic import ValidationError

from cli.doctor.finding import Finding, note, problem, warning
from health.cluster.clock_skew import HELD, WARNED, skew_in_words
from health.kinds.check_kind import CheckKind
from health.model.status_writers import ManagedFields
from kube.lease import LeaseRecord, LeaseSpec, holder_is_valid
from kube.resource import Object
from objects.durations import in_words
from objects.frozen import FrozenObject
from objects.timestamps import stamp
from runtime.process_names import DETECTOR

_RENEWAL = timedelta(seconds=1)
"""The duration of a renewal, and the resolution of the API server's timestamps."""


class _LeaseMetadata(FrozenObject):
    managed_fields: tuple[ManagedFields, ...] = ()


class _WrittenLease(FrozenObject):
    metadata: _LeaseMetadata
    spec: LeaseSpec

    @property
    def written(self) -> datetime | None:
        """The time of the detector's last write, by the API server's clock."""
        times = [field.time for field in self.metadata.managed_fields if field.manager == DETECTOR]
        return max((time for time in times if time is not None), default=None)


def own_clock_findings(skew: timedelta | None) -> Iterator[Finding]:
    """A finding if the clock of this machine differs from the API server's by more than the limit."""
    if skew is None or abs(skew) <= WARNED:
        return
    what = f"the clock of the machine that this runs on is {skew_in_words(skew)}"
    yield warning("ClockSkew", what, "set it; ages and times in this output are off by as much")


def detector_clock_findings(lease: Object) -> Iterator[Finding]:
    """A finding if the clock of the leading detector differs from the API server's by more than the limit."""
    skew = _skew_of_holder(lease)
    if skew is None or abs(skew) <= WARNED:
        return
    what = f"the clock of the detector that leads is {skew_in_words(skew)}"
    if abs(skew) > HELD:
        yield problem("DetectorClockSkew", f"{what}: every check is held", "set the clock of its machine")
    else:
        held = f"set the clock of its machine, over {in_words(HELD)} every check is held"
        yield warning("DetectorClockSkew", what, held)


def _skew_of_holder(lease: Object) -> timedelta | None:
    """The least skew of the holder's clock; None if the Lease does not show it."""
    try:
        found = _WrittenLease.model_validate(lease)
    except ValidationError:
        return None
    renewed, written = found.spec.renew_time, found.written
    if not found.spec.holder_identity or renewed is None or renewed.tzinfo is None or written is None:
        return None
    apart = renewed - written
    return max(apart - _RENEWAL, min(apart + _RENEWAL, timedelta(0)))


def leader_findings(name: str, lease: LeaseRecord | None, now: datetime) -> list[Finding]:
    """Findings about the leader Lease `name` of our detector; None if there is no such Lease."""
    advice = "start a detector, or look at /readyz of the one that runs"
    if lease is None:
        return [problem("NoDetector", f"no detector has led yet: there is no Lease {name}", advice)]
    if holder_is_valid(lease, now):
        return []
    renewed = lease.spec.renew_time
    last = f", last renewed at {stamp(renewed)}" if renewed else ""
    return [problem("NoDetector", f"no detector leads: no process holds the Lease {name}{last}", advice)]


def other_leader_findings(
    ours: str, namespace: str, leases: Sequence[LeaseRecord], now: datetime
) -> Iterator[Finding]:
    """Detectors that lead by a Lease `ours` in a namespace other than `namespace`."""
    for lease in leases:
        if lease.metadata.namespace == namespace or not holder_is_valid(lease, now):
            continue
        where = lease.metadata.namespace
        yield problem(
            "AnotherDetector",
            f"{lease.spec.holder_identity!r} leads as well, by the Lease {where}/{ours}",
            f"stop it, or give all detectors of this cluster one PARAMEDIC_NAMESPACE (here: {namespace})",
        )


def operator_findings(kind: CheckKind, leases: Sequence[LeaseRecord], now: datetime) -> Iterator[Finding]:
    """Findings about an operator of the kind that holds one of `leases`, its leader Leases."""
    for lease in leases:
        if not holder_is_valid(lease, now):
            continue
        place, holder = f"{lease.metadata.namespace}/{lease.metadata.name}", lease.spec.holder_identity
        if kind.operator_guide:
            yield note(
                "ReferenceControllerMayRun",
                f"{holder!r} holds the Lease {place} for all controllers of {kind.operator} together, and "
                f"nothing says whether the one of {kind.plural} is off",
                f"make sure by {kind.operator_guide}, two controllers would remediate the same targets; "
                f"do not stop it, other controllers of {kind.operator} are in that process",
            )
            continue
        yield warning(
            "ReferenceRuns",
            f"the {kind.operator} runs: {holder!r} holds the Lease {place}",
            "stop it, two controllers would remediate the same targets",
        )
