"""CheckRecord: a health check as the API server stores it, read so loosely that a bad one does not hide."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic import Field

from health.gate.health_check import HealthCheck, InvalidCheckError
from health.kinds.check_kind import CheckKind
from health.model.stored_status import entries, word
from objects.frozen import FrozenObject
from objects.metadata import ObjectMetadata


class CheckRecord(FrozenObject):
    """Spec and status are kept as they are; the kind's parser judges the spec."""

    metadata: ObjectMetadata
    spec: dict[str, Any] = Field(default_factory=dict)
    status: dict[str, Any] = Field(default_factory=dict)

    @cached_property  # it is asked for each question of a thousand incidents, over a thousand entries
    def listed_request_kinds(self) -> frozenset[tuple[str, str]]:
        """Kinds, with their apiVersion, of the requests that its status lists."""
        found = set()
        for node in entries(self.status, "unhealthyNodes"):
            for remediation in entries(node, "remediations"):
                resource = remediation.get("resource")
                if isinstance(resource, Mapping):
                    found.add((word(resource, "apiVersion"), word(resource, "kind")))
        return frozenset(kind for kind in found if all(kind))

    def says_the_same(self, other: "CheckRecord") -> bool:
        """Whether what a parser goes by is the same: a status that moves on is nothing new."""
        ours, theirs = self.metadata, other.metadata
        return (ours.generation, ours.annotations) == (theirs.generation, theirs.annotations)

    def parse(self, kind: CheckKind) -> HealthCheck | InvalidCheckError:
        """The check, or what is wrong with it."""
        try:
            return kind.parse({"metadata": self.metadata, "spec": self.spec})
        except InvalidCheckError as error:
            return error
