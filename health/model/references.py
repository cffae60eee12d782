"""References: how an incident names its check, its target and the requests that it made.

The id of an incident's workflow is made and read here and nowhere else. It names cluster, check and target,
so that two detectors that see the same failure start the same incident, and a Node recreated under its name
gets another one.
"""

from enum import StrEnum
from typing import Any

from pydantic import Field

from health.model.kind_names import kind_name, kind_named
from objects.frozen import Frozen, OpenEnum
from objects.group_kind import GroupKind

UID_LENGTH = 8
"""Characters of a target's uid in the id of its incident: enough to tell two Nodes of one name apart."""


def _group(known: dict[str, Any]) -> str:
    return kind_named(known["kind"]).group


class ObjectReference(Frozen):
    """One object of whatever kind."""

    kind: str
    group: str = Field(default_factory=_group)
    """Where none is given, the one of the kind that is written without."""
    namespace: str = ""
    name: str

    @property
    def group_kind(self) -> GroupKind:
        """Its kind, told from those of the same name."""
        return GroupKind(self.group, self.kind)

    @property
    def kind_name(self) -> str:
        """How its kind is written."""
        return kind_name(self.group_kind)

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind_name, self.namespace, self.name) if part)


class CheckReference(ObjectReference):
    """One health check."""

    @property
    def lease_holder(self) -> str:
        """How it signs the Lease of a target (NHC 1.8), with its namespace where it is in one.

        No name has a slash, so no two checks sign alike.
        """
        named = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind_name}-{named}"

    def lock_holder(self, target: str) -> str:
        """How it signs the control-plane lock for a target: it may have several nodes of it."""
        return f"{self.lease_holder}/{target}"


class TargetReference(ObjectReference):
    """One thing that can be unhealthy: a Node or a Machine, told from others of its name by its uid."""

    uid: str


class RequestReference(Frozen):
    """One remediation request in the cluster."""

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
        """The kind of the requests made from it (NHC 2.4/3)."""
        return self.kind.removesuffix("Template")

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


NO_TEMPLATE = TemplateReference(api_version="", kind="", name="")


class Action(StrEnum):
    """What a step does to its target."""

    REQUEST = "Request"
    """A remediation request is made from a template; an external remediator does the rest."""
    DELETE = "Delete"
    """The target is deleted; its owner makes another one."""
    MARK = "Mark"
    """The target is annotated; whoever looks for the annotation does the rest."""


class Step(Frozen):
    """One step of a remediation."""

    template: TemplateReference = NO_TEMPLATE
    """Of a step that makes a request."""
    timeout_seconds: float | None = None
    """How long its request may take; None: no limit."""
    action: OpenEnum[Action] = Action.REQUEST
    """One that this version does not know is never carried out."""

    def order_for(self, target: TargetReference) -> str:
        """What it does to `target`, in words: "create Reboot from template ns/fast for Node/node-1"."""
        if self.action is not Action.REQUEST:
            return f"{self.action.lower()} {target}"
        template = self.template
        name = "/".join(part for part in (template.namespace, template.name) if part)
        return f"create {template.request_kind} from template {name} for {target}"


class IncidentReference(Frozen):
    """One incident: a check, a target that it found unhealthy, and the cluster that both live in."""

    cluster: str
    check: CheckReference
    target: TargetReference

    @property
    def workflow_id(self) -> str:
        """The id of the incident's workflow, `remediation/<cluster>/<check>/<target>/<uid>`."""
        return f"remediation/{self.cluster}/{self.check}/{self.target.name}/{self.target.uid[:UID_LENGTH]}"


def is_id_of(workflow_id: str, incident: IncidentReference) -> bool:
    """Whether it is the workflow id of `incident`, whatever its cluster is called.

    A setting names the cluster, and may name it anew while requests carry the earlier name.
    """
    return _without_cluster(workflow_id) == _without_cluster(incident.workflow_id)


def _without_cluster(workflow_id: str) -> list[str]:
    first, *rest = workflow_id.split("/")
    return [first, *rest[1:]]


def check_of(workflow_id: str) -> CheckReference | None:
    """The check that the id of an incident's workflow names; None for what is no such id."""
    parts = workflow_id.split("/")
    if not all(parts):
        return None
    match parts:
        case ["remediation", _, kind, name, _, _]:
            return _check(kind, "", name)
        case ["remediation", _, kind, namespace, name, _, _]:
            return _check(kind, namespace, name)
    return None


def _check(kind_name: str, namespace: str, name: str) -> CheckReference:
    kind = kind_named(kind_name)
    return CheckReference(kind=kind.kind, group=kind.group, namespace=namespace, name=name)
