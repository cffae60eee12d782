"""Which attempt an act makes, for the request and for what is told of it."""

from health.model.remediation_request import Attempt
from workflows.contracts import ActInput


def attempt_of(asked: ActInput) -> Attempt:
    """The incident, its run, and which remediation of the target in a row it is."""
    return Attempt(incident=asked.incident, run_id=asked.run_id, number=asked.attempt)
