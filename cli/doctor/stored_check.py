"""StoredCheck: a health check as the API server holds it: all of it, and what it notes of its writers."""

from typing import Any

from pydantic import model_validator

from health.kinds.check_kind import CheckKind
from health.model.references import CheckReference
from health.model.status_writers import ManagedFields
from kube.decoding import Decoder
from kube.resource import Object
from objects.frozen import Frozen, FrozenObject


class StoredMetadata(FrozenObject):
    """What identifies it, and who wrote it."""

    name: str
    namespace: str = ""
    uid: str
    resource_version: str
    managed_fields: tuple[ManagedFields, ...] = ()


class StoredCheck(Frozen):
    """One version of a check of any kind."""

    metadata: StoredMetadata
    body: Object
    """All of it; it need not be a check that can be read."""

    @model_validator(mode="before")
    @classmethod
    def _keep_all(cls, stored: Any) -> Any:  # noqa: ANN401  whatever was stored
        return {"metadata": stored.get("metadata"), "body": stored} if isinstance(stored, dict) else stored


STORED_CHECKS = Decoder(StoredCheck)


def name_of(kind: CheckKind, namespace: str, name: str) -> str:
    """How a finding names a check: "MachineHealthCheck openshift-machine-api/workers"."""
    return str(CheckReference(kind=kind.kind, namespace=namespace, name=name)).replace("/", " ", 1)
