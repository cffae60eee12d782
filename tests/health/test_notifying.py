"""When an incident notifies a receiver, and of what."""

import shlex
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.approval import ApprovalDefault, RequiredApproval
from health.model.moves import AskApproval, End, Outcome, Wait
from health.model.notification import DEFAULT_EVENTS, Notification, NotificationEvent, WantedEvents
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.runbook.decide import next_move
from health.runbook.incident import Incident
from health.runbook.learn import learned
from health.runbook.memory_parts import LeaseMemory
from health.runbook.notifications import WANTED_BY_PEOPLE, due, held_long_at, noted
from health.runbook.orders import AbortOrder, ApproveOrder, HoldOrder, RejectOrder, ordered
from health.runbook.state import Memory
from tests.health.test_totality import MEMORIES, NOWS, OBSERVATIONS
from tests.support.values import remediation_orders
from tests.support.values.builders import FIRST, INCIDENT, MINUTE, NOW, SECOND, request_of, seen
from tests.support.values.memories import ACTED

ONCALL = WantedEvents(receiver="oncall", events=DEFAULT_EVENTS, held_for_seconds=1800)
EVERYTHING = WantedEvents(receiver="log", events=tuple(NotificationEvent), held_for_seconds=3600)
FOR_APPROVAL = RequiredApproval(steps=(0, 1, 2), expires_after_seconds=600, default=ApprovalDefault.HOLD)
STORM = Hold(reason=HoldReason.STORM, message="too many")
BOTH = (ONCALL, EVERYTHING)


class Story:
    """An incident that rests again and again, as its workflow does."""

    def __init__(self, *receivers: WantedEvents) -> None:
        self.receivers = receivers or (ONCALL,)
        self.memory = Memory()
        self.now = NOW
        self.sent: list[tuple[str, Notification]] = []
        self.wait: Wait | End | None = None

    def rests(self, observation: Observation, after: timedelta = MINUTE) -> list[str]:
        """The notifications of one rest, as receiver and event."""
        self.now += after
        observation = observation.model_copy(update={"notifies": self.receivers})
        memory = learned(self.memory.at(self.now), observation, self.now)
        self.memory = replace(memory, lease=LeaseMemory())  # which is another subject
        move = next_move(observation, self.memory, self.now)
        if isinstance(move, AskApproval):
            self.memory = replace(self.memory, approval=move.approval)
            move = next_move(observation, self.memory, self.now)
        assert isinstance(move, Wait | End), move
        self.memory = noted(Incident.of(observation, self.memory, self.now), move)
        found = due(INCIDENT, Incident.of(observation, self.memory, self.now), move, NOW)
        for one in found:
            self.memory = one.remembered(self.memory)
        self.sent += [(one.receiver, one.notification) for one in found]
        self.wait = move
        self.asked_again = held_long_at(Incident.of(observation, self.memory, self.now))
        return [f"{one.receiver} {one.notification.event}" for one in found]

    def order(self, message: Any) -> None:
        self.memory = ordered(self.memory, message, self.now)

    @property
    def latest(self) -> Notification:
        return self.sent[-1][1]


def needing(**fields: Any) -> Observation:
    return seen(approval=FOR_APPROVAL, **fields)


def running(step: Any = FIRST) -> Observation:
    return seen(request_of(step))


def exhausted() -> Observation:
    return seen(request_of(FIRST, 9 * MINUTE, succeeded=False, timed_out_at=NOW), steps=(FIRST,))


def healthy() -> Observation:
    return seen(state=TargetState.HEALTHY, fact=None)


def test_only_a_target_that_conditions_call_unhealthy_is_unhealthy_since_a_time() -> None:
    failed, by_order = Story(), Story()
    failed.rests(needing(deadline=NOW))
    by_order.rests(remediation_orders.ordered(approval=FOR_APPROVAL))
    assert failed.latest.event == by_order.latest.event == NotificationEvent.APPROVAL_REQUIRED
    assert failed.latest.failed_since == NOW
    assert by_order.latest.failed_since is None
    assert "ordered by alice" in by_order.latest.reason


