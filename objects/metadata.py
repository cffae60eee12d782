"""ObjectMetadata: the part of a Kubernetes object's metadata that decisions need."""

from pydantic import AwareDatetime, Field

from objects.frozen import FrozenObject


class OwnerReference(FrozenObject):
    """Who an object belongs to, and is collected with."""

    api_version: str
    kind: str
    name: str
    uid: str


class ObjectMetadata(FrozenObject):
    """Identity, ownership and marks of one object."""

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
