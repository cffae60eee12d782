"""act: take one step of a remediation, if all facts behind its admission still hold.

An earlier request of the incident is the answer, if it still exists. Otherwise the act takes the action of
the step: a request, which all kinds share, or one of the actions of its kind. Each action has the same
stages: read and compare (`revalidation`), guard, acquire the Lease of the target (`target_lease`), write.
"""

import asyncio

from pydantic import ValidationError
from temporalio import activity

from activities.attempt import (
    Clock,
    FactAge,
    InputRefused,
    StepHeld,
    StepResult,
    hold_of,
    stale,
    waited_too_long,
)
from activities.etcd import Etcd
from activities.event_recorder import LONGEST, EventRecorder
from activities.kind_activities import ConfirmedStep, TargetGone
from activities.registry import KIND_ACTIVITIES
from activities.requests import OwnRequests
from activities.revalidation import Revalidation, not_true, refuse_unapproved
from activities.target_lease import TargetLeases
from health.check.same_boot import SAME_BOOT
from health.check.template_validity import Template
from health.cluster.cluster_context import ClusterContext
from health.gate.back_off import LostRequest
from health.kinds.registry import CHECK_KINDS, why_no_requests_of
from health.model.boot import is_same_boot
from health.model.invalid_check import InvalidCheckError
from health.model.node import facts_of_node
from health.model.observation import HoldReason, failed
from health.model.references import Action, TemplateReference
from health.model.remediation_request import (
    BOOT_ID,
    CONTROL_PLANE_LABEL,
    TEMPLATE_NAME,
    InvalidTemplateError,
    RemediationRequest,
)
from health.policy.check_choices import TemplateChoices
from kube.errors import AlreadyExists, Forbidden, KindUnknown, KubernetesError, NotFound
from kube.resource import Object, Resource
from objects.durations import in_words
from objects.event import Event, Severity
from objects.field_problem import FieldProblem
from workflows.contracts import ACT, ActInput, ActResult, RequestExists

TEMPLATE_SECONDS = 15.0
"""The requeue time of the operator for a missing template; the detector wakes the incident earlier."""


