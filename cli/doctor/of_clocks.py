"""What clocks say: that ours, or that of the detector that leads, is not the API server's.

Ours is compared with the `Date` of its answers. The detector's is in the leader Lease: it wrote renewTime,
and the API server noted in `managedFields` when that came. Both are of the last renewal.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from pydantic import ValidationError

from cli.doctor.finding import Finding, problem, warning
from health.gate.clock_skew import HELD, WARNED, skew_in_words
from health.model.status_writers import ManagedFields
from kube.lease import LeaseSpec
from kube.resource import Object
from objects.durations import in_words
from objects.frozen import FrozenObject
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
