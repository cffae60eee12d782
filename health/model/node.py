"""Node: the slim copy of a Kubernetes Node that verdicts use.

Messages are left out, and heartbeat times and reasons are not compared, so a heartbeat changes nothing but
the resourceVersion. Only the annotations that we honour are kept. The parts have slots, because a large
cluster has a hundred thousand of them.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, GetPydanticSchema
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from health.model.annotations import BY_FULL_NAME, OF_TEXTS, TargetAnnotations
from health.model.boot import boot_id_of, boot_of, earlier_boots, has_come_back
from health.model.owner_signs import Sign, SignSighting, Taint, node_signs
from health.model.sighting import OURS, Look, SightedObject
from health.model.target import Target
from objects.bounds import FailFast, Time
from objects.event import InvolvedObject
from objects.group_kind import ServedKind
from objects.short_text import ShortText

CONFIRMED_HEALTHY = "remediation.medik8s.io/manually-confirmed-healthy"
EXCLUDE_LABEL = "remediation.medik8s.io/exclude-from-remediation"
REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"
NODES = ServedKind(group="", kind="Node", plural="nodes", versions=("v1",), is_namespaced=False)
_PART = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)


def involved_node(name: str, uid: str) -> InvolvedObject:
    return InvolvedObject(api_version=NODES.api_version, kind=NODES.kind, namespace="", name=name, uid=uid)


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class NodeCondition:
    """One condition of a Node, without its message."""

    type: str
    status: str
    last_transition_time: Time | None = None
    last_heartbeat_time: Time | None = dataclasses.field(default=None, compare=False)
    reason: str = dataclasses.field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True, config=BY_FULL_NAME)
class NodeAnnotations(TargetAnnotations):
    """The annotations of a Node that we honour."""

    machine: str = Field(default="", alias="machine.openshift.io/machine")
    confirmed_healthy: str | None = Field(
        default=None, alias="remediation.medik8s.io/manually-confirmed-healthy"
    )
    current_config: str = Field(default="", alias="machineconfiguration.openshift.io/currentConfig")
    desired_config: str = Field(default="", alias="machineconfiguration.openshift.io/desiredConfig")
    current_image: str = Field(default="", alias="machineconfiguration.openshift.io/currentImage")
    desired_image: str = Field(default="", alias="machineconfiguration.openshift.io/desiredImage")
    config_state: str = Field(default="", alias="machineconfiguration.openshift.io/state")
    kured: str = Field(default="", alias="kured.dev/kured-reboot-in-progress")
    kured_before: str = Field(default="", alias="weave.works/kured-reboot-in-progress")
    """The same, as kured writes it up to 1.x."""


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class NodeMetadata(FailFast):
    """Identity, labels and some annotations of a Node."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str = ""
    creation_timestamp: Time
    deletion_timestamp: Time | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: Annotated[NodeAnnotations, OF_TEXTS] = NodeAnnotations()


# A validator before the model would receive unknown fields as Python values, as many as the answer has.
_Taints = Annotated[tuple[Taint, ...] | None, AfterValidator(lambda taints: taints or ())]


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class NodeSpec(FailFast):
    """Signs in the spec of a Node that it is under maintenance."""

    unschedulable: bool = False
    taints: Annotated[tuple[Taint, ...], GetPydanticSchema(lambda _, handler: handler(_Taints))] = ()


NO_SPEC = NodeSpec()


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class _NodeInfo:
    boot_id: ShortText = Field(default="", alias="bootID")
    machine_id: ShortText | None = Field(default=None, alias="machineID")
    system_uuid: ShortText | None = Field(default=None, alias="systemUUID")


def _boot(info: _NodeInfo | str | None) -> str:
    if isinstance(info, _NodeInfo):
        return boot_of(info.boot_id, info.machine_id or "", info.system_uuid or "")
    return info or ""


_OF_NODE_INFO = GetPydanticSchema(
    lambda _, handler: handler(Annotated[_NodeInfo | str | None, AfterValidator(_boot)])
)


def _one_of_each_type(conditions: tuple[NodeCondition, ...]) -> tuple[NodeCondition, ...]:
    """The first condition of each type: an API server stores two, and a look cannot tell which changed."""
    return tuple({condition.type: condition for condition in reversed(conditions)}.values())[::-1]


