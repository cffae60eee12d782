"""The slim part of an object's metadata that records keep. Unknown fields are not read at all."""

from datetime import datetime

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from objects.bounds import Bounded


class PartialModel(Bounded):
    """A frozen model of a few fields of a Kubernetes object: camelCase on the wire, snake_case in Python."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")


class OwnerReference(PartialModel):
    """Who owns an object: when it goes, garbage collection removes the object."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class Metadata(PartialModel):
    """What identifies an object, and what people and controllers wrote on it."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str
    generation: int = 0
    creation_timestamp: datetime
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
