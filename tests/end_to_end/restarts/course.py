"""The expected course of one incident during and after an outage."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Course:
    before: str
    """Its phase when the outage begins."""
    after: str
    """Its outcome, or the phase in which it stays, according to the facts after the outage."""
    requests: int
    """How many requests it creates in all; in an escalation, one for each step."""
