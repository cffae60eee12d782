"""The global stop: an annotation on the namespace of the Leases holds everything new (rule 42).

It works while Temporal is down, and without the detector: each act looks at it as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from health.model.observation import Hold, HoldReason
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata

STOP = "paramedic.dev/stop"


class LeaseNamespace(FrozenObject):
    """The namespace that may carry the annotation."""

    metadata: ObjectMetadata


@dataclass(frozen=True)
class Stop:
    """An order to stop."""

    reason: str
    version: str = ""
    """The resourceVersion of the namespace: tells an order from an earlier one of the same words."""

    @classmethod
    def of(cls, annotations: Mapping[str, str], version: str = "") -> Self | None:
        """The order that the annotations of the namespace give, None if they give none."""
        return cls(annotations[STOP], version) if STOP in annotations else None

    @property
    def words(self) -> str:
        """The order for people."""
        return f"stopped in the whole cluster: {self.reason or 'no reason is given'}"

    @property
    def hold(self) -> Hold:
        """What it means for an incident."""
        return Hold(reason=HoldReason.STOPPED, message=self.words)