@dataclass(frozen=True, slots=True, kw_only=True, config=_PART)
class NodeStatus(FailFast):
    """The part of a Node's status that we read."""

    conditions: Annotated[tuple[NodeCondition, ...], AfterValidator(_one_of_each_type)] = ()
    boot_id: Annotated[str, _OF_NODE_INFO, Field(validation_alias="nodeInfo")] = ""
    """Its boot (`health.model.boot`); "" if the kubelet does not report it."""


class Node(SightedObject, Target):
    """The fields of a Node that verdicts use."""

    metadata: NodeMetadata
    spec: NodeSpec = NO_SPEC
    status: NodeStatus = NodeStatus()
    earlier_boots: Annotated[tuple[str, ...] | None, OURS] = None
    """The boots that the detector saw before the present one, the latest last; None: no other one."""

    def seen_after(self, before: Self | None, look: Look) -> Self:
        seen = super().seen_after(before, look)
        if before is None or before.metadata.uid != self.metadata.uid:
            return seen
        earlier = earlier_boots(before.earlier_boots or (), before.boot_id, self.boot_id)
        return seen.model_copy(update={"earlier_boots": earlier}) if earlier else seen

    @property
    def timed(self) -> Sequence[NodeCondition]:
        return self.status.conditions

    @property
    def node(self) -> Self:
        return self

    def with_node(self, node: "Node") -> "Node":
        return node

    @property
    def signs(self) -> Sequence[Sign]:
        annotations = self.metadata.annotations
        return node_signs(
            deleted=self.metadata.deletion_timestamp,
            taints=self.spec.taints,
            reboot=annotations.kured or annotations.kured_before,
            configuration=self.configuration_to_come,
            config_state=annotations.config_state,
        )

    @property
    def node_name(self) -> str:
        return self.metadata.name

    @property
    def boot_id(self) -> str:
        """Identifies the current boot of the machine; "" if the kubelet does not report it."""
        return self.status.boot_id

    @property
    def shared_name(self) -> str:
        earlier = self.earlier_boots or ()
        if not has_come_back(earlier, self.boot_id):
            return ""
        back, between = self.boot_id, earlier[-1]
        if boot_id_of(back) != boot_id_of(between):
            back, between = boot_id_of(back), boot_id_of(between)
        return f"two machines use the name {self.metadata.name}: boot {back} came back after boot {between}"

    @property
    def silent_since(self) -> datetime | None:
        """When Ready turned Unknown; None while the kubelet is heard."""
        found = next((condition for condition in self.status.conditions if condition.type == "Ready"), None)
        if found is None or found.status != "Unknown":
            return None
        return self.since(found)

    @property
    def is_confirmed_healthy(self) -> bool:
        """True for any value of the annotation."""
        return self.metadata.annotations.confirmed_healthy is not None

    @property
    def is_excluded(self) -> bool:
        """True if the exclusion label has exactly the value "true"."""
        return self.metadata.labels.get(EXCLUDE_LABEL) == "true"

    @property
    def has_empty_exclusion(self) -> bool:
        """True if the exclusion label has an empty value, which excludes nothing."""
        return self.metadata.labels.get(EXCLUDE_LABEL) == ""

    @property
    def annotations(self) -> TargetAnnotations:
        return self.metadata.annotations

    @property
    def configuration_to_come(self) -> str:
        """The configuration or image that the machine config operator applies, "" if none (NHC 2.1/10)."""
        annotations = self.metadata.annotations
        if annotations.desired_config != annotations.current_config:
            return annotations.desired_config
        return "" if annotations.desired_image == annotations.current_image else annotations.desired_image


NO_NODE = Node(metadata=NodeMetadata(name="", uid="", creation_timestamp=datetime.min.replace(tzinfo=UTC)))
"""Takes the place of a Node that does not exist or was not read."""


def facts_of_node(target: Target) -> Node:
    """The facts of the Node of a target of any kind; of `NO_NODE`, which has none, without a Node."""
    return target.node or NO_NODE


def signs_on(target: Target) -> Iterator[Sign]:
    """All signs on a target of any kind that an owner works on it, by its Node and by itself."""
    yield from facts_of_node(target).signs
    yield from target.own_signs


def signs_seen_on(target: Target) -> Iterator[SignSighting]:
    """The sightings of all signs on a target, by its Node and by itself."""
    yield from facts_of_node(target).signs_seen or ()
    yield from target.own_sightings
