"""What clocks and leader Leases say: whose clock is wrong, who leads, and whether an operator runs beside us.

Our clock is compared with the `Date` of the API server's answers. The detector's is in the leader Lease: it
wrote renewTime, and the API server noted in `managedFields` when that came. Both are of the last renewal.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from pydantic import ValidationError

from cli.doctor.finding import Finding, note, problem, warning
from health.gate.clock_skew import HELD, WARNED, skew_in_words
from health.kinds.check_kind import CheckKind
from health.model.status_writers import ManagedFields
from kube.lease import LeaseRecord, LeaseSpec, holder_is_valid
from kube.resource import Object
from objects.durations import in_words
from objects.frozen import FrozenObject
from objects.timestamps import stamp
from runtime.process_names import DETECTOR

_RENEWAL = timedelta(seconds=1)
"""How long a renewal takes, and the resolution of the API server's time of it."""


class _LeaseMetadata(FrozenObject):
    managed_fields: tuple[ManagedFields, ...] = ()


class _WrittenLease(FrozenObject):
    metadata: _LeaseMetadata
    spec: LeaseSpec

    @property
    def written(self) -> datetime | None:
        """When the detector wrote it last, by the API server's clock."""
        times = [one.time for one in self.metadata.managed_fields if one.manager == DETECTOR]
        return max((time for time in times if time is not None), default=None)


def own_clock_findings(skew: timedelta | None) -> Iterator[Finding]:
    """That the clock of this machine is ahead of the API server's by `skew`."""
    if skew is None or abs(skew) <= WARNED:
        return
    what = f"the clock of the machine that this runs on is {skew_in_words(skew)}"
    yield warning("ClockSkew", what, "set it, ages and times that are shown here are off by as much")


def detector_clock_findings(lease: Object) -> Iterator[Finding]:
    """That the clock of who renewed the leader Lease is ahead of the API server's, or behind."""
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
    """By how much at least the holder's clock is ahead; None where the Lease does not say."""
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
    """What is wrong with the leader Lease `name` of our detector, None where there is none."""
    advice = "start a detector, or look at /readyz of the one that runs"
    if lease is None:
        return [problem("NoDetector", f"no detector has led yet: there is no Lease {name}", advice)]
    if holder_is_valid(lease, now):
        return []
    renewed = lease.spec.renew_time
    last = f", last renewed at {stamp(renewed)}" if renewed else ""
    return [problem("NoDetector", f"no detector leads: nobody holds the Lease {name}{last}", advice)]


def other_leader_findings(
    ours: str, namespace: str, leases: Sequence[LeaseRecord], now: datetime
) -> Iterator[Finding]:
    """Detectors that lead by a Lease `ours` in another namespace than `namespace`."""
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
    """The operator of a kind, where it holds one of `leases`, which are of the name that they use."""
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
