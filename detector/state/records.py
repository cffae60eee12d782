"""CheckRecord: a health check as the API server stores it, read so loosely that a bad one does not hide."""

from typing import Any

from pydantic import Field

from health.gate.health_check import HealthCheck, InvalidCheckError
from health.kinds.check_kind import CheckKind
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata


class CheckRecord(FrozenObject):
    """Spec and status are kept as they are; the kind's parser judges the spec."""

    api_version: str = ""
    """The version that it was read in."""
    metadata: ObjectMetadata
    spec: dict[str, Any] = Field(default_factory=dict)
    status: dict[str, Any] = Field(default_factory=dict)

    def says_the_same(self, other: "CheckRecord") -> bool:
        """Whether what a parser goes by is the same: a status that moves on is nothing new."""
        ours, theirs = self.metadata, other.metadata
        is_same_version = self.api_version == other.api_version
        return is_same_version and (ours.generation, ours.annotations) == (
            theirs.generation,
            theirs.annotations,
        )

    def parse(self, kind: CheckKind) -> HealthCheck | InvalidCheckError:
        """The check, or what is wrong with it."""
        try:
            return kind.parse({"apiVersion": self.api_version, "metadata": self.metadata, "spec": self.spec})
        except InvalidCheckError as error:
            return error
