"""The global stop: an annotation on the namespace of the Leases holds every new action (rule 42).

It works without Temporal and without the detector, because each act reads it too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from health.model.observation import Hold, HoldReason
from objects.frozen import FrozenObject
from objects.metadata import ManagedFields, ObjectMetadata

STOP = "paramedic.dev/stop"


@dataclass(frozen=True)
class Stop:
    """A person's order to stop everything, with its reason."""

    reason: str
    version: str = ""
    """The resourceVersion of the namespace: distinguishes an order from an earlier one of the same text."""

    @classmethod
    def of(cls, annotations: Mapping[str, str], version: str = "") -> Self | None:
        """The order in the annotations of the namespace; None without one."""
        return cls(annotations[STOP], version) if STOP in annotations else None

    @property
    def words(self) -> str:
        return f"stopped in the whole cluster: {self.reason or 'no reason is given'}"

    @property
    def hold(self) -> Hold:
        return Hold(reason=HoldReason.STOPPED, message=self.words)


class _Metadata(ObjectMetadata):
    managed_fields: tuple[ManagedFields, ...] = ()


class LeaseNamespace(FrozenObject):
    """The namespace of the Leases, which may carry the annotation."""

    metadata: _Metadata

    @property
    def stop(self) -> Stop | None:
        return Stop.of(self.metadata.annotations, self.metadata.resource_version)

    @property
    def stopped_since(self) -> datetime | None:
        """When the annotation was last changed, by its managedFields; None: unknown."""
        times = [entry.time for entry in self.metadata.managed_fields if entry.time and entry.has_set(STOP)]
        return max(times, default=None) if self.stop else None
