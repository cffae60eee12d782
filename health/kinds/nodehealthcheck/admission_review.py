"""The problems of a NodeHealthCheck that is created, edited or deleted (NHC 1.1/webhook).

All problems are reported at once, in the NodeHealthCheck operator's words where it has some. Facts about the
cluster are read beforehand: `doubtful_kinds` names the needed ones, `Facts` contains them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from health.kinds.nodehealthcheck.check import Refused, Spec
from health.kinds.nodehealthcheck.disabled import duplicate_kind
from health.model.invalid_check import check_problem
from health.model.references import TemplateReference
from health.model.stored_status import items

SUPPORTED_TOPOLOGIES = frozenset({"HighlyAvailable", "SingleReplica", "HighlyAvailableArbiter", "External"})
FROZEN_FIELDS = {
    "selector": "selector",
    "remediationTemplate": "remediation template",
    "escalatingRemediations": "escalating remediations",
}
"""Fields that may not change during a remediation, with the NodeHealthCheck operator's names."""

RawCheck = Mapping[str, Any]
TemplateKind = tuple[str, str]
"""apiVersion and kind."""


class Operation(StrEnum):
    """The operation on a check that the API server asks about."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(frozen=True)
class Facts:
    """The facts about the cluster that the review needs."""

    single_template_kinds: frozenset[TemplateKind] = frozenset()
    """The doubtful kinds whose templates allow only one step."""
    control_plane_topology: str | None = None
    """The topology of an OpenShift cluster; None elsewhere."""


@dataclass(frozen=True)
class CheckOperation:
    """One operation on a check; `old` is {} for a creation, `new` for a deletion."""

    operation: Operation
    new: RawCheck
    old: RawCheck


def doubtful_kinds(check: RawCheck) -> frozenset[TemplateKind]:
    """The kinds of templates that more than one step of an escalation uses."""
    templates = templates_of_steps(check)
    names = [template.kind for template in templates]
    return frozenset(
        (template.api_version, template.kind) for template in templates if names.count(template.kind) > 1
    )


def templates_of_steps(check: RawCheck) -> tuple[TemplateReference, ...]:
    """The templates of the steps of an escalation; none if the check is refused anyway."""
    try:
        spec = Spec.model_validate(_spec(check))
    except ValidationError:
        return ()
    return tuple(step.remediation_template.reference for step in spec.escalating_remediations)


def refusals(change: CheckOperation, facts: Facts) -> tuple[str, ...]:
    status = change.old.get("status")
    nodes = items(status, "unhealthyNodes") if isinstance(status, Mapping) else ()
    is_remediating = any(node.get("remediations") for node in nodes)
    if change.operation is Operation.DELETE:
        return ("deletion prohibited due to running remediation",) if is_remediating else ()
    problems: list[str] = []
    new, old = _spec(change.new), _spec(change.old)
    try:
        Spec.model_validate(new)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            cause = details.get("ctx", {}).get("error")
            if isinstance(cause, Refused):
                problems += cause.problems
                continue
            problem = check_problem({**details, "loc": ("spec", *details["loc"])})
            problems.append(problem.words if details["loc"][:1] == ("selector",) else str(problem))
    twice = {kind for _, kind in doubtful_kinds(change.new) & facts.single_template_kinds}
    problems += map(duplicate_kind, sorted(twice))
    if facts.control_plane_topology not in SUPPORTED_TOPOLOGIES | {None}:
        problems.append("Unsupported control plane topology")
    if change.operation is Operation.UPDATE and is_remediating:
        problems += (
            f"{name} update prohibited due to running remediation"
            for field, name in FROZEN_FIELDS.items()
            if (new.get(field) or None) != (old.get(field) or None)
        )
    return tuple(problems)


def _spec(check: RawCheck) -> RawCheck:
    spec = check.get("spec")
    return spec if isinstance(spec, Mapping) else {}
