"""ObjectMetadata: the part of a Kubernetes object's metadata that we read."""

from pydantic import AwareDatetime, Field

from objects.frozen import FrozenObject


class OwnerReference(FrozenObject):
    """Who an object belongs to: when it goes, garbage collection removes the object."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class ObjectMetadata(FrozenObject):
    """What identifies an object, whose it is, and what people and controllers wrote on it."""

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
