"""Why a template of a Machine check leads to no request, or a request was refused (rules 27 and 45).

Incidents report refusals of the API server. A new leader has not yet received all reports.
"""

from health.check.check_snapshot import CheckSnapshot
from health.check.template_validity import TemplateKinds, request_rejection, unusable
from health.cluster.cluster_context import CheckProblem
from health.model.references import TemplateReference

NOT_CREATED = "RemediationRequestCreationFailed"
"""The reason that the operators give for a request, with the prefix External for one API; see unusable() for
templates."""


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
    """Why no request can be created, or one was refused; of several the first by the name of the Machine."""
    problem = snapshot.holds.problem
    if problem is not None and problem.reason == NOT_CREATED:
        return problem.message
    errors = (target.request_error for _, target in sorted(snapshot.targets.items()))
    return next((error for error in errors if error), "")


def may_be_unreported(snapshot: CheckSnapshot) -> bool:
    """True if a request may have been refused and no incident has reported to this leader yet."""
    return any(not target.is_heard and not target.requests for target in snapshot.expired)
