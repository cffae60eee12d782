"""Reads the findings of `paramedic doctor -o json`."""

import json

from cli.doctor.finding import Finding, FindingSeverity
from tests.support.cluster.command import Command
from tests.support.cluster.forked import Ran


async def findings(doctor: Command, *arguments: str, **environment: str) -> list[Finding]:
    """All findings of one look, checked against the exit code."""
    ran = await doctor(*arguments, "doctor", "-o", "json", **environment)
    found = listed(ran)
    assert ran.code == (1 if any(finding.severity is not FindingSeverity.NOTE for finding in found) else 0)
    return found


def listed(ran: Ran) -> list[Finding]:
    assert ran.out, ran.err
    return [Finding.model_validate(finding) for finding in json.loads(ran.out)["findings"]]


def reasons(found: list[Finding]) -> set[str]:
    return {finding.reason for finding in found}


def about(found: list[Finding], words: str) -> list[str]:
    return [finding.reason for finding in found if words in finding.what]
