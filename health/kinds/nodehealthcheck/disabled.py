"""The condition Disabled of a NodeHealthCheck (NHC 1.3): other MachineHealthChecks, or an unusable template.

OpenShift installs one MachineHealthCheck for the condition Terminating. Alone it does not disable
NodeHealthChecks: Nodes that have a condition of that type, with any status, are left to it. Any other
MachineHealthCheck disables every NodeHealthCheck (NHC 2.1/4).

Templates (NHC 2.1/5, rule 18) are tested in the order of the spec, and the first unusable one decides. Two
steps may share a kind only if every template of that kind in the cluster says that its remediator supports
several requests for one node; if we may not list the kind, every template that a check names.
"""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import Field

from health.check.check_snapshot import CheckSnapshot
from health.check.template_validity import TemplateKinds, forbidden, not_found, unusable
from health.cluster.cluster_context import CheckProblem
from health.model.node import Node
from health.model.references import TemplateReference
from health.model.remediation_request import MULTIPLE_TEMPLATES
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata

CONFLICT = CheckProblem(
    reason="ConflictingMachineHealthCheckDetected",
    message="Custom MachineHealthCheck(s) detected, disabling NodeHealthCheck to avoid conflicts",
)


NO_PROBLEM = CheckProblem(
    reason="NodeHealthCheckEnabled", message="No issues found, NodeHealthCheck is enabled."
)
"""The reason and message of the condition while it is False."""


def disabled(snapshot: CheckSnapshot) -> CheckProblem | None:
    """The problem that disables a check; None without one."""
    if snapshot.check is None:
        return CheckProblem("InvalidSpec", str(snapshot.parsed.problem))
    return snapshot.holds.problem


TERMINATING = "Terminating"


class OtherChecks(StrEnum):
    """The MachineHealthChecks of a cluster, by their effect on NodeHealthChecks."""

    NONE = "None"
    TERMINATING_ONLY = "TerminatingOnly"
    OTHERS = "Others"


class _Condition(FrozenObject):
    type: str = ""


class _Spec(FrozenObject):
    unhealthy_conditions: tuple[_Condition, ...] = ()


class OtherMachineHealthCheck(FrozenObject):
    """The conditions of a MachineHealthCheck of machine.openshift.io."""

    metadata: ObjectMetadata
    spec: _Spec = Field(default=_Spec())

    @property
    def is_terminating_only(self) -> bool:
        return [condition.type for condition in self.spec.unhealthy_conditions] == [TERMINATING]


def machine_health_checks(found: Sequence[OtherMachineHealthCheck], *, unreadable: int = 0) -> OtherChecks:
    """How these checks affect NodeHealthChecks; `unreadable` counts those that do not parse."""
    if not found and not unreadable:
        return OtherChecks.NONE
    if len(found) == 1 and not unreadable and found[0].is_terminating_only:
        return OtherChecks.TERMINATING_ONLY
    return OtherChecks.OTHERS


def conflict(found: OtherChecks) -> CheckProblem | None:
    return CONFLICT if found is OtherChecks.OTHERS else None


def is_left_to_others(node: Node, found: OtherChecks) -> bool:
    """True if `node` counts as healthy because a MachineHealthCheck handles it."""
    if found is not OtherChecks.TERMINATING_ONLY:
        return False
    return any(condition.type == TERMINATING for condition in node.status.conditions)


METAL3 = "Metal3RemediationTemplate"
METAL3_NAMESPACE = "openshift-machine-api"
_ALLOWED_BY = f"the annotation {MULTIPLE_TEMPLATES} on every template of the kind allows it"


def template_problem(templates: Sequence[TemplateReference], kinds: TemplateKinds) -> CheckProblem | None:
    """Why a check with these templates, in the order of its spec, cannot work; None if it can."""
    for template in templates:
        problem, kind = unusable(template, kinds), kinds(template.api_version, template.kind)
        if problem is None and kind is not None and kind.request_rejection:
            # Even a problem of the requests is reported as one of the template (NHC 2.1/5).
            problem = (forbidden if kind.are_requests_refused else not_found)(kind.request_rejection)
        if problem is not None:
            return problem
        if template.kind == METAL3 and template.namespace != METAL3_NAMESPACE:
            message = (
                f"{METAL3} must be in the {METAL3_NAMESPACE} namespace. "
                f"It is configured to be in namespace: {template.namespace}"
            )
            return CheckProblem("RemediationTemplateInvalid", message)
    names = [template.kind for template in templates]
    for template in templates:
        kind = kinds(template.api_version, template.kind) if names.count(template.kind) > 1 else None
        if kind is not None and (
            kind.unreadable or not all(known.supports_multiple for known in kind.templates.values())
        ):
            message = f"{duplicate_kind(template.kind)}; {_ALLOWED_BY}"
            return CheckProblem("RemediationTemplateInvalid", message)
    return None


def duplicate_kind(kind: str) -> str:
    """The message for two steps of a kind whose remediator supports one request per node (NHC 1.1)."""
    unsupported = "Using multiple templates of same kind is not supported for this template"
    return f"{unsupported}: duplicate template kind: {kind}"