class Act:
    """The activity `act`, with its error handling and Events."""

    def __init__(
        self, leases: TargetLeases, revalidation: Revalidation, clock: Clock, event_recorder: EventRecorder
    ) -> None:
        self._leases = leases
        self._revalidation = revalidation
        self._clock = clock
        self._event_recorder = event_recorder
        self._live = revalidation.live
        self._client, self._discovery = self._live.management.client, self._live.management.discovery
        self._requests = OwnRequests(self._live)
        self._etcd = Etcd(self._live.management, self._requests)

    @activity.defn(name=ACT.name)
    async def act(self, act: ActInput) -> ActResult:
        """Take one step, or answer why not."""
        try:
            if why := waited_too_long():
                raise stale(why)
            async with asyncio.timeout(ACT.attempt.total_seconds()):
                done = await self._take(act)
        except (StepHeld, KubernetesError) as error:
            held = error if isinstance(error, StepHeld) else StepHeld.by(error)
            done = StepResult(ActResult.held(held.hold, is_forbidden=held.is_forbidden), held.event)
        except TimeoutError:
            done = StepResult(ActResult.held(failed(f"it took longer than {in_words(ACT.attempt)}")))
        if done.event is not None:
            await self._event_recorder.emit(act.incident, done.event)
        if act.repetition and isinstance(done.result.outcome, RequestExists):
            # The first steps are taken again and again: once for each run and number of steps.
            repetition = Event(
                seed=f"{act.incident.workflow_id}\n{act.run_id}\n{act.repetition}",
                severity=Severity.WARNING,
                reason="StepRepeated",
                message=f"{act.incident.check}: {act.repetition}",
            )
            await self._event_recorder.emit(act.incident, repetition)
        return done.result

    async def _take(self, act: ActInput) -> StepResult:
        """Answer with a known request, or take the step; raises StepHeld and KubernetesError."""
        # Requests that the incident made before and that the detector does not see: the check may have lost
        # the template since, and some kinds of check do not list their requests. While one exists its
        # remediator is working, and nothing else is done to the target in any step (rule 10). If one is gone,
        # another actor deleted it: that counts as an attempt and is reported (rule 14). If the incident says
        # that its end is no loss, the step is taken.
        for reference in act.known:
            found = await self._requests.live.find(reference)
            if found is not None:
                request = RemediationRequest.model_validate(found)
                snapshot = request.snapshot(reference.api_version, reference.kind)
                return StepResult(ActResult.requested(snapshot))
        if any(reference.uid not in act.settled for reference in act.known):
            return StepResult(ActResult.lost(), await self._loss_event(act))
        # A healthy target is remediated only if the cluster shows that its remediation is under way.
        await self._confirm_same_boot(act)
        # A request, or an action of the kind.
        if act.step.action is Action.REQUEST:
            return await self._request(act)
        kind = KIND_ACTIVITIES.get(act.incident.check.group_kind)
        action = kind.actions.get(act.step.action) if kind is not None else None
        if action is None:
            message = f"this worker is of another version: it knows no action {act.step.action}"
            raise StepHeld.because(HoldReason.OTHER_VERSION, message)
        # Read, compare and guard.
        age = FactAge.from_now(self._clock, act.seen_at)
        confirmed = await self._revalidation.confirm(act)
        step = ConfirmedStep(act, confirmed, self._live, age)
        write = await action(step)
        if write is None:
            return StepResult(ActResult.disrupted())
        # Lease, and write.
        try:
            async with self._leases.held(step) as acquired:
                event = await write()
        except TargetGone:
            return StepResult(ActResult.disrupted())
        return StepResult(ActResult.disrupted(acquired), event)

    async def _request(self, act: ActInput) -> StepResult:
        """Create the request of a step, from the live template and the rules of its kind.

        Names are deterministic, so a repeated attempt finds its own request; any other object with the name
        is a hold. A create has no precondition: a target that recovers between the revalidation and the
        create gets a request that the incident deletes within seconds.
        """
        # Read check, target and template, and compare them with what was admitted and approved.
        age, reference = FactAge.from_now(self._clock, act.seen_at), act.step.template
        confirmed, template = await asyncio.gather(self._revalidation.confirm(act), self._template(reference))
        confirmed.refuse_other_step(act)
        _refuse_unapproved(act, template)
        # Guard: the rule of the platform, for checks of all kinds.
        await self._etcd.refuse(act, confirmed.target)
        # The request: contents by the kind of check, and what the act adds.
        kind = KIND_ACTIVITIES[act.incident.check.group_kind]
        step = ConfirmedStep(act, confirmed, self._live, age)
        try:
            body = await kind.new_request(step, template)
        except InvalidTemplateError as error:
            raise _unusable(f'Remediation template is invalid: "{error}"') from error
        boot_id = facts_of_node(confirmed.target).boot_id
        if boot_id:
            body["metadata"]["annotations"][BOOT_ID] = boot_id
        if confirmed.takes_turns(act):
            body["metadata"]["labels"] = body["metadata"]["labels"] | {CONTROL_PLANE_LABEL: ""}
        if why := why_no_requests_of(reference):  # clean_up would refuse to delete such an object
            raise _unusable(f'Remediation template is invalid: "{why}"')
        try:
            resource = await self._discovery.resource(body["apiVersion"], body["kind"])
        except KindUnknown as error:
            raise _not_created(error) from error
        # Lease, and create. A second try: the object of that name disappeared between two calls.
        async with self._leases.held(step) as acquired:
            try:
                request = await self._created_or_met(resource, body, act)
            except KindUnknown:
                raise
            except NotFound:
                age.refuse_old()
                request = await self._created_or_met(resource, body, act)
        snapshot = request.snapshot(resource.api_version, resource.kind)
        return StepResult(ActResult.requested(snapshot, acquired))

    async def _template(self, reference: TemplateReference) -> Object:
        try:
            resource = await self._discovery.resource(reference.api_version, reference.kind)
            return await self._live.shared.get(resource, reference.name, reference.namespace)
        except NotFound as error:
            raise _unusable(f'Remediation template not found: "{error.message}"') from error

    async def _created_or_met(self, resource: Resource, body: Object, act: ActInput) -> RemediationRequest:
        """The created request, or the existing one of that name, for this check, target and template.

        Raises:
            StepHeld: the existing one is of another check, target or template, or is being deleted.
            NotFound: the existing one disappears meanwhile.

        """
        namespace, incident = body["metadata"]["namespace"], act.incident
        try:
            return RemediationRequest.model_validate(await self._client.create(resource, body, namespace))
        except AlreadyExists:
            found = await self._client.get(resource, body["metadata"]["name"], namespace)
        except KubernetesError as error:
            raise _not_created(error) from error
        existing, kind = RemediationRequest.model_validate(found), CHECK_KINDS[incident.check.group_kind]
        reason = HoldReason.EARLIER_REQUEST
        # Or the operator of the kind made it for the target (rule 39).
        is_own = kind.owner_of(existing) == incident.check or kind.is_unsigned_for(existing, incident.target)
        if not is_own:
            reason, words = HoldReason.TAKEN_BY_REQUEST, "exists and belongs to another owner"
        elif existing.target_uid not in ("", incident.target.uid):
            words = "of an earlier target still exists"
        elif existing.metadata.annotations.get(TEMPLATE_NAME, "") not in ("", act.step.template.name):
            words = "of an earlier template still exists"
        elif existing.is_being_deleted:
            words = "is being deleted"
        else:
            return existing
        raise StepHeld.because(reason, f"request {existing.metadata.name} {words}")

    async def _loss_event(self, act: ActInput) -> Event | None:
        """The Event of a lost request in the words of the kind; None: the next request is due at once.

        Check and target are read only for it and never delay the answer: if that fails, or takes longer than
        half a second, there is no Event.
        """
        if act.due_after_loss is None:
            return None
        try:
            async with asyncio.timeout(LONGEST.total_seconds()):
                check, target = await asyncio.gather(
                    self._live.check(act.incident.check), self._live.target(act.incident, ClusterContext())
                )
        except (KubernetesError, ValidationError, TimeoutError) as error:
            why = FieldProblem.of(error) if isinstance(error, ValidationError) else error
            activity.logger.warning("Event not written", extra={"reason": str(why) or "it took too long"})
            return None
        lost = LostRequest(
            incident=act.incident,
            run_id=act.run_id,
            uids=tuple(request.uid for request in act.known),
            due=act.due_after_loss,
            check_uid=check["metadata"]["uid"],
            node_name=target.node_name,
        )
        return CHECK_KINDS[act.incident.check.group_kind].request_lost(lost)

    async def _confirm_same_boot(self, act: ActInput) -> None:
        """Refuse a step against a healthy target unless the cluster shows its remediation.

        If a check requires proof of recovery (ADR 38), an incident may act on a healthy target that has not
        booted since the first step. Only the incident knows which step that was, and other clients may write
        its input (rule 52). So the cluster must confirm it: by a request of the incident from this boot, or,
        after a mark or the deletion of the requests, by a Lease of the target that the check holds.

        Raises:
            StepHeld: nothing shows that the target is being remediated.
            KubernetesError: the API server could not be asked.

        """
        if act.fact.condition != SAME_BOOT or await self._leases.is_held(act.incident):
            return
        for request in act.requests:
            try:
                found = await self._requests.find(request, act.incident)
            except InputRefused:
                continue
            annotations = (found["metadata"].get("annotations") or {}) if found else {}
            if is_same_boot(annotations.get(BOOT_ID) or "", act.fact.status):
                return
        raise not_true(f"nothing shows that {act.incident.target} was remediated in this boot")


def _unusable(message: str) -> StepHeld:
    return StepHeld.because(HoldReason.TEMPLATE, message, ask_again_seconds=TEMPLATE_SECONDS)


def _refuse_unapproved(act: ActInput, template: Object) -> None:
    """Refuse a template that requires an approval that is missing, or is of another version of it."""
    try:
        choices = TemplateChoices.of(template["metadata"].get("annotations") or {})
    except InvalidCheckError as error:
        raise _unusable(f'Remediation template is invalid: "{error}"') from error
    if choices.require_approval:
        refuse_unapproved(act, act.step.template)
    if act.approved_version not in (None, Template.model_validate(template).version):
        raise not_true(f"{act.step.template} was edited since its approval")


def _not_created(error: KubernetesError) -> StepHeld:
    """The error after a refused creation of a request.

    Raises KubernetesError: the API server did not answer, so the request may exist.
    """
    if error.status is None and not isinstance(error, KindUnknown):
        raise error
    hold = hold_of(error).of_request(error.message)
    return StepHeld(hold, is_forbidden=isinstance(error, Forbidden))
