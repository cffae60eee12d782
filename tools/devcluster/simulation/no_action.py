"""A step of a simulated controller that changes nothing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NoAction:
    """The object is as it should be, or another controller acts next."""
