"""Explains one target of a cluster under every check that selects it."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from pydantic import Field

from cli.inspection.connecting import ClusterChoice, reading_cluster
from cli.inspection.explanation_view import ExplanationView
from cli.inspection.progress import read_progress
from cli.inspection.targets import selected
from detector.inspection.explanation import explain
from detector.inspection.inspection import Inspection
from health.model.invalid_check import InvalidCheckError
from health.model.references import CheckReference
from objects.frozen import Frozen


class Explanations(Frozen):
    """The explanations of one target, one for each check that selects it; the fields are its JSON."""

    cluster: str
    at: datetime
    checks: tuple[ExplanationView, ...]
    invalid_checks: tuple[str, ...]
    """Checks that cannot be read, with the errors: whether they select the target is unknown."""
    unread_checks: tuple[str, ...] = Field(default=(), exclude=True)
    """The names of these checks."""
    unknown_approvals: tuple[str, ...]
    """Why the approvals of incidents could not be read; their steps then count as not approved."""


async def explanations(choice: ClusterChoice, name: str) -> Explanations:
    """Explain the target of that name.

    Raises:
        CommandError: nothing has that name, or the cluster cannot be read.

    """
    async with reading_cluster(choice) as inspection:
        targets = selected(inspection, name)
        incidents = (inspection.incident(check.reference, target) for check, target in targets)
        unknown = await read_progress(inspection, incidents)
        found = [explain(inspection, check, target) for check, target in targets]
        invalid = _invalid(inspection)
        return Explanations(
            cluster=inspection.cluster_state.cluster,
            at=inspection.state.now(),
            checks=tuple(map(ExplanationView.of, found)),
            invalid_checks=tuple(_words(invalid)),
            unread_checks=tuple(str(reference) for reference, _ in invalid),
            unknown_approvals=unknown,
        )


def nothing_selects(name: str, unread_checks: Sequence[str]) -> str:
    """One sentence about a target that no check is known to select."""
    if not unread_checks:
        return f"no check selects {name!r}, so nothing is done if it fails"
    unread = ", ".join(unread_checks)
    return f"no check that can be read selects {name!r}; whether {unread} selects it is unknown"


def _invalid(inspection: Inspection) -> list[tuple[CheckReference, InvalidCheckError]]:
    checks = inspection.cluster_state.checks.items()
    return [
        (reference, entry.check) for reference, entry in checks if isinstance(entry.check, InvalidCheckError)
    ]


def _words(invalid: Iterable[tuple[CheckReference, InvalidCheckError]]) -> Iterator[str]:
    for reference, error in invalid:
        yield f"{reference} cannot be read, so whether it selects the target is unknown: {error}"
