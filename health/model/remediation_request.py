"""Remediation requests: the objects that external remediators act on, one per target and step.

The kind of the check defines the contents of a request (`new_request` in its folder). The
annotations and conditions of remediators and of the NodeHealthCheck operator are read alike on all of them.
Ours also carry the incident that made them; the detector starts the incident of a request that has none, so
no request of ours stays without an owner.
"""

import re
from collections.abc import Mapping
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
from health.model.stored_status import items, string
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
"""The number of this remediation in a row for its target; absent on the first one (rule 14)."""
BOOT_ID = "paramedic.dev/boot-id"
"""The boot ID of the Node right before the request was made; absent if the Node reported none."""

EVER = EARLIEST
"""Earlier than any delay reaches."""


class InvalidTemplateError(Exception):
    """A remediation template cannot be used; the message is the NodeHealthCheck operator's."""


class RequestCondition(FrozenObject):
    """One condition in the status of a request."""

    type: str
    status: str


def _readable(conditions: object) -> object:
    """Drop unreadable conditions: a request with a malformed status must stay visible."""
    if isinstance(conditions, tuple):
        return conditions
    found = items({"conditions": conditions}, "conditions")
    return [condition for condition in found if string(condition, "type") and string(condition, "status")]


class RequestStatus(FrozenObject):
    """The part of a request's status that we read. The remediator owns the schema, which may be loose."""

    conditions: Annotated[tuple[RequestCondition, ...], BeforeValidator(_readable)] = ()


def _object(status: object) -> object:
    return status if isinstance(status, Mapping | RequestStatus) else {}


class RequestMetadata(ObjectMetadata):
    """The metadata of a request, with the finalizers of its remediator."""

    finalizers: tuple[str, ...] = ()


class RemediationRequest(FrozenObject):
    """A request as the cluster shows it, with what its annotations say."""

    metadata: RequestMetadata
    status: Annotated[RequestStatus, BeforeValidator(_object)] = RequestStatus()

    @property
    def target_name(self) -> str:
        return self.metadata.annotations.get(NODE_NAME) or self.metadata.name

    @property
    def target_uid(self) -> str:
        """The uid of the target; "" if another operator made the request without it."""
        return self.metadata.annotations.get(TARGET_UID, "")

    @property
    def is_unsigned(self) -> bool:
        """True if the request names no incident: no incident of ours made it or adopted it yet (rule 39)."""
        return not self.metadata.annotations.get(INCIDENT)

    @property
    def is_of_operator(self) -> bool:
        """True if another operator made it. An incident that adopts it writes no uid of the target on it."""
        return not self.target_uid

    def names(self, incident: IncidentReference) -> bool:
        """True if `incident` made or adopted it: it has that annotation and no uid of another target."""
        is_of_target = self.target_uid in ("", incident.target.uid)
        return is_of_target and is_id_of(self.metadata.annotations.get(INCIDENT, ""), incident)

    @property
    def attempt(self) -> int:
        """The number of this remediation in a row for its target; 1 without a readable annotation."""
        found = re.fullmatch(r"[1-9][0-9]{0,8}", self.metadata.annotations.get(ATTEMPT, ""), re.ASCII)
        return int(found[0]) if found else 1

    @property
    def is_being_deleted(self) -> bool:
        """True if it has a deletionTimestamp: only a finalizer keeps it."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_marked_as_old(self) -> bool:
        """True if the 48 h alert was raised for it (NHC 1.6)."""
        return self.metadata.annotations.get(GREW_OLD) == GREW_OLD_FLAG

    def owner(self, kind: str, api_version: str) -> str:
        """The name of the check of that kind that owns it, "" if none does (NHC 2.4/4, not by uid)."""
        wanted = (kind, api_version)
        owners = (o.name for o in self.metadata.owner_references if (o.kind, o.api_version) == wanted)
        return next(owners, "")

    def reference(self, api_version: str, kind: str) -> RequestReference:
        """A reference to it; the caller gives the kind, because items of a list do not carry one."""
        return RequestReference(
            api_version=api_version,
            kind=kind,
            namespace=self.metadata.namespace,
            name=self.metadata.name,
            uid=self.metadata.uid,
            template=self.metadata.annotations.get(TEMPLATE_NAME, ""),
        )

    def snapshot(self, api_version: str, kind: str) -> RequestSnapshot:
        annotations = self.metadata.annotations
        return RequestSnapshot(
            reference=self.reference(api_version, kind),
            created=self.metadata.creation_timestamp,
            is_being_deleted=self.is_being_deleted,
            has_finalizers=bool(self.metadata.finalizers),
            succeeded=self._condition("Succeeded"),
            is_node_deletion_expected=self._condition("PermanentNodeDeletionExpected") is True,
            timed_out_at=as_time(annotations.get(TIMED_OUT)),
            # An unreadable stamp counts as long ago (NHC 2.6).
            healthy_since=(as_time(annotations[HEALTHY_DELAY]) or EVER)
            if HEALTHY_DELAY in annotations
            else None,
            is_flagged_as_old=self.is_marked_as_old,
            is_of_control_plane=CONTROL_PLANE_LABEL in self.metadata.labels,
            is_unsigned=self.is_unsigned,
            is_of_operator=self.is_of_operator,
            boot_id=annotations.get(BOOT_ID, ""),
        )

    def _condition(self, type_: str) -> bool | None:
        status = next((c.status for c in self.status.conditions if c.type == type_), "")
        return {"True": True, "False": False}.get(status)


class RemediationAttempt(Frozen):
    """The incident and workflow run behind a request."""

    incident: IncidentReference
    run_id: str
    number: int = 1
    """The number of this remediation in a row for the target."""


def spec_template(template: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """spec.template of a template object; None without one."""
    spec = template.get("spec")
    contents = spec.get("template") if isinstance(spec, dict) else None
    return contents if isinstance(contents, dict) else None


def without_contents(template: TemplateReference) -> str:
    """The NodeHealthCheck operator's message for a template without spec.template."""
    return f"invalid template {template.namespace}/{template.name}, didn't find spec.template.spec"


def template_contents(template: Mapping[str, Any], step: Step) -> Mapping[str, Any]:
    """spec.template.spec of a template object, {} without it.

    Raises:
        InvalidTemplateError: there is no spec.template, or its spec is no mapping.

    """
    found = spec_template(template)
    contents = None if found is None else found.get("spec", {})
    if not isinstance(contents, dict):
        raise InvalidTemplateError(without_contents(step.template))
    return contents
