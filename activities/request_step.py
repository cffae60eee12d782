"""RequestStep: makes the remediation request of a step from the live template and the rules of its kind.

Names are deterministic, so a repeated attempt finds its own request; any other object with the name is a
hold. A create has no precondition: a target that recovers between the revalidation and the create gets a
request that the incident deletes within seconds.
"""

import asyncio
from collections.abc import Sequence

from activities.kind_activities import ActionDependencies, StepGuard, TemplateUse
from activities.known_requests import is_own
from activities.registry import KIND_ACTIVITIES
from activities.revalidation import Confirmed, not_true, refuse_unapproved
from activities.step_result import ASK_AGAIN_SECONDS, StepHeld, StepResult, not_created
from health.check.template_validity import Template
from health.kinds.request_kinds import why_no_requests_of
from health.model.invalid_check import InvalidCheckError
from health.model.observation import Hold, HoldReason
from health.model.references import IncidentReference, TemplateReference
from health.model.remediation_request import (
    BOOT_ID,
    CONTROL_PLANE_LABEL,
    TEMPLATE_NAME,
    InvalidTemplateError,
    RemediationRequest,
)
from health.model.target import facts_of_node
from health.policy.check_choices import TemplateChoices
from kube.errors import AlreadyExists, KindUnknown, KubernetesError, NotFound
from kube.resource import Object, Resource
from workflows.contracts import ActInput, ActResult

TEMPLATE_SECONDS = 15.0
"""The requeue time of the operator for a missing template; the detector wakes the incident earlier."""


class RequestStep:
    """The action Action.REQUEST, which all kinds share, with the guards of the registry."""

    def __init__(self, dependencies: ActionDependencies, guards: Sequence[StepGuard]) -> None:
        connection, self._revalidation, self._lease_guard = dependencies
        self._client, self._discovery = connection.client, connection.discovery
        self._live = self._revalidation.live
        self._guards = guards

    async def take(self, act: ActInput) -> StepResult:
        """Make the request, unless it exists by now.

        Raises:
            StepHeld: nothing was done.
            KubernetesError: the API server could not be asked, or refused.

        """
        began = self._lease_guard.begin()
        confirmed, template = await asyncio.gather(
            self._revalidation.confirm(act), self._template(act.step.template)
        )
        confirmed.refuse_other_step(act)
        _refuse_unapproved(act, template)
        for guard in self._guards:
            await guard.refuse(act, confirmed.target)
        body = await self._new_request(act, confirmed, template)
        _refuse_kind(act.step.template)
        resource = await self._served(body["apiVersion"], body["kind"])
        async with self._lease_guard.lease(act, confirmed, began) as acquired:
            request = await self._create(resource, body, act, began)
        snapshot = request.snapshot(resource.api_version, resource.kind)
        return StepResult(ActResult.requested(snapshot, acquired))

    async def _template(self, reference: TemplateReference) -> Object:
        try:
            resource = await self._discovery.resource(reference.api_version, reference.kind)
            return await self._live.shared.get(resource, reference.name, reference.namespace)
        except NotFound as error:
            if isinstance(error, KindUnknown):  # the cached discovery is old
                self._discovery.forget(reference.api_version)
            raise _unusable(f'Remediation template not found: "{error.message}"') from error

    async def _new_request(self, act: ActInput, confirmed: Confirmed, template: Object) -> Object:
        kind = KIND_ACTIVITIES[act.incident.check.group_kind]
        try:
            body = await kind.new_request(self._live, TemplateUse(act, confirmed, template))
        except InvalidTemplateError as error:
            raise _unusable(f'Remediation template is invalid: "{error}"') from error
        boot_id = facts_of_node(confirmed.target).boot_id
        if boot_id:
            body["metadata"]["annotations"][BOOT_ID] = boot_id
        if confirmed.takes_turns(act):
            body["metadata"]["labels"] = body["metadata"]["labels"] | {CONTROL_PLANE_LABEL: ""}
        return body

    async def _served(self, api_version: str, kind: str) -> Resource:
        try:
            return await self._discovery.resource(api_version, kind)
        except KindUnknown as error:
            raise not_created(error) from error

    async def _create(
        self, resource: Resource, body: Object, act: ActInput, began: float
    ) -> RemediationRequest:
        try:
            return await self._created_or_met(resource, body, act)
        except KindUnknown:
            raise
        except NotFound:  # the object of that name disappeared between the two calls
            self._lease_guard.refuse_old_facts(act, began)
            return await self._created_or_met(resource, body, act)

    async def _created_or_met(self, resource: Resource, body: Object, act: ActInput) -> RemediationRequest:
        """The created request, or the existing one of that name.

        Raises NotFound if that one disappears meanwhile.
        """
        namespace = body["metadata"]["namespace"]
        try:
            return RemediationRequest.model_validate(await self._client.create(resource, body, namespace))
        except AlreadyExists:
            found = await self._client.get(resource, body["metadata"]["name"], namespace)
        except KubernetesError as error:
            if isinstance(error, KindUnknown):  # the cached discovery is old
                self._discovery.forget(resource.api_version)
            raise not_created(error) from error
        existing = RemediationRequest.model_validate(found)
        hold = _objection(existing, act.incident, act.step.template)
        if hold is not None:
            raise StepHeld(hold)
        return existing


def _refuse_unapproved(act: ActInput, template: Object) -> None:
    try:
        choices = TemplateChoices.of(template["metadata"].get("annotations") or {})
    except InvalidCheckError as error:
        raise _unusable(f'Remediation template is invalid: "{error}"') from error
    if choices.require_approval:
        refuse_unapproved(act, act.step.template)
    if act.approved_version not in ("", Template.model_validate(template).version):
        raise not_true(f"{act.step.template} was edited since its approval")


def _refuse_kind(template: TemplateReference) -> None:
    """Refuse a kind that cannot be a request: clean_up would refuse to delete such an object."""
    if why := why_no_requests_of(template):
        raise _unusable(f'Remediation template is invalid: "{why}"')


def _unusable(message: str) -> StepHeld:
    return StepHeld.because(HoldReason.TEMPLATE, message, ask_again_seconds=TEMPLATE_SECONDS)


def _objection(
    existing: RemediationRequest, incident: IncidentReference, template: TemplateReference
) -> Hold | None:
    """Why an existing request is not the incident's own; None: it is its own."""
    name = existing.metadata.name
    if not is_own(existing, incident):
        return _taken(HoldReason.TAKEN_BY_REQUEST, f"request {name} exists and belongs to another owner")
    if existing.target_uid not in ("", incident.target.uid):
        return _taken(HoldReason.EARLIER_REQUEST, f"request {name} of an earlier target still exists")
    if existing.metadata.annotations.get(TEMPLATE_NAME, "") not in ("", template.name):
        return _taken(HoldReason.EARLIER_REQUEST, f"request {name} of an earlier template still exists")
    if existing.is_being_deleted:
        return _taken(HoldReason.EARLIER_REQUEST, f"request {name} is being deleted")
    return None


def _taken(reason: HoldReason, message: str) -> Hold:
    return Hold(reason=reason, message=message, ask_again_seconds=ASK_AGAIN_SECONDS)