def test_question_is_told_once_and_again_when_its_time_is_over() -> None:
    story = Story()
    assert story.rests(needing()) == ["oncall ApprovalRequired"]
    asked = story.latest
    assert asked.asks_a_person
    assert asked.title == "Node/node-1 waits for the approval of RebootTemplate/reboot"
    assert "waits for approval until " in asked.reason
    assert (asked.waits_for, asked.waits_until) == (
        "the question for an approval expires",
        NOW + MINUTE + timedelta(minutes=10),
    )
    assert [story.rests(needing()) for _ in range(9)] == [[]] * 9
    assert story.rests(needing(), 2 * MINUTE) == ["oncall ApprovalRequired"]
    assert story.latest.title.endswith("and the time for the answer is over")
    assert story.latest.id != asked.id
    assert story.rests(needing()) == []


def test_question_has_the_commands_that_answer_it() -> None:
    story = Story()
    story.rests(needing())
    name = f"workers/node-1 --cluster {INCIDENT.cluster}"
    assert story.latest.commands == (
        f"paramedic approve {name} --step RebootTemplate/reboot",
        f"paramedic reject {name} --step RebootTemplate/reboot",
        f"paramedic show {name}",
    )
    assert all(shlex.split(one)[0] == "paramedic" for one in story.latest.commands)


def test_rejection_is_told_once() -> None:
    story = Story()
    story.rests(needing())
    story.order(RejectOrder(step="RebootTemplate/reboot", identity="ada", reason="no"))
    assert story.rests(needing()) == ["oncall StepRejected"]
    assert "by ada: no" in story.latest.reason
    assert story.rests(needing()) == []


@pytest.mark.parametrize("reason", [*HoldReason])
def test_hold_is_told_after_its_time_unless_people_want_it(reason: HoldReason) -> None:
    story = Story()
    held = seen(hold=Hold(reason=reason, message="no"))
    story.rests(held)
    if isinstance(story.wait, Wait) and reason not in WANTED_BY_PEOPLE:
        assert story.asked_again is not None
        assert story.asked_again.at == NOW + MINUTE + timedelta(minutes=30)
    told = [*story.rests(held, timedelta(minutes=29)), *story.rests(held), *story.rests(held)]
    assert told == ([] if reason in WANTED_BY_PEOPLE else ["oncall Held"])


def test_hold_goes_on_while_its_reason_changes_and_each_receiver_has_its_own_time() -> None:
    story = Story(*BOTH)
    assert story.rests(seen(hold=STORM)) == []
    other = seen(hold=Hold(reason=HoldReason.THRESHOLD, message="6 of 10"))
    assert story.rests(other, timedelta(minutes=30)) == ["oncall Held"]
    assert story.latest.title == "Node/node-1 is held since 2026-03-01T12:01:00Z"
    assert "Threshold: 6 of 10" in story.latest.reason
    assert story.latest.waits_until is None
    assert story.rests(seen(hold=STORM), timedelta(minutes=30)) == ["log Held"]
    assert story.rests(seen(hold=STORM), timedelta(hours=9)) == []


def test_hold_that_ended_meanwhile_counts_anew() -> None:
    story = Story()
    story.rests(seen(hold=STORM))
    story.rests(seen(state=TargetState.WAITING), timedelta(minutes=29))
    assert story.rests(seen(hold=STORM), timedelta(minutes=2)) == []
    assert story.rests(seen(hold=STORM), timedelta(minutes=30)) == ["oncall Held"]


def test_hold_by_a_person_is_not_told() -> None:
    story = Story()
    story.order(HoldOrder(reason="disk"))
    story.rests(seen(hold=STORM))
    assert story.rests(seen(hold=STORM), timedelta(hours=9)) == []
    assert story.asked_again is None


def test_open_question_is_told_instead_of_a_hold_that_comes_later() -> None:
    story = Story()
    story.rests(needing())
    assert story.rests(needing(hold=STORM), timedelta(minutes=5)) == []
    assert story.memory.notifications.held_since is None


def test_exhausted_incident_is_told_once() -> None:
    story = Story()
    assert story.rests(exhausted()) == ["oncall Exhausted"]
    assert story.latest.title == "Node/node-1 is still unhealthy after every step"
    assert story.rests(exhausted(), timedelta(days=1)) == []


def test_each_step_is_told_to_a_receiver_that_wants_it() -> None:
    story = Story(*BOTH)
    assert story.rests(running()) == ["log StepTaken"]
    assert story.latest.title == ("Node/node-1 is being remediated by RebootTemplate/reboot, step 1 of 3")
    assert story.rests(running()) == []
    over = request_of(FIRST, 9 * MINUTE, succeeded=False, timed_out_at=NOW)
    second = request_of(SECOND).model_copy(update={"created": NOW + 2 * MINUTE})
    assert story.rests(seen(over, second)) == ["log StepTaken"]


