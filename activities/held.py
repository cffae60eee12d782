"""Held: how an activity says that it did nothing, and why; answered to the incident, never retried."""

from typing import Self

from health.observation import Hold, HoldReason

ASK_AGAIN_SECONDS = 60.0
"""As the reference's requeue, for what people or other controllers must end."""


class Held(Exception):
    """Nothing was done; carries the hold that the activity answers with."""

    def __init__(self, hold: Hold) -> None:
        self.hold = hold
        super().__init__(str(hold))

    @classmethod
    def because(cls, reason: HoldReason, message: str, *, ask_again_seconds: float) -> Self:
        """A hold made on the spot."""
        return cls(Hold(reason=reason, message=message, ask_again_seconds=ask_again_seconds))
