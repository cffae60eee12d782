"""Remediation requests for Nodes: the contents that remediators read (NHC 2.4/3)."""

import hashlib
from collections.abc import Mapping
from typing import Any

from health.model.node import Node
from health.model.references import Step
from health.model.remediation_request import (
    ATTEMPT,
    INCIDENT,
    MULTIPLE_TEMPLATES,
    NODE_NAME,
    TARGET_UID,
    TEMPLATE_NAME,
    RemediationAttempt,
    template_contents,
)
from objects.metadata import OwnerReference

PART_OF = {"app.kubernetes.io/part-of": "node-healthcheck-controller"}
_LONGEST_NAME = 253
_HASH_LENGTH = 10


def new_request(  # noqa: PLR0913  each is one of the live objects that the contents are made from
    attempt: RemediationAttempt,
    step: Step,
    *,
    template: Mapping[str, Any],
    check: OwnerReference,
    machine: OwnerReference | None,
    node: Node,
) -> dict[str, Any]:
    owners = [check.model_dump(by_alias=True)]
    if machine is not None:
        owners.append(machine.model_dump(by_alias=True, exclude={"controller"}))
    metadata = {
        "name": request_name(attempt, template),
        # The generateName that the operator would use for a name with a hash (NHC 2.4/3).
        **({"generateName": _prefix(attempt)} if is_one_of_several(template) else {}),
        "namespace": step.template.namespace,
        "labels": PART_OF,
        "annotations": {
            NODE_NAME: node.metadata.name,
            TEMPLATE_NAME: step.template.name,
            INCIDENT: attempt.incident.full_id,
            TARGET_UID: node.metadata.uid,
        }
        | ({ATTEMPT: str(attempt.number)} if attempt.number > 1 else {}),
        "ownerReferences": owners,
    }
    return {
        "apiVersion": step.template.api_version,
        "kind": step.template.request_kind,
        "metadata": metadata,
        "spec": template_contents(template, step),
    }


def request_name(attempt: RemediationAttempt, template: Mapping[str, Any]) -> str:
    """The target's name, with a hash if the template allows several requests for one target.

    The server never generates it, because a repeated attempt must find its own request. The hash uses the
    template and not the number of the step, because an edit of the check changes the numbers.
    """
    if not is_one_of_several(template):
        return attempt.incident.target.name
    seed = f"{attempt.incident.workflow_id}\n{attempt.run_id}\n{template['metadata']['name']}"
    suffix = hashlib.sha256(seed.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{_prefix(attempt)}{suffix}"


def _prefix(attempt: RemediationAttempt) -> str:
    # A cut name must not end in a character that is invalid before a hyphen.
    return f"{attempt.incident.target.name[: _LONGEST_NAME - _HASH_LENGTH - 1].rstrip('.-')}-"


def is_one_of_several(template: Mapping[str, Any]) -> bool:
    """True if the template allows several requests for one target."""
    return MULTIPLE_TEMPLATES in (template["metadata"].get("annotations") or {})
