"""Why a template of a check of Machines leads to no request, or a request was refused (rules 27 and 45).

What the API server refused is told by incidents. A detector that has just begun to lead has not heard all of
those that may tell so.
"""

from health.gate.check_snapshot import CheckSnapshot
from health.gate.cluster_context import CheckProblem
from health.gate.template_validity import TemplateKinds, request_rejection, unusable
from health.model.references import TemplateReference

NOT_CREATED = "RemediationRequestCreationFailed"
"""What the operators tell of a request, one with External before it; of a template it is unusable()."""


def template_problem(
    template: TemplateReference | None, kinds: TemplateKinds, *, may_be_empty: bool = False
) -> CheckProblem | None:
    """Why no request can be made from `template`; None if one can, or there is none."""
    if template is None:
        return None
    rejection = request_rejection(template, kinds)
    problem = unusable(template, kinds, may_be_empty=may_be_empty)
    return problem or (CheckProblem(NOT_CREATED, rejection) if rejection else None)


def request_error(snapshot: CheckSnapshot) -> str:
    """Why no request can be created, or one was not; of several the first by the name of the Machine."""
    problem = snapshot.context.problem
    if problem is not None and problem.reason == NOT_CREATED:
        return problem.message
    errors = (target.request_error for _, target in sorted(snapshot.targets.items()))
    return next((error for error in errors if error), "")


def may_be_untold(snapshot: CheckSnapshot) -> bool:
    """Whether a request may have been refused, and nobody told it since this detector leads."""
    return any(not target.is_heard and not target.requests for target in snapshot.expired)
