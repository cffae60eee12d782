"""Inspector: answers the questions of people while this detector leads, a few at a time (ADR 62).

Each answer is made from a copy of the state at one moment, in pieces, so that the event loop goes on; nothing
live changes. A question beyond `MOST_AT_ONCE` fails at once, and Temporal repeats it until its time is over:
so it takes no slot of the questions of incidents.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from detector.answers.answering import NotLeading
from detector.answers.observation_builder import Observer
from detector.inspection.named_targets import NamedTargets, UnknownNameError, named_check
from detector.inspection.preview import Preview
from detector.inspection.simulated import (
    REFUSED_TEXTS,
    record_of,
    scopes_in,
    under_check,
    under_policy,
)
from detector.state.cluster_state import ClusterState
from detector.state.state_view import StateView
from health.check.health_check import HealthCheck
from health.gate.order_refusal import OrderMoment, refusal
from health.kinds.check_manifest import CheckManifest
from health.model.node import facts_of_node
from health.model.references import CheckReference, IncidentReference
from health.model.remediation_order import RemediationOrder, order_in
from health.model.target import Target
from health.policy.policy import Policy
from kube.time_slice import TimeSlice
from objects.field_problem import unforeseen
from objects.frozen import Frozen
from objects.short_text import cut_to_length
from objects.yaml_document import read_document
from workflows.inspection_contracts import (
    CHECK,
    EXPLAIN,
    MOST_BYTES,
    NOT_FOUND,
    PREVIEW_ORDER,
    REFUSED,
    SIMULATE,
    CheckAnswer,
    Decided,
    ExplainAnswer,
    ExplanationAnswer,
    InvalidCheckAnswer,
    NameInput,
    OrderPreview,
    PreviewOrderInput,
    SimulatedCheckAnswer,
    SimulateInput,
    SimulationAnswer,
    TargetAnswer,
    ThresholdAnswer,
)

MOST_AT_ONCE = 2
_AGAIN = timedelta(seconds=1)
_LONGEST_PROBLEM = 200


class Busy(ApplicationError):
    """Enough other questions are being answered; Temporal asks again."""

    def __init__(self) -> None:
        message = f"the leader answers {MOST_AT_ONCE} other questions"
        super().__init__(
            message, type="Busy", next_retry_delay=_AGAIN, category=ApplicationErrorCategory.BENIGN
        )


class _ByteBudget:
    """The bytes that are left for the items of one answer."""

    def __init__(self) -> None:
        self._left = MOST_BYTES
        self.left_out = 0

    def leaves_out(self) -> bool:
        """Count the next item as left out if the budget is spent; True then."""
        self.left_out += self._left < 0
        return self._left < 0

    def takes(self, *items: Frozen) -> bool:
        """Take the bytes of these items together; False if they are left out, and all others from then on."""
        size = sum(len(item.model_dump_json().encode()) for item in items)
        self._left = self._left - size if size <= self._left else -1
        return not self.leaves_out()


@dataclass(kw_only=True)
class Inspector:
    """Answers questions about the state of one cluster."""

    cluster_state: ClusterState
    observer: Observer
    is_heard: Callable[[IncidentReference], bool]
    is_leader: Callable[[], bool]
    identity: str
    """The name of this detector, by which it holds the leader Lease."""
    _answering: int = 0

    @property
    def activities(self) -> tuple[Callable[..., object], ...]:
        return self.explain, self.check, self.simulate, self.preview_order

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """One of the slots for questions; a wrong name or text fails the question for good."""
        if not self.is_leader():
            raise NotLeading
        if self._answering >= MOST_AT_ONCE:
            raise Busy
        self._answering += 1
        try:
            yield
        except UnknownNameError as error:
            raise _unanswerable(NOT_FOUND, error) from error
        except REFUSED_TEXTS as error:
            raise _unanswerable(REFUSED, error) from error
        finally:
            self._answering -= 1

    def _preview(self, state: StateView) -> Preview:
        """The decisions in this state; a target whose incident has not asked this leader is unheard."""

        def is_unheard(incident: IncidentReference) -> bool:
            entry = state.checks.get(incident.check)
            needs_one = entry is not None and incident.target.name in entry.unhealthy
            return needs_one and not self.is_heard(incident)

        return Preview(
            cluster=self.cluster_state.cluster,
            state=state,
            now=self.observer.now(),
            observer=self.observer,
            limits=self.observer.limits.preview(),
            is_unheard=is_unheard,
        )

    @activity.defn(name=EXPLAIN.name)
    async def explain(self, question: NameInput) -> ExplainAnswer:
        """Explain one target under each check that selects it."""
        with self._slot():
            targets = NamedTargets(self.cluster_state, question.name)
            selected, invalid = targets.selected(), targets.invalid()
            preview = self._preview(self.cluster_state.frozen(*(check.reference for check, _ in selected)))
            piece, budget, found = TimeSlice(), _ByteBudget(), list[ExplanationAnswer]()
            for check, target in selected:
                await piece.yield_if_over()
                if not budget.leaves_out() and budget.takes(answer := preview.explanation(check, target)):
                    found.append(answer)
            unread = (InvalidCheckAnswer(check=str(check), problem=str(error)) for check, error in invalid)
            return ExplainAnswer(
                cluster=self.cluster_state.cluster,
                leader=self.identity,
                at=preview.now,
                checks=tuple(found),
                invalid_checks=tuple(each for each in unread if budget.takes(each)),
                left_out=budget.left_out,
            )

    @activity.defn(name=CHECK.name)
    async def check(self, question: NameInput) -> CheckAnswer:
        """Answer with the numbers and holds of one check, and the decisions about its targets."""
        with self._slot():
            reference = named_check(self.cluster_state, question.name)
            preview = self._preview(self.cluster_state.frozen(reference))
            storm = self.observer.storms.of(reference)
            check_state = preview.state.checks[reference]
            problem = str(check_state.parsed.problem) if check_state.check is None else None
            budget = _ByteBudget()
            (decisions,) = await self._decisions(reference, budget, preview)
            return CheckAnswer(
                check=str(reference),
                cluster=self.cluster_state.cluster,
                leader=self.identity,
                at=preview.now,
                problem=problem,
                is_shadow=check_state.is_shadow_in(preview.state.cluster_context),
                selected=len(check_state.selected),
                unhealthy=len(check_state.unhealthy),
                threshold=ThresholdAnswer.of(preview.state.allowance(reference)),
                holds=preview.holds_of(reference),
                has_storm=storm is not None and storm.is_active,
                decisions=decisions,
                left_out=budget.left_out,
            )

    @activity.defn(name=SIMULATE.name)
    async def simulate(self, question: SimulateInput) -> SimulationAnswer:
        """Answer with the decisions now, and those under another check or policy."""
        with self._slot():
            if question.is_policy:
                return await self._under_policy(Policy.parse(question.text))
            return await self._under_check(CheckManifest.of(read_document(question.text)))

    async def _under_policy(self, policy: Policy) -> SimulationAnswer:
        checks = sorted(self.cluster_state.checks, key=str)
        now = self._preview(self.cluster_state.frozen(*checks))
        state = await under_policy(now.state, policy, now.now)
        limits = self.observer.limits.preview(scopes_in(state))
        supposed = replace(now, state=state, limits=limits, back_off_limit=policy.back_off_limit)
        return await self._compared(now, supposed, checks, of="the policy")

    async def _under_check(self, manifest: CheckManifest) -> SimulationAnswer:
        reference = manifest.reference
        now = self._preview(self.cluster_state.frozen(reference))
        stored = now.state.checks.get(reference)
        record = record_of(manifest, stored.record if stored else None, now.now)
        state = await under_check(now.state, manifest, record)
        limits = self.observer.limits.preview(scopes_in(state))
        supposed = replace(now, state=state, limits=limits)
        check = state.checks[reference].check
        templates = (step.template for step in (() if check is None else check.steps))
        unread = (
            str(each) for each in templates if state.template_kinds(each.api_version, each.kind) is None
        )
        return await self._compared(now, supposed, [reference], of=str(reference), unread=unread)

    async def _compared(
        self,
        now: Preview,
        supposed: Preview,
        checks: Iterable[CheckReference],
        *,
        of: str,
        unread: Iterable[str] = (),
    ) -> SimulationAnswer:
        """The decisions about the targets of these checks in both states; `unread` templates are unknown."""
        budget, piece, found = _ByteBudget(), TimeSlice(), list[SimulatedCheckAnswer]()
        for reference in checks:
            await piece.yield_if_over()
            if budget.leaves_out():
                continue
            check_state = supposed.state.checks[reference]
            problem = check_state.parsed.problem
            answer = SimulatedCheckAnswer(
                check=str(reference),
                selected=len(check_state.selected),
                threshold=ThresholdAnswer.of(supposed.state.allowance(reference)),
                problem=None if problem is None else str(problem),
                holds=supposed.holds_of(reference),
            )
            if budget.takes(answer):
                found.append(answer.deciding(*await self._decisions(reference, budget, now, supposed)))
        return SimulationAnswer(
            cluster=self.cluster_state.cluster,
            leader=self.identity,
            at=now.now,
            of=of,
            checks=tuple(found),
            left_out=budget.left_out,
            unread_templates=tuple(unread),
        )

    async def _decisions(
        self, check: CheckReference, budget: _ByteBudget, *previews: Preview
    ) -> tuple[tuple[TargetAnswer, ...], ...]:
        """For each preview the decisions about the targets of a check, as long as the budget lasts."""
        named = [(preview, preview.named(check)) for preview in previews]
        found: list[list[TargetAnswer]] = [[] for _ in previews]
        piece = TimeSlice()
        for name in sorted(set[str]().union(*(names for _, names in named))):
            await piece.yield_if_over()
            if budget.leaves_out():
                continue
            answers = [
                [self._decided(preview, check, name)] if name in names else [] for preview, names in named
            ]
            if budget.takes(*chain.from_iterable(answers)):
                for of_preview, answer in zip(found, answers, strict=True):
                    of_preview.extend(answer)
        return tuple(map(tuple, found))

    def _decided(self, preview: Preview, check: CheckReference, name: str) -> TargetAnswer:
        """The decision about one target; that of an unexpected error is unknown, and stops no other one."""
        incident = preview.incident(check, preview.state.targets.of(check)[name])
        with self.cluster_state.guard.item("questions", incident.full_id) as caught:
            return preview.decision(preview.builder(incident)).answer
        why = cut_to_length(unforeseen(caught.error), _LONGEST_PROBLEM)
        message = f"the detector cannot judge it: {why}"
        return TargetAnswer(target=str(incident.target), decided=Decided.UNKNOWN, message=message)

    @activity.defn(name=PREVIEW_ORDER.name)
    async def preview_order(self, question: PreviewOrderInput) -> OrderPreview:
        """Answer whether an order to remediate would be refused, and what it would wait for."""
        with self._slot():
            check, target = self._ordered(question)
            reference = check.reference
            preview = self._preview(self.cluster_state.frozen(reference))
            incident, begins = preview.incident(reference, target), preview.now.replace(microsecond=0)
            order = RemediationOrder(
                check=str(reference),
                reason=question.reason,
                identity=question.identity,
                given=begins,
                until=begins + timedelta(seconds=question.duration_seconds),
                boot_id=facts_of_node(target).boot_id,
                is_forced=question.is_forced,
            )
            # The decision of the threshold if the target counted as unhealthy.
            now = self.cluster_state.allowance(reference)
            is_counted = target.metadata.name in self.cluster_state.checks[reference].not_healthy
            healthy = 0 if now is None else now.healthy - (0 if is_counted else 1)
            allowance = None if now is None else check.allowance(total=now.total, healthy=healthy)
            earlier = order_in(target.annotations.remediate)
            builder = preview.builder(incident)
            moment = OrderMoment(
                order=order,
                observation=preview.decision(builder).observation,
                holds=builder.holds(),
                allowance=allowance,
                policy=self.cluster_state.cluster_context.policy.policy,
                earlier=earlier if earlier is not None and earlier.stands_beside(order) else None,
            )
            return OrderPreview(
                cluster=self.cluster_state.cluster,
                check=reference,
                target=incident.target,
                order=order,
                refused=refusal(moment) or None,
                waits_for=moment.waits_for,
            )

    def _ordered(self, question: PreviewOrderInput) -> tuple[HealthCheck, Target]:
        reference = named_check(self.cluster_state, question.check)
        check_state = self.cluster_state.checks[reference]
        check = check_state.check
        if check is None:
            raise UnknownNameError(f"{reference} cannot be read: {check_state.parsed.problem}")
        by_any = NamedTargets(self.cluster_state, question.target).selected()
        found = [target for selecting, target in by_any if selecting.reference == reference]
        if len(found) == 1:
            return check, found[0]
        if found:
            names = ", ".join(f"{target.metadata.namespace}/{target.metadata.name}" for target in found)
            raise UnknownNameError(f"{question.target!r} is ambiguous, say which: {names}")
        others = ", ".join(str(selecting.reference) for selecting, _ in by_any) or "no check does"
        raise UnknownNameError(f"{reference} does not select {question.target!r}; checks that do: {others}")


def _unanswerable(kind: str, error: Exception) -> ApplicationError:
    return ApplicationError(
        str(error), type=kind, non_retryable=True, category=ApplicationErrorCategory.BENIGN
    )
