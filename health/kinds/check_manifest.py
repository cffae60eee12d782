"""The check in a file, before the API server has filled in its defaults."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from objects.field_problem import quoted
from objects.group_kind import GroupKind


class ManifestError(Exception):
    """The content is no check; the message names the field and its value."""


@dataclass(frozen=True)
class CheckManifest:
    """The kind, name and content of a check."""

    kind: CheckKind
    reference: CheckReference
    body: Mapping[str, Any]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "CheckManifest":
        """The check in this content.

        Raises:
            ManifestError: it is of another kind, or has no name.

        """
        group = str(content.get("apiVersion", "")).rpartition("/")[0]
        found_kind = content.get("kind")
        kind = CHECK_KINDS.get(GroupKind(group, str(found_kind)))
        if kind is None:
            kinds = ", ".join(f"{kind.kind} of {kind.group}" for kind in CHECK_KINDS.values())
            found = f"{quoted(found_kind)} of {quoted(group) if group else 'no group'}"
            raise ManifestError(f"kind: must be a ConfigMap with the policy, or {kinds} (found {found})")
        metadata = mapping_at(content, "metadata")
        mapping_at(content, "spec")
        name = metadata.get("name")
        if not isinstance(name, str) or not name:
            raise ManifestError(f"metadata.name: must be the name of a check (found {quoted(name)})")
        namespace = str(metadata.get("namespace") or "default") if kind.is_namespaced else ""
        reference = CheckReference(kind=kind.kind, group=kind.group, namespace=namespace, name=name)
        return cls(kind, reference, content)


def mapping_at(content: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """The mapping in a field, empty without the field; raises ManifestError for another value."""
    found = content.get(field) or {}
    if not isinstance(found, Mapping):
        raise ManifestError(f"{field}: must be a mapping (found {quoted(found)})")
    return found
