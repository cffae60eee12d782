"""Signs that an owner of a Node or Machine works on it, and since when each sign is seen. Pure.

A sign that another look did not show began with the look that shows it first, whatever it states itself: the
clock of a Node may be wrong. At the first look of a process, the time that the sign states counts.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic.dataclasses import dataclass

SAME_WORK = timedelta(hours=1)
"""A sign that is back within this time is the same work: a controller may try again and again."""
MOST_ENDED = 32
"""Other controllers choose the keys of taints, so the signs that are over are bounded."""


class OwnerSign(StrEnum):
    """The signs that hold by default; the policy can leave out each."""

    NODE_DELETION = "NodeDeletion"
    CLUSTER_AUTOSCALER = "ClusterAutoscaler"
    KARPENTER = "Karpenter"
    CLOUD_SHUTDOWN = "CloudShutdown"
    KURED = "Kured"
    MACHINE_CONFIG = "MachineConfig"
    MACHINE_UPDATE = "MachineUpdate"


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign on a Node or Machine, at one look."""

    name: str
    """An OwnerSign, or that of a taint (`taint_sign`)."""
    words: str
    stated: datetime | None = None
    """Since when, as the sign states it; None: it states no time."""
    has_failed: bool = False
    """True if the work failed, by the sign itself."""


@dataclass(frozen=True, slots=True)
class SignSighting:
    """One sign by all looks at its object so far."""

    name: str
    since: datetime
    ended: datetime | None = None
    """The first look that showed it gone or failed; None while it lasts."""


def taint_sign(key: str) -> str:
    """The name of the sign that a taint is, if the policy names its key."""
    return f"taint {key}"


def sighted(
    before: Iterable[SignSighting] | None, signs: Iterable[Sign], now: datetime
) -> tuple[SignSighting, ...]:
    """The sightings after a look at `now` that shows `signs`; those that ended last are kept.

    `before` are those of the look before; None: this is the first look at the object.
    """
    earlier = {sighting.name: sighting for sighting in before or ()}
    shown = {sign.name: sign for sign in signs if not sign.has_failed}
    lasting = (
        SignSighting(name, _since(earlier.get(name), sign, now, is_first=before is None))
        for name, sign in shown.items()
    )
    over = [
        SignSighting(name, sighting.since, sighting.ended or now)
        for name, sighting in earlier.items()
        if name not in shown
    ]
    return (*lasting, *sorted(over, key=lambda sighting: sighting.ended or now)[-MOST_ENDED:])


def _since(earlier: SignSighting | None, sign: Sign, now: datetime, *, is_first: bool) -> datetime:
    if is_first:
        return min(sign.stated or now, now)
    if earlier is None:
        return now
    is_same = earlier.ended is None or now - earlier.ended < SAME_WORK
    return earlier.since if is_same else now


def signs_since(seen: Iterable[SignSighting], earlier: Iterable[SignSighting]) -> tuple[SignSighting, ...]:
    """The sightings of this process; those of an earlier process give the beginnings of the same signs.

    An earlier process saw more than a first look, which believes the time that a sign states.
    """
    since = {sighting.name: sighting.since for sighting in earlier}
    return tuple(replace(one, since=since.get(one.name, one.since)) for one in seen)
