"""The runbook in worlds that change under it: whatever happens in whatever order, these things never happen.

The machine carries moves out as `workflows/remediation.py` does, on a cluster of one target whose check has
one step or two. Hypothesis lets the target fail and recover, remediators succeed and fail, others delete
requests, finalizers hang, acts break off in the middle, people give orders, and the incident lose its memory.
Every look shows the cluster as it is.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from health.gate.admission import answered
from health.gate.approval_hold import approval_hold
from health.model.admission import Admission
from health.model.approval import ApprovalDefault, RequiredApproval
from health.model.moves import (
    AnnotateRequests,
    AnnotationPatch,
    AskApproval,
    End,
    Move,
    Outcome,
    Phase,
    ReleaseLease,
    RemoveRequests,
    RenewLease,
    TakeStep,
    Wait,
)
from health.model.observation import ENDED, Hold, HoldReason, Observation, TargetState, failed
from health.model.order import OrderMessage
from health.model.references import Step
from health.model.remediation_order import RemediationOrder
from health.model.remediation_request import TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import OF_CONFIRMATION, OF_LEASE, TaskSubject
from health.runbook.decide import next_move
from health.runbook.escalation import Plan
from health.runbook.failures import RETRIES, LeftBehind, MaintenanceTask, TaskFailure, next_try_of, patched
from health.runbook.incident import STOP_PATIENCE
from health.runbook.learn import learned
from health.runbook.memory_parts import NewStart
from health.runbook.orders import (
    AbortOrder,
    ApproveOrder,
    ClaimOrder,
    HoldOrder,
    RejectOrder,
    ResumeOrder,
    SkipOrder,
    UnclaimOrder,
    ordered,
)
from health.runbook.state import Memory
from tests.health.test_next_move import STEP
from tests.support.values import remediation_orders as remediation
from tests.support.values.builders import NOW, fact, request_snapshot

HOLDS = st.none() | st.sampled_from([Hold(reason=reason, message="") for reason in HoldReason])
STATES = st.sampled_from(list(TargetState))
SECOND = STEP.model_copy(update={"template": STEP.template.model_copy(update={"name": "reset"})})
ESCALATION = tuple(step.model_copy(update={"timeout_seconds": 300}) for step in (STEP, SECOND))
LISTS = st.sampled_from([(STEP,), ESCALATION, ESCALATION[1:], ESCALATION[::-1]])
REQUIRED = st.none() | st.sampled_from(
    [
        RequiredApproval(steps=(0,)),
        RequiredApproval(steps=(0, 1)),
        RequiredApproval(steps=(0, 1), expires_after_seconds=60, default=ApprovalDefault.APPROVE),
        RequiredApproval(steps=(1,), expires_after_seconds=60, default=ApprovalDefault.REJECT),
        RequiredApproval(steps=(0, 1), expires_after_seconds=60),
    ]
)
DELAYS = st.sampled_from([0, 120, -1])
MOST_MOVES_TO_THE_END = 6
ACT = "act"
LIMIT = timedelta(minutes=30)


class World(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.steps: tuple[Step, ...] = (STEP,)
        self.required: RequiredApproval | None = None
        self.admits_too_much = False
        """True while the detector admits steps that wait for a person: the incident does not rely on it."""
        self.delay = 0.0
        self.is_confirmed = False
        self.state = TargetState.WAITING
        self.hold: Hold | None = None
        self.requests: dict[str, RequestSnapshot] = {}
        self.order_on_target: RemediationOrder | None = None
        self.has_booted = False
        """True if the node booted since the order."""
        self.has_finalizers = False
        self.taken: set[str] = set()
        """What somebody else deleted."""
        self.has_lease = False
        self.has_forgotten = False
        self.broken: frozenset[str] = frozenset()
        """What the API server does not do now."""
        self.made = 0
        self.memory = Memory()
        self.outcome: Outcome | None = None
        self.log: list[str] = []

    @initialize(steps=LISTS, delay=DELAYS)
    def check_says(self, steps: tuple[Step, ...], delay: float) -> None:
        self.steps, self.delay = steps, delay

    @property
    def is_open(self) -> bool:
        return self.outcome is None

    def look(self) -> Observation:
        seen = self.look_at_conditions()
        if self.order_on_target is None or self.state in (TargetState.UNKNOWN, TargetState.GONE):
            return seen
        if not self.is_by_order:
            return seen.model_copy(update={"order": self.order_on_target})
        by_order = remediation.ordered(self.order_on_target, steps=self.steps, hold=self.hold)
        kept = {"requests": seen.requests, "healthy_delay_seconds": self.delay, "is_confirmed": False}
        return by_order.model_copy(update=kept | {"admission": None, "back_off_limit_seconds": 1800.0})

    @property
    def is_by_order(self) -> bool:
        """True if only an order makes the target unhealthy."""
        is_in_force = self.order_on_target is not None and not self.has_booted and not self.is_confirmed
        return self.state is TargetState.HEALTHY and is_in_force

    def look_at_conditions(self) -> Observation:
        is_known = self.state not in ENDED and self.state is not TargetState.UNKNOWN
        return Observation(
            state=self.state,
            reason=str(self.state),
            remaining_seconds=60,
            fact=None if self.state in ENDED else fact(),
            hold=self.hold or self.blindness,
            steps=self.steps if is_known else (),
            requests=tuple(self.requests.values()),
            healthy_delay_seconds=self.delay if self.state is TargetState.HEALTHY else 0,
            is_confirmed=self.is_confirmed and self.state is TargetState.HEALTHY,
            back_off_limit_seconds=LIMIT.total_seconds(),
            approval=self.required if is_known else None,
        )

    def answer(self) -> Observation:
        """The detector's answer to a question, with an admission where nothing holds the step."""
        seen, progress = self.look(), self.memory.progress
        if seen.hold is None and seen.steps and not self.admits_too_much:
            plan = Plan(seen.steps, progress.spent, progress.skipped)
            due = plan.progress(seen.requests, self.now).due_step
            hold = approval_hold(seen.approval, seen.steps, due, progress.approval)
            seen = seen.model_copy(update={"hold": hold})
        return answered(seen, self.memory.intent(self.now), Admission)

    @property
    def blindness(self) -> Hold | None:
        is_blind = self.state is TargetState.UNKNOWN
        return Hold(reason=HoldReason.STALE_CACHE, message="old") if is_blind else None

    @rule(state=STATES, hold=HOLDS)
    def cluster_changes(self, state: TargetState, hold: Hold | None) -> None:
        self.state, self.hold = state, hold

    @precondition(lambda self: self.is_open)
    @rule()
    def remediation_is_admitted(self) -> None:
        """States that hypothesis seldom reaches, and in which most failures begin."""
        self.state, self.hold, self.broken = TargetState.EXPIRED, None, frozenset()
        self.move()

    @rule(steps=LISTS)
    def check_is_edited(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps

    @rule(required=REQUIRED, admits_too_much=st.booleans())
    def check_requires_approvals(
        self,
        required: RequiredApproval | None,
        admits_too_much: bool,  # noqa: FBT001  hypothesis passes it by name
    ) -> None:
        self.required, self.admits_too_much = required, admits_too_much

    @rule(seconds=st.sampled_from([1, 60, 299, 301, 1801, 48 * 3600]))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(succeeded=st.booleans())
    def remediator_reports(self, succeeded: bool) -> None:  # noqa: FBT001  hypothesis passes it by name
        self.requests = {
            uid: request.model_copy(update={"succeeded": succeeded}) for uid, request in self.requests.items()
        }

    @rule(hang=st.booleans())
    def remediator_sets_finalizers(self, hang: bool) -> None:  # noqa: FBT001  hypothesis passes it by name
        self.has_finalizers = hang
        if not hang:
            self.requests = {u: r for u, r in self.requests.items() if not r.is_being_deleted}

    @rule()
    def somebody_deletes_the_requests(self) -> None:
        self.taken |= {uid for uid, one in self.requests.items() if not one.is_being_deleted}
        self.delete(tuple(self.requests))

    @rule(broken=st.frozensets(st.sampled_from([*MaintenanceTask, ACT])))
    def api_server_fails(self, broken: frozenset[str]) -> None:
        self.broken = broken

    @precondition(lambda self: self.is_open and self.requests)
    @rule(more=st.sampled_from([0, 59, 61]))
    def step_fails_and_nobody_can_tell_its_remediator(self, more: int) -> None:
        self.remediation_is_admitted()
        self.broken = frozenset({MaintenanceTask.ANNOTATE})
        self.requests = {
            uid: one.model_copy(update={"succeeded": False}) for uid, one in self.requests.items()
        }
        for seconds in (0, 0, more):
            self.now += timedelta(seconds=seconds)
            self.move()

    @rule()
    def person_confirms_that_it_is_healthy(self) -> None:
        self.is_confirmed = True

    @precondition(lambda self: self.is_open)
    @rule(seconds=st.none() | st.sampled_from([30, 600]))
    def person_aborts(self, seconds: int | None) -> None:
        self.order(AbortOrder(for_seconds=seconds))

    @precondition(lambda self: self.is_open)
    @rule(step=st.sampled_from(["", "reset"]), starts_over=st.booleans())
    def person_resumes(self, step: str, starts_over: bool) -> None:  # noqa: FBT001  hypothesis names it
        self.order(ResumeOrder())
        if starts_over:
            self.remember(starts_over=NewStart(first_step=step))

    @precondition(lambda self: self.is_open)
    @rule(seconds=st.none() | st.sampled_from([30, 600]))
    def person_holds(self, seconds: int | None) -> None:
        self.order(HoldOrder(for_seconds=seconds))

    @precondition(lambda self: self.is_open)
    @rule(step=st.sampled_from(["reboot", "reset"]))
    def person_skips(self, step: str) -> None:
        self.order(SkipOrder(step=step))

    @precondition(lambda self: self.is_open)
    @rule(
        answer=st.sampled_from([ApproveOrder, ApproveOrder, RejectOrder]),
        step=st.sampled_from(["reboot", "reset"]),
    )
    def person_answers(self, answer: type[ApproveOrder | RejectOrder], step: str) -> None:
        waits = self.memory.approval
        self.order(answer(step=step))
        is_obeyed = not self.memory.orders[-1].refused
        assert not is_obeyed or (waits and step in waits.names), self.log

    @precondition(lambda self: self.is_open)
    @rule()
    def step_is_approved_as_soon_as_it_waits(self) -> None:
        self.required = RequiredApproval(steps=(0, 1))
        self.remediation_is_admitted()
        if self.is_open and self.memory.approval:
            self.order(ApproveOrder(step=self.memory.approval.name))
            self.move()

    @precondition(lambda self: self.is_open)
    @rule()
    def person_claims_which_changes_no_move(self) -> None:
        seen = self.memory.complete(self.answer())
        claimed = learned(ordered(self.memory, ClaimOrder(), self.now), seen, self.now)
        unclaimed = ordered(claimed, UnclaimOrder(), self.now)
        without = learned(self.memory, seen, self.now)
        moves = [next_move(seen, one, self.now) for one in (without, claimed, unclaimed)]
        assert moves[1:] == moves[:1] * 2, self.log

    @precondition(lambda self: self.order_on_target is None and self.state is TargetState.HEALTHY)
    @rule(seconds=st.sampled_from([30, 600, 3600]))
    def person_orders_its_remediation(self, seconds: int) -> None:
        until = self.now + timedelta(seconds=seconds)
        self.order_on_target = remediation.remediation_order(given=self.now, until=until)
        self.has_booted = False
        if not self.is_open:
            self.memory, self.outcome = Memory(), None

    @rule()
    def node_boots(self) -> None:
        self.has_booted = True

    @invariant()
    def each_skip_ended_one_step_at_most(self) -> None:
        obeyed = [order for order in self.memory.orders if order.order == "skip" and not order.refused]
        assert len(self.memory.skipped) <= len(obeyed), self.log
        assert len(self.memory.skipped) == len(set(self.memory.skipped)), self.log

    @precondition(lambda self: self.is_open)
    @rule()
    def incident_is_terminated_and_started_anew(self) -> None:
        self.memory = Memory()
        self.has_forgotten = True

    @precondition(lambda self: not self.is_open and self.state not in ENDED)
    @rule()
    def target_fails_again(self) -> None:
        self.memory, self.outcome = Memory(), None

    @precondition(lambda self: self.is_open)
    @rule(is_refused=st.booleans())
    def incident_moves(self, is_refused: bool) -> None:  # noqa: FBT001  hypothesis passes it by name
        self.move(is_refused=is_refused)

    def order(self, order: OrderMessage) -> None:
        self.memory = ordered(self.memory, order, self.now)

    def move(self, *, is_refused: bool = False) -> Move:
        self.memory = self.memory.at(self.now)
        seen = self.memory.complete(self.answer())
        self.memory = learned(self.memory, seen, self.now)
        move = next_move(seen, self.memory, self.now)
        self.log.append(f"{self.now} {self.state}, {seen.requests}, {self.memory}: {move}")
        self.judge(seen, move)
        self.memory = self.memory.after_report(self.memory)
        match move:
            case AskApproval(approval=approval):
                self.memory = replace(self.memory, approval=approval)
            case TakeStep(step=number):
                self.act(number, is_refused=is_refused)
            case AnnotateRequests(patches=patches):
                self.annotate(patches)
            case RenewLease():
                self.renew()
            case ReleaseLease():
                if self.tries(MaintenanceTask.CLEAN_UP, OF_LEASE):
                    self.has_lease = False
                    self.memory = self.memory.after_release()
            case RemoveRequests():
                self.clean_up()
            case End(outcome=outcome):
                self.outcome = outcome
            case Wait():
                self.memory = self.memory.resting(self.now)
        return move

    def tries(self, task: MaintenanceTask, *subjects: TaskSubject) -> bool:
        """True if the maintenance task succeeds; a failed maintenance task is noted."""
        failures = [TaskFailure(subject=subject, what="do it", why="500") for subject in subjects]
        is_done = task not in self.broken
        self.memory = self.memory.after_attempt(
            task, subjects, () if is_done else failures, self.now, spread=0.5
        )
        return is_done

    def annotate(self, patches: tuple[AnnotationPatch, ...]) -> None:
        if self.tries(MaintenanceTask.ANNOTATE, *{patch.subject for patch in patches}):
            annotated = patched(self.requests.values(), patches)
            self.requests = {request.uid: request for request in annotated}
            self.memory = self.memory.after_annotation(patches)

    def renew(self) -> None:
        if self.tries(MaintenanceTask.RENEW, OF_LEASE):
            self.remember(lease=self.memory.lease.renewed(None, self.now))
        else:
            next_try = next_try_of(self.memory.notes, MaintenanceTask.RENEW, OF_LEASE)
            self.remember(lease=replace(self.memory.lease, renew_at=next_try))

    def judge(self, observation: Observation, move: Move) -> None:
        if isinstance(move, TakeStep):
            self.judge_act(observation, move.step)
        if isinstance(move, RemoveRequests):
            # A hold alone keeps what exists.
            is_ordered = self.memory.left_alone or self.memory.starts_over
            assert self.state in ENDED or is_ordered, self.log
            assert not self.is_by_order or self.memory.order_ended or is_ordered, self.log
            assert not self.must_be_kept(observation), self.log
        if isinstance(move, End):
            assert self.state in ENDED, self.log
            assert self.order_on_target is None or self.state is TargetState.GONE, self.log
            assert not self.requests, self.log
            assert not self.memory.owns_something, self.log
            assert self.has_forgotten or not self.has_lease, self.log
        if isinstance(move, RenewLease):
            assert self.requests, self.log
            assert not self.memory.left_alone, self.log
        if isinstance(move, Wait):
            assert move.details, self.log
            self.judge_rest(move)

    def judge_act(self, observation: Observation, number: int) -> None:
        """An act needs an admission, no hold, and the turn of its step."""
        is_skipped = (
            self.memory.skips_back_off and observation.hold and observation.hold.reason is HoldReason.BACK_OFF
        )
        assert self.is_remediated, self.log
        assert observation.hold is None or is_skipped, self.log
        assert not self.memory.left_alone, self.log
        assert not self.memory.held, self.log
        is_required = self.required is not None and number in self.required.steps
        assert not is_required or self.memory.is_approved(self.steps[number]), self.log
        assert not self.memory.is_rejected, self.log
        plan = Plan(self.steps, skipped=self.memory.skipped)
        for request in self.requests.values():
            assert plan.is_over(request, self.now), self.log
            assert request.timed_out_at or request.succeeded or self.is_waited_for(request), self.log
            assert plan.step_of(request.reference) != self.steps[number], self.log

    @property
    def is_remediated(self) -> bool:
        """True if a step is allowed in this state."""
        order = self.order_on_target
        is_ordered = self.is_by_order and order is not None and self.now < order.until
        return self.state is TargetState.EXPIRED or (is_ordered and not self.memory.order_ended)

    def is_waited_for(self, request: RequestSnapshot) -> bool:
        """True if the incident tried for long enough to stop the remediator."""
        notes = [
            one
            for one in self.memory.notes
            if (one.task, one.subject)
            == (MaintenanceTask.ANNOTATE, TaskSubject.of_annotations(request.uid, [TIMED_OUT]))
        ]
        return any(self.now >= note.since + STOP_PATIENCE for note in notes)

    def must_be_kept(self, observation: Observation) -> bool:
        """True while the healthyDelay keeps the requests."""
        if self.state is not TargetState.HEALTHY or self.memory.left_alone or not self.delay:
            return False
        living = [request for request in observation.requests if not request.is_being_deleted]
        if self.is_confirmed or not living:
            return False
        ends = [one.healthy_since and one.healthy_since + timedelta(seconds=self.delay) for one in living]
        return self.delay < 0 or any(end is None or self.now < end for end in ends)

    def judge_rest(self, move: Wait) -> None:
        """The incident never loops without waiting, and reports a user's hold only while it lasts."""
        timer = move.requeue_after(self.now)
        assert timer is None or timer > timedelta(), self.log
        if not self.memory.held or self.memory.left_alone or self.state in ENDED:
            return
        if move.phase is Phase.EXHAUSTED:
            return
        assert "held by a person" in str(move.details), self.log
        if self.memory.held.until is not None:
            assert timer is not None, self.log
            assert timer <= self.memory.held.until - self.now, self.log

    def act(self, number: int, *, is_refused: bool) -> None:
        self.memory = self.memory.before_act(self.steps[number])
        self.has_lease = True
        plan = Plan(self.steps)
        unseen = [request for request in self.memory.requests if request.uid not in self.requests]
        known = tuple(one for one in unseen if plan.step_of(one) in (self.steps[number], None))
        seen = self.look()
        lost = {one.uid for one in known}.difference(self.memory.settled(known, seen))
        if lost:
            assert lost & self.taken or self.has_forgotten, self.log
            self.memory = self.memory.after_loss(known, seen, self.now)
            return
        if is_refused or ACT in self.broken:
            hold = failed("500")
            self.memory = self.memory.after_failed_act(hold, seen, self.now, 0.5, is_forbidden=False)
            return
        self.made += 1
        step = self.steps[number]
        made = self.new_request(f"request-{self.made}", step)
        self.requests[made.uid] = made
        self.memory = self.memory.after_request(step, made, self.now, self.now)

    def new_request(self, uid: str, step: Step) -> RequestSnapshot:
        return request_snapshot(uid, created=self.now, template=step.template.name)

    def clean_up(self) -> None:
        known, before = {request.uid for request in self.memory.requests}, tuple(self.requests.values())
        requests = map(TaskSubject.of_request, known)
        if not self.tries(MaintenanceTask.CLEAN_UP, *requests, OF_LEASE, OF_CONFIRMATION):
            left = LeftBehind(failed=self.memory.requests, has_lease=self.memory.lease.may_be_held)
            self.memory = self.memory.after_clean_up(left, before, self.now)
            return
        self.delete(tuple(known))
        remaining = tuple(one.reference for uid, one in self.requests.items() if uid in known)
        if not remaining:
            self.has_lease = self.is_confirmed = False
            self.order_on_target = None
        left = LeftBehind(hanging=remaining, has_lease=bool(remaining))
        self.memory = self.memory.after_clean_up(left, before, self.now)

    def delete(self, uids: tuple[str, ...]) -> None:
        for uid in uids:
            if uid not in self.requests:
                continue
            if self.has_finalizers:
                self.requests[uid] = self.requests[uid].model_copy(update={"is_being_deleted": True})
            else:
                del self.requests[uid]

    def remember(self, **changes: Any) -> None:
        self.memory = replace(self.memory, **changes)

    @invariant()
    def there_is_one_request_for_a_step_at_most(self) -> None:
        templates = [request.reference.template for request in self.requests.values()]
        assert len(templates) == len(set(templates)), self.log

    def teardown(self) -> None:
        """Every world that recovers ends, and soon, with nothing left behind."""
        self.state, self.hold, self.is_confirmed = TargetState.HEALTHY, None, True
        self.has_booted = True
        self.remediator_sets_finalizers(hang=False)
        self.broken = frozenset()
        ends = [order.until for order in self.memory.blocking if order.until]
        self.now = max([self.now + RETRIES.longest, *ends])  # what failed is tried again by then
        for _ in range(MOST_MOVES_TO_THE_END):
            if not self.is_open:
                break
            self.move()
        assert not self.is_open, self.log
        assert self.outcome in (Outcome.RECOVERED, Outcome.REMEDIATED, Outcome.RELEASED, Outcome.GONE)
        assert self.has_forgotten or not self.has_lease, self.log


World.TestCase.settings = settings(max_examples=200, stateful_step_count=30)
TestWorld = World.TestCase
