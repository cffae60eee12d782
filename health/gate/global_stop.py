"""The global stop: an annotation on the namespace of the Leases holds everything new (rule 42).

It works while Temporal is down, and without the detector: each act looks at it as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from pydantic import Field

from health.model.observation import Hold, HoldReason
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata

STOP = "paramedic.dev/stop"


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


class _ManagedFields(FrozenObject):
    time: datetime | None = None
    fields_v1: dict[str, Any] = Field(default_factory=dict, alias="fieldsV1")

    @property
    def has_stop(self) -> bool:
        """Whether its manager was the last to set the annotation."""
        annotations = self.fields_v1.get("f:metadata", {}).get("f:annotations", {})
        return f"f:{STOP}" in annotations


class _Metadata(ObjectMetadata):
    managed_fields: tuple[_ManagedFields, ...] = ()


class LeaseNamespace(FrozenObject):
    """The namespace that may carry the annotation."""

    metadata: _Metadata

    @property
    def stop(self) -> Stop | None:
        """The order that it gives."""
        return Stop.of(self.metadata.annotations, self.metadata.resource_version)

    @property
    def stopped_since(self) -> datetime | None:
        """When the annotation was set or changed last, as the API server notes it; None: unknown."""
        times = [entry.time for entry in self.metadata.managed_fields if entry.has_stop and entry.time]
        return max(times, default=None) if self.stop else None
