"""Course: what becomes of one incident while something is away, and afterwards."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Course:
    """What becomes of one incident."""

    before: str
    """Its phase when the outage begins."""
    after: str
    """Its outcome, or the phase that it stays in, by the facts as they are then."""
    requests: int
    """How many requests there ever are for it; in an escalation one a step."""
