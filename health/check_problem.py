"""CheckProblem: why what is around a check keeps it as a whole from working, as its condition Disabled says.

Status, Events and admission are made from this one value. It holds new requests and next steps; targets are
still counted, and what exists is cleaned up and marked (decisions 7 and 17).
"""

from dataclasses import dataclass

from health.observation import Hold, HoldReason


@dataclass(frozen=True)
class CheckProblem:
    """Reason and message of the condition."""

    reason: str
    message: str

    @property
    def hold(self) -> Hold:
        """What it means for an incident of the check."""
        return Hold(reason=HoldReason.DISABLED, message=f"{self.reason}: {self.message}")
