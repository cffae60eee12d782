"""Reads the findings of `paramedic doctor -o json`."""

import json
from collections.abc import Iterable

from cli.doctor.finding import Finding, FindingSeverity
from tests.support.cluster.command import Command
from tests.support.cluster.forked import Ran

OF_REMEDIATORS = {"RemediatorUsed", "RemediatorNotFound", "RemediatorFits"}
EXPECTED = OF_REMEDIATORS | {"SelectsNothing"}
"""Remediators are noted for every check, and checks of these tests have no targets."""


async def findings(doctor: Command, *arguments: str, **environment: str) -> list[Finding]:
    """All findings of one look, checked against the exit code."""
    ran = await doctor(*arguments, "doctor", "-o", "json", "--watch-for", "0", **environment)
    found = listed(ran)
    assert ran.code == (1 if any(finding.severity is not FindingSeverity.NOTE for finding in found) else 0)
    return found


def listed(ran: Ran) -> list[Finding]:
    assert ran.out, ran.err
    return [Finding.model_validate(finding) for finding in json.loads(ran.out)["findings"]]


def reasons(found: list[Finding]) -> set[str]:
    return {finding.reason for finding in found}


def without_expected(found: Iterable[Finding]) -> list[Finding]:
    """The findings besides those that every check of these tests leads to."""
    return [finding for finding in found if finding.reason not in EXPECTED]


def about(found: list[Finding], words: str) -> list[str]:
    """The reasons of those that name `words`, besides those of every check."""
    return [finding.reason for finding in without_expected(found) if words in finding.what]
