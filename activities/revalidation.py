"""Revalidation before an act: compares the live target and check with the facts of the admission.

It compares facts, not clocks: the same uid, the same condition since the same moment, the same generation of
the check, the limits that the slot was reserved under. A difference is a hold, and the incident asks the
detector again.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from pydantic import ValidationError

from activities.attempt import StepHeld
from activities.live_objects import LiveObjects
from health.check.annotated_hold import hold_on_check, hold_on_target
from health.check.health_check import HealthCheck
from health.check.ordered import is_by_order, order_on
from health.check.same_boot import still_states
from health.cluster.cluster_context import ClusterContext
from health.cluster.global_stop import Stop
from health.kinds.registry import CHECK_KINDS
from health.model.admission import Admission
from health.model.invalid_check import InvalidCheckError
from health.model.observation import HoldReason
from health.model.references import TargetReference
from health.model.target import Target
from health.policy.policy import DEFAULTS, POLICY, InvalidPolicyError, Policy, StoredPolicy
from health.policy.policy_in_force import MISSING_POLICY
from health.policy.quorum import takes_turns
from kube.errors import KindUnknown, NotFound, none_if_absent
from kube.resource import CONFIG_MAPS, NAMESPACES
from objects.clusters import MANAGEMENT_CLUSTER
from objects.field_problem import FieldProblem
from objects.metadata import OwnerReference
from workflows.contracts import JudgedStep

ASK_AGAIN_SECONDS = 2.0
"""The detector sees the same change within milliseconds; if its state lags, this bounds the loop."""
CheckT = TypeVar("CheckT", bound=HealthCheck)
TargetT = TypeVar("TargetT", bound=Target)


def not_true(message: str) -> StepHeld:
    return StepHeld.because(HoldReason.NOT_TRUE, message, ask_again_seconds=ASK_AGAIN_SECONDS)


def refuse_unapproved(judged: JudgedStep, by: object) -> None:
    """Refuse a step that needs the approval of a person, by this check or template, and has none."""
    if not judged.is_approved:
        raise not_true(f"{by} requires the approval of a person, and the step has none")


@contextmanager
def target_as_read(reference: TargetReference) -> Iterator[None]:
    """Read a target, or write it as it was read; raises StepHeld if it is gone or cannot be read."""
    try:
        yield
    except KindUnknown:
        raise
    except NotFound as error:
        raise not_true(f"{reference} is gone") from error
    except ValidationError as error:
        raise not_true(f"{reference} cannot be read: {FieldProblem.of(error)}") from error


@dataclass(frozen=True, kw_only=True)
class Confirmed(Generic[CheckT, TargetT]):
    """The live objects that a step was confirmed by."""

    target: TargetT
    check: CheckT
    owner: OwnerReference
    """The check, as the owner of objects that are created for it."""
    context: ClusterContext
    """The cluster context that its rules use."""
    policy: Policy | None
    """None: it is invalid."""
    quorum: str = MANAGEMENT_CLUSTER
    """The cluster whose members take turns with the target, if the step takes turns."""

    def takes_turns(self, judged: JudgedStep) -> bool:
        """True if the step waits until no other member of the target's quorum is remediated."""
        return takes_turns(self.target, judged.step.action, (self.policy or DEFAULTS).quorum_labels)

    def refuse_other_step(self, judged: JudgedStep) -> None:
        """Refuse the step, unless the check would take exactly that step now.

        Annotations, and the phase of a Machine, select the step without changing the generation.

        Raises:
            StepHeld: the check would take another step, or none.

        """
        if judged.step not in self.check.steps_for(self.target):
            order = judged.step.order_for(judged.incident.target)
            raise not_true(f"{judged.incident.check} no longer says: {order}")

    def refuse_changed_target(self, judged: JudgedStep, now: datetime) -> None:
        """Return, if the target is as it was at the admission; raises StepHeld."""
        target, check, policy = self.target, self.check, self.policy
        name = target.metadata.name
        # The same target in the same state.
        if target.metadata.uid != judged.incident.target.uid:
            raise not_true(f"{judged.incident.target} has another uid now: {target.metadata.uid}")
        if not check.selects(target):
            raise not_true(f"{judged.incident.check} no longer selects {name}")
        if not still_states(check, judged.fact, target, self.context):
            raise not_true(f"no longer true of {name}: {judged.fact}")
        # No hold of a person since; while the policy is invalid, the last valid one decided.
        if target.is_excluded:
            raise not_true(f"{name} is now excluded from remediation")
        held = None
        if policy is not None:
            held = hold_on_check(check, policy, now) or hold_on_target(target, policy, now)
        if held is not None:
            raise StepHeld.by_hold(held, ASK_AGAIN_SECONDS)
        order = order_on(check.reference, target) if is_by_order(judged.fact) else None
        if order is not None and (over := order.why_over(now)):
            raise not_true(f"the order to remediate {name} is over: {over}")
        # No owner of the Node at work, beside those that the admission let pass.
        if policy is not None and not judged.is_only_recorded:
            _refuse_while_an_owner_works(judged, target, policy, now)


