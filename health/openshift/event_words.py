"""Words that several Events of a MachineHealthCheck share (A.1)."""

from health.references import CheckReference

REMEDIATE = "Remediate"
"""What an Event about a remediation says was being done."""
RESTRICTED = "RemediationRestricted"


def path_of(check: CheckReference, machine: str, node: str) -> str:
    """How the reference names a Machine: by its namespace, its check, and its node, there or not."""
    return f"{check.namespace}/{check.name}/{machine}/{node}"


def restricted(path: str, why: object) -> str:
    """That one Machine is held; the reference tells that of a whole check only (decisions 13 and 14)."""
    return f"Machine {path} remediation restricted: {why}"
