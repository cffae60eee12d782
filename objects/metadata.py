"""ObjectMetadata: the metadata of a Kubernetes object, as far as we read it."""

from datetime import datetime

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

    manager: str = ""
    subresource: str = ""
    time: datetime | None = None


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
