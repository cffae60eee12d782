"""References: how an incident names its check, its target and its requests.

Only this module makes and parses ids of incidents. An id names cluster, check and target: two detectors that
see the same failure start the same incident, and a Node recreated under the same name gets another one. A
workflow has the id in a length that Temporal stores, from which a long one cannot be read back.

A kind is written with its group, `MachineHealthCheck.cluster.x-k8s.io`, so no two kinds are written alike: in
workflow ids, search attributes, metrics, and names and holders of Leases. Kinds without a group, and the
kinds listed here, are written without: a bare name always means the listed kind. Add no kind to this list.

People call a check or target by its name alone, with its kind, with its namespace, or with both. The kind may
be in any case and without its group, as in kubectl.
"""

from enum import StrEnum
from functools import cache, cached_property

from pydantic import Field

from objects.frozen import Frozen, OpenEnum
from objects.group_kind import GroupKind
from objects.short_text import bounded_id, is_cut

_WRITTEN_ALONE = {
    kind.kind: kind
    for kind in (
        GroupKind("remediation.medik8s.io", "NodeHealthCheck"),
        GroupKind("machine.openshift.io", "MachineHealthCheck"),
        GroupKind("machine.openshift.io", "Machine"),
    )
}


@cache
def kind_name(kind: GroupKind) -> str:
    return kind.kind if kind == kind_named(kind.kind) else str(kind)


def kind_named(name: str) -> GroupKind:
    return _WRITTEN_ALONE.get(name) or GroupKind.parse(name)


UID_LENGTH = 8
"""Characters of the target's uid in the workflow id: enough to tell two Nodes of one name apart."""


class TypedObjectReference(Frozen):
    """One object of any kind, without its uid."""

    kind: str
    group: str = Field(default_factory=lambda fields: kind_named(fields["kind"]).group)
    """Default: the group of the kind that is written without one."""
    namespace: str = ""
    name: str

    def __eq__(self, other: object) -> bool:
        # As in pydantic, at a fraction of the cost: references are keys, and keep nothing but their fields.
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self.kind, self.namespace, self.name))

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def kind_name(self) -> str:
        """The kind as workflow ids and Leases write it."""
        return kind_name(self.group_kind)

    @property
    def kubectl_name(self) -> str:
        kind = self.kind.lower() + (f".{self.group}" if self.group else "")
        return f"{kind} {self.name}" + (f" --namespace {self.namespace}" if self.namespace else "")

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind_name, self.namespace, self.name) if part)


class CheckReference(TypedObjectReference):
    """One health check and how it signs Leases."""

    @property
    def lease_holder(self) -> str:
        """The holder of a target's Lease (NHC 1.8), with the namespace of a namespaced check.

        Names contain no slash, so holders of two checks never collide.
        """
        named = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind_name}-{named}"

    def lock_holder(self, target: str) -> str:
        """The holder of the control-plane lock.

        The target is part of it, because a check may have several control-plane nodes.
        """
        return f"{self.lease_holder}/{target}"


class TargetReference(TypedObjectReference):
    """A Node or Machine; its uid distinguishes it from others of the same name."""

    uid: str


class RequestReference(Frozen):
    """One remediation request; its uid distinguishes it from others of the same name."""

    api_version: str
    kind: str
    namespace: str = ""
    name: str
    uid: str
    template: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


class TemplateReference(Frozen):
    """The template that a remediation request is made from."""

    api_version: str
    kind: str
    namespace: str = ""
    name: str

    @property
    def request_kind(self) -> str:
        """The kind of the requests made from this template (NHC 2.4/3)."""
        return self.kind.removesuffix("Template")

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which a person may mean it, the shortest first."""
        return self.name, f"{self.kind}/{self.name}", str(self)

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


NO_TEMPLATE = TemplateReference(api_version="", kind="", name="")


class Action(StrEnum):
    """The effect of a step on its target."""

    REQUEST = "Request"
    """Create a remediation request from a template; an external remediator does the rest."""
    DELETE = "Delete"
    """Delete the target; its owner replaces it."""
    MARK = "Mark"
    """Annotate the target; the controller that reads the annotation does the rest."""


class Step(Frozen):
    """One step of a remediation, in the check's order."""

    template: TemplateReference = NO_TEMPLATE
    """The template of a step that makes a request."""
    timeout_seconds: float | None = None
    """How long its request may take; None: no limit."""
    action: OpenEnum[Action] = Action.REQUEST
    """A step with an action that this version does not know is never carried out."""

    def order_for(self, target: TargetReference) -> str:
        """The action on `target`, in words: "create Reboot from template ns/fast for Node/node-1"."""
        if self.action is not Action.REQUEST:
            return f"{self.action.lower()} {target}"
        template = self.template
        name = "/".join(part for part in (template.namespace, template.name) if part)
        return f"create {template.request_kind} from template {name} for {target}"


class IncidentReference(Frozen):
    """One incident: a check, a target that it found unhealthy, and their cluster."""

    cluster: str
    check: CheckReference
    target: TargetReference

    @cached_property
    def full_id(self) -> str:
        """`remediation/<cluster>/<check>/<target>/<uid>`, of any length; requests carry it."""
        return f"remediation/{self.cluster}/{self.check}/{self.target.name}/{self.target.uid[:UID_LENGTH]}"

    @cached_property
    def workflow_id(self) -> str:
        return workflow_id_of(self.full_id)


def workflow_id_of(full_id: str) -> str:
    """The id of the workflow; that of a long full id keeps the part of the uid."""
    subject, slash, uid = full_id.rpartition("/")
    return bounded_id(subject, f"{slash}{uid}")


def is_id_of(full_id: str, incident: IncidentReference) -> bool:
    """True if this is the full id of `incident` under any name of the cluster.

    The cluster's name is a setting, which may change while requests carry the earlier name.
    """
    return _without_cluster(full_id) == _without_cluster(incident.full_id)


def _without_cluster(full_id: str) -> list[str]:
    first, *rest = full_id.split("/")
    return [first, *rest[1:]]


def check_of(full_id: str) -> CheckReference | None:
    """The check named by the full id of an incident; None for a cut id, and for any other."""
    parts = full_id.split("/")
    if not all(parts) or is_cut(full_id):
        return None
    match parts:
        case ["remediation", _, kind_name, *namespace, name, _, _] if len(namespace) <= 1:
            kind = kind_named(kind_name)
            return CheckReference(kind=kind.kind, group=kind.group, namespace="".join(namespace), name=name)
    return None


def target_of(full_id: str) -> str:
    """The name of the target in the full id of an incident."""
    return full_id.split("/")[-2]


def forms(reference: CheckReference | TargetReference) -> frozenset[str]:
    kind, namespace, name = reference.kind_name, reference.namespace, reference.name
    return frozenset({name, f"{kind}/{name}", f"{namespace}/{name}" if namespace else name, str(reference)})


def with_kind(name: str, kind: str) -> str:
    """`name` with its kind spelled as in `kind`, if `name` begins with that kind, with or without a group."""
    first, slash, rest = name.partition("/")
    return f"{kind}/{rest}" if slash and first.casefold() in kind_names(kind) else name


def kind_names(kind: str) -> frozenset[str]:
    """The spellings of a kind, in lower case; without a group a spelling may match several kinds."""
    return frozenset({kind.casefold(), kind.partition(".")[0].casefold()})


def is_called(name: str, reference: CheckReference | TargetReference) -> bool:
    return bool({name, with_kind(name, reference.kind_name)} & forms(reference))
