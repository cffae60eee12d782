"""Finds the first template of a NodeHealthCheck that cannot be used (NHC 1.3, NHC 2.1/5, rule 18).

They are tested in the order of the spec, and the first unusable one decides. Two steps may share a kind only
if every template of that kind in the cluster says that its remediator supports several requests for one
node; if we may not list the kind, every template that a check names.
"""

from collections.abc import Sequence

from health.check.template_validity import TemplateKind, TemplateKinds, requestless, unusable
from health.cluster.cluster_context import CheckProblem
from health.model.references import TemplateReference
from health.model.remediation_request import MULTIPLE_TEMPLATES

METAL3 = "Metal3RemediationTemplate"
METAL3_NAMESPACE = "openshift-machine-api"
_ALLOWED_BY = f"the annotation {MULTIPLE_TEMPLATES} on every template of the kind allows it"


def template_problem(templates: Sequence[TemplateReference], kinds: TemplateKinds) -> CheckProblem | None:
    """Why a check with these templates, in the order of its spec, cannot work; None if it can."""
    for template in templates:
        # Even a problem of the requests is reported as one of the template (NHC 2.1/5).
        problem = unusable(template, kinds) or requestless(template, kinds) or _misplaced_metal3(template)
        if problem:
            return problem
    return _duplicate(templates, kinds)


def _misplaced_metal3(template: TemplateReference) -> CheckProblem | None:
    if template.kind != METAL3 or template.namespace == METAL3_NAMESPACE:
        return None
    message = (
        f"{METAL3} must be in the {METAL3_NAMESPACE} namespace. "
        f"It is configured to be in namespace: {template.namespace}"
    )
    return CheckProblem("RemediationTemplateInvalid", message)


def duplicate_kind(kind: str) -> str:
    """The message for two steps of a kind whose remediator supports one request per node (NHC 1.1)."""
    unsupported = "Using multiple templates of same kind is not supported for this template"
    return f"{unsupported}: duplicate template kind: {kind}"


def _duplicate(templates: Sequence[TemplateReference], kinds: TemplateKinds) -> CheckProblem | None:
    names = [template.kind for template in templates]
    for template in templates:
        if names.count(template.kind) == 1:
            continue
        kind = kinds(template.api_version, template.kind)
        if kind is not None and not _supports_multiple(kind):
            message = f"{duplicate_kind(template.kind)}; {_ALLOWED_BY}"
            return CheckProblem("RemediationTemplateInvalid", message)
    return None


def _supports_multiple(kind: TemplateKind) -> bool:
    return not kind.unreadable and all(template.supports_multiple for template in kind.templates.values())
