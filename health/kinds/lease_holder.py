"""How a check signs the Leases that it takes, so that it knows its own, and others whose it is."""

from health.model.references import CheckReference


def holder_of(check: CheckReference) -> str:
    """How a check signs the Lease of a target (NHC 1.8), with its namespace where it is in one.

    No name has a slash, so no two checks sign alike.
    """
    kind = check.kind_name
    return f"{kind}-{check.namespace}/{check.name}" if check.namespace else f"{kind}-{check.name}"


def turn_holder_of(check: CheckReference, target: str) -> str:
    """How a check signs the control-plane lock for a target: it may have several nodes of it."""
    return f"{holder_of(check)}/{target}"
