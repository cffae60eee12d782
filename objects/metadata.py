"""ObjectMetadata: the metadata of a Kubernetes object, as far as we read it."""

from datetime import datetime
from typing import Any

from pydantic import AwareDatetime, Field

from objects.frozen import FrozenObject


class OwnerReference(FrozenObject):
    """An owner of an object; garbage collection deletes the object after its owners."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class ManagedFields(FrozenObject):
    """One entry of metadata.managedFields, as far as we use it."""

    manager: str | None = None
    subresource: str | None = None
    time: datetime | None = None
    fields_v1: dict[str, Any] = Field(default_factory=dict, alias="fieldsV1")

    def has_set(self, annotation: str) -> bool:
        """True if this manager was the last to set the annotation."""
        return f"f:{annotation}" in self.fields_v1.get("f:metadata", {}).get("f:annotations", {})


class ObjectMetadata(FrozenObject):
    """Identity, owners, labels and annotations of an object."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: AwareDatetime
    deletion_timestamp: AwareDatetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
