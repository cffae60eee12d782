"""The file that `paramedic simulate` reads: a health check of any kind, or a policy."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from cli.shared.errors import UsageError
from cli.shared.policy_file import policy_in, read_file
from detector.state.check_state import CheckRecord
from health.kinds.check_kind import CheckKind
from health.kinds.registry import CHECK_KINDS
from health.model.invalid_check import problem_of
from health.model.references import CheckReference
from health.policy.policy_document import InvalidPolicyError, PolicyDocument
from objects.group_kind import GroupKind
from objects.timestamps import stamp
from objects.yaml_document import NoDocumentError, read_document

SIMULATED_UID = "simulated"


@dataclass(frozen=True)
class SimulatedCheck:
    """A check from a file, before the API server has filled in its defaults."""

    kind: CheckKind
    reference: CheckReference
    body: Mapping[str, Any]

    def record(self, body: Mapping[str, Any], stored: CheckRecord | None, now: datetime) -> CheckRecord:
        """The record of `body`, with the identity and status of the stored check of its name.

        Raises:
            UsageError: the check cannot be read; names the field and its value.

        """
        identity = {
            "name": self.reference.name,
            "namespace": self.reference.namespace,
            "uid": stored.metadata.uid if stored else SIMULATED_UID,
            "creationTimestamp": stamp(stored.metadata.creation_timestamp if stored else now),
            "generation": stored.metadata.generation + 1 if stored else 1,
        }
        metadata = {**_mapping(body, "metadata"), **identity}
        status = stored.status if stored else {}
        try:
            return CheckRecord.model_validate({**body, "metadata": metadata, "status": status})
        except ValidationError as error:
            raise UsageError(str(problem_of(error.errors()[0]))) from error


def read_simulated(file: str) -> SimulatedCheck | PolicyDocument:
    """The check or the policy in the file; - is standard input.

    Raises:
        UsageError: the file cannot be read, or is neither; names the field and its value.

    """
    try:
        text = read_file(file)
        content: Mapping[str, Any] = {}
        with suppress(NoDocumentError):  # the policy's parser reports it
            content = read_document(text)
        if "kind" not in content or content["kind"] == "ConfigMap":
            return policy_in(text)
        return _check(content)
    except (InvalidPolicyError, UsageError) as error:
        raise UsageError(f"{file}: {error}") from error


def _check(content: Mapping[str, Any]) -> SimulatedCheck:
    group = str(content.get("apiVersion", "")).rpartition("/")[0]
    kind = CHECK_KINDS.get(GroupKind(group, str(content["kind"])))
    if kind is None:
        known = ", ".join(f"{kind.kind} of {kind.group}" for kind in CHECK_KINDS.values())
        found = f"{content['kind']} of {group or 'no group'}"
        raise UsageError(f"kind: must be a ConfigMap with the policy, or {known} (found {found})")
    metadata = _mapping(content, "metadata")
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise UsageError(f"metadata.name: must be the name of a check (found {name!r})")
    namespace = str(metadata.get("namespace") or "default") if kind.is_namespaced else ""
    reference = CheckReference(kind=kind.kind, group=kind.group, namespace=namespace, name=name)
    return SimulatedCheck(kind, reference, content)


def _mapping(content: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    found = content.get(field) or {}
    if not isinstance(found, Mapping):
        raise UsageError(f"{field}: must be a mapping (found {found!r})")
    return found