def test_abort_is_told_with_the_person() -> None:
    story = Story()
    story.order(AbortOrder(identity="ada@desk", reason="swap"))
    assert story.rests(seen(hold=STORM)) == ["oncall LeftAlone"]
    assert story.latest.title == "Node/node-1 is left alone after an abort by ada@desk"


@pytest.mark.parametrize(
    ("asked", "told"), [(True, ["oncall Recovered", "log Recovered"]), (False, ["log Recovered"])]
)
def test_outcome_is_told_to_receivers_that_want_it_or_were_asked(asked: bool, told: list[str]) -> None:  # noqa: FBT001  a parameter of the test
    story = Story(*BOTH)
    story.rests(needing() if asked else seen(hold=STORM))
    assert story.rests(healthy()) == told
    assert story.latest.commands == (f"paramedic show workers/node-1 --cluster {INCIDENT.cluster}",)
    assert story.latest.waits_for == ""
    assert story.rests(healthy()) == []


def test_recovery_after_an_abort_is_not_told_as_one_before_anything_was_done() -> None:
    story = Story(EVERYTHING)
    story.memory = ACTED
    story.order(AbortOrder())
    story.rests(seen())
    assert story.rests(healthy()) == ["log Recovered"]
    assert story.latest.title == "Node/node-1 recovered after an abort"


def test_incident_in_shadow_tells_only_its_outcome() -> None:
    story = Story(*BOTH)
    held = seen(hold=STORM, is_shadow=True)
    story.rests(held)
    assert story.rests(held, timedelta(hours=2)) == []
    assert story.rests(healthy().model_copy(update={"is_shadow": True})) == ["log Recovered"]


def test_approved_step_that_is_held_then_counts_from_the_hold() -> None:
    story = Story()
    story.rests(needing())
    story.order(ApproveOrder(step="RebootTemplate/reboot", identity="ada"))
    story.rests(needing(hold=STORM))
    assert story.rests(needing(hold=STORM), timedelta(minutes=30)) == ["oncall Held"]


def test_nothing_is_remembered_without_receivers() -> None:
    story = Story()
    story.receivers = ()
    assert story.rests(needing()) == story.rests(seen(hold=STORM), timedelta(hours=2)) == []
    assert story.memory.notifications == Memory().notifications
    assert story.asked_again is None


def test_two_incidents_of_one_target_have_other_ids() -> None:
    observation = healthy().model_copy(update={"notifies": (EVERYTHING,)})
    incident = Incident.of(observation, Memory(), NOW)
    move = next_move(observation, Memory(), NOW)
    assert isinstance(move, End)
    assert move.outcome is Outcome.RECOVERED
    ids = {due(INCIDENT, incident, move, began)[0].notification.id for began in (NOW, NOW, NOW + MINUTE)}
    assert len(ids) == 2


WANTED = st.builds(
    WantedEvents,
    receiver=st.sampled_from(["a", "b"]),
    events=st.lists(st.sampled_from(NotificationEvent), max_size=3).map(tuple),
    held_for_seconds=st.sampled_from([60.0, 1800.0]),
)


@given(OBSERVATIONS, MEMORIES, NOWS, st.lists(WANTED, max_size=2, unique_by=lambda one: one.receiver))
def test_whatever_happens_each_notification_is_bounded_wanted_and_sent_once(
    observation: Observation, memory: Memory, now: Any, receivers: list[WantedEvents]
) -> None:
    observation = memory.complete(observation).model_copy(update={"notifies": tuple(receivers)})
    memory = learned(memory.at(now), observation, now)
    move = next_move(observation, memory, now)
    if not isinstance(move, Wait | End):
        return
    memory = noted(Incident.of(observation, memory, now), move)
    found = due(INCIDENT, Incident.of(observation, memory, now), move, now)
    wanted = {one.receiver: one.events for one in receivers}
    for one in found:
        assert one.notification.event in wanted[one.receiver]
        assert len(one.notification.model_dump_json()) < 20_000
        memory = one.remembered(memory)
    assert due(INCIDENT, Incident.of(observation, memory, now), move, now) == ()
