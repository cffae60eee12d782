"""Signs that an owner of a Node or Machine works on it, and since when each sign is seen. Pure.

A sign that another look did not show began with the look that shows it first, whatever it states itself: the
clock of a Node may be wrong. At the first look of a process, the time that the sign states counts.

The table of signs, for targets of every kind:

| sign              | who is at work              | the time that the sign states | failed if           |
|-------------------|-----------------------------|-------------------------------|---------------------|
| NodeDeletion      | the deleter of the Node     | deletionTimestamp             |                     |
| ClusterAutoscaler | the cluster autoscaler      | the value of its taint        |                     |
| Karpenter         | Karpenter                   | timeAdded of its taint        |                     |
| CloudShutdown     | the cloud                   | timeAdded of its taint        |                     |
| Kured             | kured                       | the value of its annotation   |                     |
| MachineConfig     | the machine config operator |                               | Degraded            |
| MachineUpdate     | the owner of the Machine    | lastTransitionTime            | InPlaceUpdateFailed |

The taint DeletionCandidateOfClusterAutoscaler marks a candidate that may never be deleted, so it is no sign.
Karpenter taints a Node before it deletes its NodeClaim, and deletes the Node of each NodeClaim that is being
deleted, so a NodeClaim need not be read. Each other taint is a sign where the policy names its key.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from objects.bounds import Time, bounded_time
from objects.short_text import ShortText
from objects.timestamps import as_time

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
    lasting = []
    for name, sign in shown.items():
        was, since = earlier.get(name), now
        if before is None:
            since = min(sign.stated or now, now)
        elif was is not None and (was.ended is None or now - was.ended < SAME_WORK):
            since = was.since
        lasting.append(SignSighting(name, since))
    over = [
        SignSighting(name, sighting.since, sighting.ended or now)
        for name, sighting in earlier.items()
        if name not in shown
    ]
    return (*lasting, *sorted(over, key=lambda sighting: sighting.ended or now)[-MOST_ENDED:])


def signs_since(seen: Iterable[SignSighting], earlier: Iterable[SignSighting]) -> tuple[SignSighting, ...]:
    """The sightings of this process; those of an earlier process give the beginnings of the same signs.

    An earlier process saw more than a first look, which believes the time that a sign states.
    """
    since = {sighting.name: sighting.since for sighting in earlier}
    return tuple(replace(one, since=since.get(one.name, one.since)) for one in seen)


_PART = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)
_TAINTS: Mapping[str, tuple[OwnerSign, str]] = MappingProxyType(
    {
        "ToBeDeletedByClusterAutoscaler": (
            OwnerSign.CLUSTER_AUTOSCALER,
            "the cluster autoscaler removes the Node",
        ),
        "karpenter.sh/disrupted": (OwnerSign.KARPENTER, "Karpenter disrupts the Node"),
        "karpenter.sh/disruption": (OwnerSign.KARPENTER, "Karpenter disrupts the Node"),
        "node.cloudprovider.kubernetes.io/shutdown": (
            OwnerSign.CLOUD_SHUTDOWN,
            "the cloud has shut the Node down",
        ),
    }
)
_OF_KUBERNETES = ("node.kubernetes.io/", "node-role.kubernetes.io/")
"""Prefixes of taints that say what a Node is or how it fares; they are too many to remember."""
_FAILED_CONFIGS = frozenset({"Degraded", "Unreconcilable"})
HOLDS_NEXT_STEPS = frozenset(OwnerSign) - {OwnerSign.NODE_DELETION, OwnerSign.CLOUD_SHUTDOWN}
"""The signs that no remediator causes. The others hold only the beginning of a remediation."""


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class Taint:
    """One taint of a Node; its effect is not used."""

    key: str = ""
    value: ShortText = ""
    time_added: Time | None = None


def node_signs(
    *,
    deleted: datetime | None,
    taints: Iterable[Taint],
    reboot: str,
    configuration: str,
    config_state: str,
) -> tuple[Sign, ...]:
    """The signs on a Node, by the parts that have them; `reboot` is the value of kured's annotation."""
    found = []
    for taint in taints:
        if taint.key == "karpenter.sh/disruption" and taint.value != "disrupting":
            continue
        if taint.key in _TAINTS:
            name, words = _TAINTS[taint.key]
            stated = taint.time_added or _unix_time(taint.value)
            found.append(Sign(name, f"{words} (taint {taint.key})", stated))
        elif not taint.key.startswith(_OF_KUBERNETES):
            words = f"the Node has the taint {taint.key}"
            found.append(Sign(taint_sign(taint.key), words, taint.time_added))
    if deleted is not None:
        found.append(Sign(OwnerSign.NODE_DELETION, "the Node is being deleted", deleted))
    if reboot:
        found.append(Sign(OwnerSign.KURED, "kured reboots the Node", as_time(reboot)))
    if configuration:
        words = f"the machine config operator changes the configuration of the Node to {configuration}"
        has_failed = config_state in _FAILED_CONFIGS
        found.append(Sign(OwnerSign.MACHINE_CONFIG, words, has_failed=has_failed))
    return tuple(found)


def _unix_time(value: str) -> datetime | None:
    """The time in the value of a taint, in seconds; None if it is none."""
    is_number = value.isascii() and value.isdigit() and len(value) <= len("9999999999")
    return bounded_time(datetime.fromtimestamp(int(value), UTC)) if is_number else None
