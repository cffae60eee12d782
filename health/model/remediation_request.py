"""Remediation requests: the objects that external remediators act on, one per target and step.

What one contains is said by the kind of its check (`remediation_request.py` in its folder). What remediators
and the NodeHealthCheck operator write on requests is read alike on all of them. Beyond that ours carry the
incident that made them, so that nothing of ours is ever without an owner: the detector starts the incident of
a request that has none.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator

from health.model.references import (
    IncidentReference,
    RequestReference,
    Step,
    TemplateReference,
    is_id_of,
)
from health.model.request_snapshot import RequestSnapshot
from health.model.stored_status import entries, word
from objects.bounds import EARLIEST
from objects.frozen import Frozen, FrozenObject
from objects.metadata import ObjectMetadata
from objects.timestamps import as_time

NODE_NAME = "remediation.medik8s.io/node-name"
TEMPLATE_NAME = "remediation.medik8s.io/template-name"
TIMED_OUT = "remediation.medik8s.io/nhc-timed-out"
HEALTHY_DELAY = "remediation.medik8s.io/healthy-delay"
GREW_OLD = "nodehealthcheck.medik8s.io/old-remediation-cr-flag"
GREW_OLD_FLAG = "flagon"
MULTIPLE_TEMPLATES = "remediation.medik8s.io/multiple-templates-support"
CONTROL_PLANE_LABEL = "remediation.medik8s.io/isControlPlaneNode"
INCIDENT = "paramedic.dev/incident"
TARGET_UID = "paramedic.dev/target-uid"
ATTEMPT = "paramedic.dev/attempt"
"""Which remediation of its target in a row it is; left out of the first one (rule 14)."""
BOOT_ID = "paramedic.dev/boot-id"
"""The boot ID that the Node of its target had right before it was made; left out where that said none."""

EVER = EARLIEST
"""Longer ago than any delay."""


class InvalidTemplateError(Exception):
    """A remediation template cannot be used; the message is the NodeHealthCheck operator's."""


class RequestCondition(FrozenObject):
    """One condition of a request's status."""

    type: str
    status: str


def _readable(conditions: object) -> object:
    """Those that are conditions: a request that its remediator spoils must not vanish from sight."""
    if isinstance(conditions, tuple):
        return conditions
    found = entries({"conditions": conditions}, "conditions")
    return [one for one in found if word(one, "type") and word(one, "status")]


class RequestStatus(FrozenObject):
    """The part of a request's status that we read; its schema is the remediator's, and may be loose."""

    conditions: Annotated[tuple[RequestCondition, ...], BeforeValidator(_readable)] = ()


def _object(status: object) -> object:
    return status if isinstance(status, Mapping | RequestStatus) else {}


class RemediationRequest(FrozenObject):
    """A request as the cluster shows it."""

    metadata: ObjectMetadata
    status: Annotated[RequestStatus, BeforeValidator(_object)] = RequestStatus()

    @property
    def target_name(self) -> str:
        """The Node or Machine it is for."""
        return self.metadata.annotations.get(NODE_NAME) or self.metadata.name

    @property
    def target_uid(self) -> str:
        """The uid it is for; "" where another operator made it and did not say."""
        return self.metadata.annotations.get(TARGET_UID, "")

    @property
    def is_unsigned(self) -> bool:
        """Whether it names no incident: none of ours made it, or adopted it yet (rule 39)."""
        return not self.metadata.annotations.get(INCIDENT)

    @property
    def is_of_operator(self) -> bool:
        """Whether another operator made it; an incident that adopts it writes no uid of the target on it."""
        return not self.target_uid

    def names(self, incident: IncidentReference) -> bool:
        """Whether `incident` made or adopted it: it carries that name, and no uid of another target."""
        is_of_target = self.target_uid in ("", incident.target.uid)
        return is_of_target and is_id_of(self.metadata.annotations.get(INCIDENT, ""), incident)

    @property
    def attempt(self) -> int:
        """Which remediation of its target in a row it is; 1 where nothing readable says so."""
        found = re.fullmatch(r"[1-9][0-9]{0,8}", self.metadata.annotations.get(ATTEMPT, ""), re.ASCII)
        return int(found[0]) if found else 1

    @property
    def is_being_deleted(self) -> bool:
        """Whether only a finalizer keeps it."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_marked_as_old(self) -> bool:
        """Whether the 48 h alert was raised for it (NHC 1.6)."""
        return self.metadata.annotations.get(GREW_OLD) == GREW_OLD_FLAG

    def owner(self, kind: str, api_version: str) -> str:
        """The name of the check of that kind that owns it, "" if none does (NHC 2.4/4, not by uid)."""
        return next(
            (
                o.name
                for o in self.metadata.owner_references
                if (o.kind, o.api_version) == (kind, api_version)
            ),
            "",
        )

    def reference(self, api_version: str, kind: str) -> RequestReference:
        """A reference to it; items of a list do not say their kind themselves."""
        return RequestReference(
            api_version=api_version,
            kind=kind,
            namespace=self.metadata.namespace,
            name=self.metadata.name,
            uid=self.metadata.uid,
            template=self.metadata.annotations.get(TEMPLATE_NAME, ""),
        )

    def snapshot(self, api_version: str, kind: str) -> RequestSnapshot:
        """What there is to know of it."""
        annotations = self.metadata.annotations
        return RequestSnapshot(
            reference=self.reference(api_version, kind),
            created=self.metadata.creation_timestamp,
            is_being_deleted=self.is_being_deleted,
            succeeded=self._condition("Succeeded"),
            is_node_deletion_expected=self._condition("PermanentNodeDeletionExpected") is True,
            timed_out_at=as_time(annotations.get(TIMED_OUT)),
            healthy_since=_healthy_since(annotations.get(HEALTHY_DELAY)),
            is_flagged_as_old=self.is_marked_as_old,
            is_of_control_plane=CONTROL_PLANE_LABEL in self.metadata.labels,
            is_unsigned=self.is_unsigned,
            is_of_operator=self.is_of_operator,
            boot_id=annotations.get(BOOT_ID, ""),
        )

    def _condition(self, type_: str) -> bool | None:
        status = next((c.status for c in self.status.conditions if c.type == type_), "")
        return {"True": True, "False": False}.get(status)


def _healthy_since(text: str | None) -> datetime | None:
    """Since when the target is healthy; a stamp that cannot be read keeps nothing (NHC 2.6)."""
    return None if text is None else as_time(text) or EVER


class Attempt(Frozen):
    """Which attempt a request is: the incident and the workflow run."""

    incident: IncidentReference
    run_id: str
    number: int = 1
    """Which remediation of the target in a row it is."""


def contents_of(spec: object) -> Mapping[str, Any] | None:
    """spec.template.spec, by the `spec` of a template; {} if it has none, None without a spec.template."""
    template = spec.get("template") if isinstance(spec, dict) else None
    contents = template.get("spec", {}) if isinstance(template, dict) else None
    return contents if isinstance(contents, dict) else None


def without_contents(template: TemplateReference) -> str:
    """What is wrong with a template that has no spec.template, in the NodeHealthCheck operator's words."""
    return f"invalid template {template.namespace}/{template.name}, didn't find spec.template.spec"


def template_contents(template: Mapping[str, Any], step: Step) -> Mapping[str, Any]:
    """spec.template.spec of a template object.

    Raises:
        InvalidTemplateError: it is not there.

    """
    contents = contents_of(template.get("spec"))
    if contents is None:
        raise InvalidTemplateError(without_contents(step.template))
    return contents