class Revalidation:
    """Reads target and check again, with the global stop, the shadow setting and the policy."""

    def __init__(
        self, live: LiveObjects, lease_namespace: str, namespace: str, *, requires_policy: bool = False
    ) -> None:
        """`namespace` contains the policy; `requires_policy`: a missing policy refuses every act."""
        self.live = live
        self._requires_policy = requires_policy
        self._lease_namespace = lease_namespace
        self._namespace = namespace

    async def confirm(self, judged: JudgedStep) -> Confirmed[HealthCheck, Target]:
        """The live objects, if nothing changed since the admission.

        Raises:
            StepHeld: something changed; the message says what.
            KubernetesError: the API server could not be asked.

        """
        (check, owner), policy, _ = await asyncio.gather(
            self._check(judged), self._policy(judged), self._refuse_if_stopped()
        )
        # Shadow, approval and limits, which a step that is only recorded does not need.
        if not judged.is_only_recorded:
            _refuse_by_policy(judged, check, policy)
        # The context, and then the target, which a kind reads with it.
        try:
            context = await self.live.context(check)
        except ValidationError as error:
            problem = FieldProblem.of(error)
            raise not_true(f"the context of {judged.incident.check} cannot be read: {problem}") from error
        if (hold := check.hold_in(context)) is not None:
            raise not_true(f"{judged.incident.check}: {hold}")
        with target_as_read(judged.incident.target):
            target = await self.live.target(judged.incident, context)
        confirmed = Confirmed(target=target, check=check, owner=owner, context=context, policy=policy)
        confirmed.refuse_changed_target(judged, self.live.management.server_clock.now())
        # The cluster whose lock the step needs.
        if not confirmed.takes_turns(judged):
            return confirmed
        quorum = await self.live.quorum_of(target.node_cluster, judged.incident.cluster)
        return replace(confirmed, quorum=quorum)

    async def _refuse_if_stopped(self) -> None:
        namespace = await none_if_absent(self.live.shared.get(NAMESPACES, self._lease_namespace))
        if namespace is None:
            return
        stop = Stop.of(namespace["metadata"].get("annotations") or {})
        if stop is not None:
            raise StepHeld.because(HoldReason.STOPPED, stop.words, ask_again_seconds=ASK_AGAIN_SECONDS)

    async def _policy(self, judged: JudgedStep) -> Policy | None:
        """The policy; None if it is invalid: the detector, which admits, knows the last valid one.

        Raises:
            StepHeld: the policy is required and missing, and the step is taken, not recorded.

        """
        found = await none_if_absent(self.live.shared.get(CONFIG_MAPS, POLICY, self._namespace))
        stored = None if found is None else StoredPolicy.model_validate(found)
        is_required = self._requires_policy and not judged.is_only_recorded
        if is_required and (stored is None or stored.is_blank):
            raise StepHeld.by_hold(MISSING_POLICY, ASK_AGAIN_SECONDS)
        try:
            return DEFAULTS if stored is None else stored.over(DEFAULTS)
        except InvalidPolicyError:
            return None

    async def _check(self, judged: JudgedStep) -> tuple[HealthCheck, OwnerReference]:
        reference = judged.incident.check
        kind = CHECK_KINDS[reference.group_kind]
        try:
            raw = await self.live.check(reference)
            check = kind.parse(raw)
        except NotFound as error:
            raise not_true(f"{reference} is gone") from error
        except InvalidCheckError as error:
            raise not_true(f"{reference} cannot be read: {error}") from error
        if check.choices.shadow and not judged.is_only_recorded:
            raise not_true(f"{reference} is in shadow: nothing is written")
        if check.generation != judged.generation:
            raise not_true(f"{reference} was edited")
        owner = OwnerReference(
            api_version=raw["apiVersion"], kind=kind.kind, name=reference.name, uid=raw["metadata"]["uid"]
        )
        return check, owner


def _refuse_by_policy(judged: JudgedStep, check: HealthCheck, policy: Policy | None) -> None:
    """Refuse a step in shadow, and one without an approval or a slot that its check requires now."""
    if policy is not None and policy.shadow:
        raise not_true("every check is in shadow: nothing is written")
    if policy is not None and is_by_order(judged.fact) and not policy.orders_by_annotation:
        raise not_true("the policy refuses orders by annotation")
    if check.choices.require_approval:
        refuse_unapproved(judged, judged.incident.check)
    admitted = judged.admission
    live = Admission(
        policy_limits=admitted.policy_limits if policy is None else str(policy.limits) or None,
        check_limits=str(check.choices.limits) or None,
        passed_signs=admitted.passed_signs,
    )
    if live != admitted:
        raise not_true(
            f"limits of {judged.incident.check} are {live}, and a slot was reserved under {admitted}"
        )


def _refuse_while_an_owner_works(judged: JudgedStep, target: Target, policy: Policy, now: datetime) -> None:
    for work in policy.held_nodes.work_on(target, now):
        if work.sign not in judged.admission.passed_signs:
            message = f"{target.metadata.name}: {work.words}"
            raise StepHeld.because(HoldReason.OWNER_AT_WORK, message, ask_again_seconds=ASK_AGAIN_SECONDS)
