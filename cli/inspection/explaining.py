"""Explains one target of a cluster under every check that selects it."""

from datetime import datetime

from cli.inspection.connecting import ClusterChoice, reading_cluster
from cli.inspection.explanation_view import ExplanationView
from cli.inspection.progress import read_progress
from cli.inspection.targets import selected
from detector.inspection.explanation import explain
from detector.inspection.inspection import Inspection
from health.model.invalid_check import InvalidCheckError
from objects.frozen import Frozen


class Explanations(Frozen):
    """The explanations of one target, one for each check that selects it; the fields are its JSON."""

    cluster: str
    at: datetime
    checks: tuple[ExplanationView, ...]
    invalid_checks: tuple[str, ...]
    """Checks that cannot be read: whether they select the target is unknown."""
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
        return Explanations(
            cluster=inspection.cluster_state.cluster,
            at=inspection.state.now(),
            checks=tuple(map(ExplanationView.of, found)),
            invalid_checks=tuple(_invalid(inspection)),
            unknown_approvals=unknown,
        )


def _invalid(inspection: Inspection) -> list[str]:
    checks = inspection.cluster_state.checks.items()
    return [
        f"{reference} cannot be read, so whether it selects the target is unknown: {entry.check}"
        for reference, entry in checks
        if isinstance(entry.check, InvalidCheckError)
    ]
