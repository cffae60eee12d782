"""Is the cluster being upgraded? What OpenShift's ClusterVersion says, and the configuration of its nodes.

Rule (semantics 2.1/10, decisions 36 and 37): Progressing=True holds new remediations; so does a Progressing
that is absent or Unknown, or a ClusterVersion that is missing or unreadable where the API serves the kind.
Where it does not there are no upgrades. At the end, the clocks of unhealthy targets restart. Beside that a
check is held while the machine config operator changes the configuration of one of its expired targets.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from health.frozen import FrozenObject
from health.node import Node, NodeCondition
from health.object_metadata import ObjectMetadata
from health.observation import Hold, HoldReason

PROGRESSING = "Progressing"
UNKNOWN_ASK_AGAIN_SECONDS = 60.0


class ClusterVersionStatus(FrozenObject):
    """The part of the status of a ClusterVersion that we read."""

    conditions: tuple[NodeCondition, ...] = ()


class ClusterVersion(FrozenObject):
    """A ClusterVersion of config.openshift.io."""

    metadata: ObjectMetadata
    status: ClusterVersionStatus = ClusterVersionStatus()

    @property
    def progressing(self) -> NodeCondition | None:
        """Its condition Progressing."""
        return next((one for one in self.status.conditions if one.type == PROGRESSING), None)


class UpgradePhase(StrEnum):
    """Where the cluster stands."""

    NEVER = "Never"
    """Not an OpenShift cluster."""
    UNKNOWN = "Unknown"
    UNDER_WAY = "UnderWay"
    OVER = "Over"


@dataclass(frozen=True)
class Upgrade:
    """What is known of upgrades of the cluster."""

    phase: UpgradePhase = UpgradePhase.NEVER
    since: datetime | None = None
    """The latest transition of Progressing, while under way or over."""
    why_unknown: str = ""

    @property
    def ended(self) -> datetime | None:
        """When the last one ended: clocks of targets count from there at the earliest."""
        return self.since if self.phase is UpgradePhase.OVER else None


NEVER_UPGRADED = Upgrade()


def upgrade(found: Sequence[ClusterVersion], *, unreadable: Iterable[str] = ()) -> Upgrade:
    """What the ClusterVersions say where the kind is served; `unreadable`: what is wrong with others."""
    under_way = [one.progressing for one in found if one.progressing and one.progressing.status == "True"]
    if under_way:
        return Upgrade(UpgradePhase.UNDER_WAY, _latest(under_way))
    for problem in unreadable:
        return Upgrade(UpgradePhase.UNKNOWN, why_unknown=f"a ClusterVersion cannot be read: {problem}")
    over = [one.progressing for one in found if one.progressing and one.progressing.status == "False"]
    if not found:
        return Upgrade(UpgradePhase.UNKNOWN, why_unknown="there is no ClusterVersion")
    if len(over) < len(found):
        return Upgrade(UpgradePhase.UNKNOWN, why_unknown="ClusterVersion does not say whether it progresses")
    return Upgrade(UpgradePhase.OVER, _latest(over))


def upgrade_hold(known: Upgrade, reconfigured: Sequence[Node]) -> Hold | None:
    """Why a check is held, whose expired targets with another configuration to come are `reconfigured`."""
    match known.phase:
        case UpgradePhase.NEVER:
            return None
        case UpgradePhase.UNKNOWN:
            message = f"nobody can say whether the cluster is being upgraded: {known.why_unknown}"
            return Hold(
                reason=HoldReason.UPGRADE_UNKNOWN,
                message=message,
                ask_again_seconds=UNKNOWN_ASK_AGAIN_SECONDS,
            )
        case UpgradePhase.UNDER_WAY:
            since = f" since {known.since:%Y-%m-%dT%H:%M:%SZ}" if known.since else ""
            return Hold(reason=HoldReason.UPGRADING, message=f"the cluster is being upgraded{since}")
        case UpgradePhase.OVER:
            return _reconfiguration_hold(reconfigured)


def _reconfiguration_hold(nodes: Sequence[Node]) -> Hold | None:
    if not nodes:
        return None
    first = min(nodes, key=lambda node: node.metadata.name)
    others = f" and {len(nodes) - 1} more" if len(nodes) > 1 else ""
    wanted = first.metadata.annotations.desired_config
    message = f"the configuration of {first.metadata.name}{others} is being changed to {wanted}"
    return Hold(reason=HoldReason.UPGRADING, message=message)


def _latest(conditions: Sequence[NodeCondition]) -> datetime | None:
    times = [one.last_transition_time for one in conditions if one.last_transition_time is not None]
    return max(times, default=None)
