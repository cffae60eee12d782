"""act: take one step of a remediation, if all facts behind its admission still hold.

Order: refuse a task that waited too long, look for requests that the incident made before, revalidate
(target, check, step, template), acquire the Lease of the target, check the age of the facts, act. Each
action is in its own file, with the reason why it may be repeated.
"""

import asyncio
from collections.abc import Mapping

from temporalio import activity

from activities.attempt import InputRefused
from activities.event_recorder import EventRecorder
from activities.fact_age import Clock, waited_too_long
from activities.kind_activities import ActionDependencies, StepAction
from activities.known_requests import KnownRequests, LossEvents
from activities.live_requests import LiveRequests
from activities.own_requests import OwnRequests
from activities.registry import KIND_ACTIVITIES, STEP_GUARDS
from activities.request_step import RequestStep
from activities.revalidation import Revalidation, not_true, stale
from activities.step_result import ASK_AGAIN_SECONDS, StepHeld, StepResult
from activities.target_lease import LeaseGuard, TargetLeases
from health.check.same_boot import SAME_BOOT
from health.model.boot import is_same_boot
from health.model.observation import HoldReason, failed
from health.model.references import Action, RequestReference
from health.model.remediation_request import BOOT_ID
from kube.errors import KubernetesError
from objects.durations import in_words
from objects.event import Event, Severity
from objects.group_kind import GroupKind
from workflows.contracts import ACT, ActInput, ActResult, RequestExists


class SameBootEvidence:
    """Refuses a step against a healthy target unless the cluster shows its remediation.

    If a check requires proof of recovery (ADR 38), an incident may act on a healthy target that has not
    booted since the first step. Only the incident knows which step that was, and other clients may write its
    input (rule 52). So the cluster must confirm it: by a request of the incident from this boot, or, after a
    mark or the deletion of the requests, by a Lease of the target that the check holds.
    """

    def __init__(self, requests: OwnRequests, leases: TargetLeases) -> None:
        self._requests = requests
        self._leases = leases

    async def confirm(self, act: ActInput) -> None:
        """Return, unless the step acts only because the target did not boot.

        Raises:
            StepHeld: nothing shows that the target is being remediated.
            KubernetesError: the API server could not be asked.

        """
        if act.fact.condition != SAME_BOOT or await self._leases.is_held(act.incident):
            return
        for request in act.requests:
            if is_same_boot(await self._boot_before(request, act), act.fact.status):
                return
        raise not_true(f"nothing shows that {act.incident.target} was remediated in this boot")

    async def _boot_before(self, request: RequestReference, act: ActInput) -> str:
        try:
            found = await self._requests.find(request, act.incident)
        except InputRefused:
            return ""
        annotations = found["metadata"].get("annotations") if found else None
        return (annotations or {}).get(BOOT_ID) or ""


class Steps:
    """Every action; each is tried only if no request of the incident remains."""

    def __init__(
        self,
        known_requests: KnownRequests,
        same_boot: SameBootEvidence,
        request: StepAction,
        of_kinds: Mapping[GroupKind, Mapping[str, StepAction]],
    ) -> None:
        self._known_requests = known_requests
        self._same_boot = same_boot
        self._request = request
        self._of_kinds = of_kinds

    async def take(self, act: ActInput) -> StepResult:
        """Answer with a known request, or take the step; raises StepHeld and KubernetesError."""
        result_before = await self._known_requests.answer(act)
        if result_before is not None:
            return result_before
        await self._same_boot.confirm(act)
        return await self._action(act).take(act)

    def _action(self, act: ActInput) -> StepAction:
        name, own = act.step.action, self._of_kinds.get(act.incident.check.group_kind, {})
        if name == Action.REQUEST:
            return self._request
        if name in own:
            return own[name]
        message = f"this worker is of another version: it knows no action {name}"
        raise StepHeld.because(HoldReason.OTHER_VERSION, message, ask_again_seconds=ASK_AGAIN_SECONDS)


def steps(leases: TargetLeases, revalidation: Revalidation, clock: Clock) -> Steps:
    live = revalidation.live
    dependencies = ActionDependencies(live.management, revalidation, LeaseGuard(leases, clock))
    requests = LiveRequests(live.management)
    own = OwnRequests(requests, live)
    return Steps(
        KnownRequests(requests, LossEvents(live)),
        SameBootEvidence(own, leases),
        RequestStep(dependencies, [guard(live.management, own) for guard in STEP_GUARDS]),
        {
            kind: {name: action(dependencies) for name, action in activities.actions.items()}
            for kind, activities in KIND_ACTIVITIES.items()
        },
    )


class Act:
    """The activity `act`, with its error handling and Events."""

    def __init__(self, steps: StepAction, event_recorder: EventRecorder) -> None:
        self._steps = steps
        self._event_recorder = event_recorder

    @activity.defn(name=ACT.name)
    async def act(self, act: ActInput) -> ActResult:
        """Take one step, or answer why not."""
        done = await self._step_result(act)
        if done.event is not None:
            await self._event_recorder.emit(act.incident, done.event)
        if act.repetition and isinstance(done.result.outcome, RequestExists):
            await self._event_recorder.emit(act.incident, _repetition(act))
        return done.result

    async def _step_result(self, act: ActInput) -> StepResult:
        try:
            _refuse_what_waited()
            async with asyncio.timeout(ACT.attempt.total_seconds()):
                return await self._steps.take(act)
        except StepHeld as error:
            return _held(error)
        except KubernetesError as error:
            return _held(StepHeld.by(error))
        except TimeoutError:
            return StepResult(ActResult.held(failed(f"it took longer than {in_words(ACT.attempt)}")))


def _repetition(act: ActInput) -> Event:
    """The Event that the first steps are taken again and again, once for each run and number of steps."""
    seed = f"{act.incident.workflow_id}\n{act.run_id}\n{act.repetition}"
    message = f"{act.incident.check}: {act.repetition}"
    return Event(seed=seed, severity=Severity.WARNING, reason="StepRepeated", message=message)


def _held(error: StepHeld) -> StepResult:
    return StepResult(ActResult.held(error.hold, is_forbidden=error.is_forbidden), error.event)


def _refuse_what_waited() -> None:
    why = waited_too_long()
    if why:
        raise stale(why)
