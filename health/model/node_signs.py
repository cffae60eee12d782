"""The table of signs by which owners of a target show that they work on it, for targets of every kind.

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

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from health.model.owner_signs import OwnerSign, Sign, taint_sign
from objects.bounds import Time, bounded_time
from objects.short_text import ShortText
from objects.timestamps import as_time

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
    found = [sign for taint in taints for sign in _of_taint(taint)]
    if deleted is not None:
        found.append(Sign(OwnerSign.NODE_DELETION, "the Node is being deleted", deleted))
    if reboot:
        found.append(Sign(OwnerSign.KURED, "kured reboots the Node", as_time(reboot)))
    if configuration:
        words = f"the machine config operator changes the configuration of the Node to {configuration}"
        has_failed = config_state in _FAILED_CONFIGS
        found.append(Sign(OwnerSign.MACHINE_CONFIG, words, has_failed=has_failed))
    return tuple(found)


def _of_taint(taint: Taint) -> Iterator[Sign]:
    if taint.key == "karpenter.sh/disruption" and taint.value != "disrupting":
        return
    if taint.key in _TAINTS:
        name, words = _TAINTS[taint.key]
        yield Sign(name, f"{words} (taint {taint.key})", taint.time_added or _unix_time(taint.value))
    elif not taint.key.startswith(_OF_KUBERNETES):
        yield Sign(taint_sign(taint.key), f"the Node has the taint {taint.key}", taint.time_added)


def _unix_time(value: str) -> datetime | None:
    """The time in the value of a taint, in seconds; None if it is none."""
    is_number = value.isascii() and value.isdigit() and len(value) <= len("9999999999")
    return bounded_time(datetime.fromtimestamp(int(value), UTC)) if is_number else None
