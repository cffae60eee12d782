"""When an incident goes on by itself: maintenance tasks and safety nets are not reported.

The oracle is the runbook itself: an incident in a cluster where nothing changes is carried on in time, with
its maintenance tasks, until it does something that people would notice.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from health.model.moves import (
    AnnotateRequests,
    Move,
    NextTransition,
    Phase,
    ReleaseLease,
    RenewLease,
    TakeStep,
    Wait,
)
from health.model.observation import Observation, TargetState, failed
from health.model.references import Action, Step
from health.model.remediation_request import TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from health.model.task_subject import TaskSubject
from health.runbook.decide import next_move
from health.runbook.failures import LeftBehind, MaintenanceTask, TaskFailure, after_failure
from health.runbook.incident import STOP_PATIENCE, becomes_overdue_at
from health.runbook.learn import learned
from health.runbook.memory_parts import LeaseMemory, LeaseState
from health.runbook.state import Memory
from tests.support.values.builders import (
    CLASSIC,
    ESCALATION,
    FIRST,
    HOLD,
    MINUTE,
    NOW,
    SECOND,
    THIRD,
    request_of,
    seen,
    with_steps_tried,
)
from tests.support.values.memories import ACTED, move, standing, timer_of, with_lease

MONTH = timedelta(days=30)
A_MOMENT = timedelta(seconds=1)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Incident:
    first: Observation
    memory: Memory
    now: datetime = NOW

    @property
    def observation(self) -> Observation:
        """The same cluster, later: what a clock ends has ended."""
        left = self.first.remaining_seconds - (self.now - NOW).total_seconds()
        if self.first.state is not TargetState.WAITING or left > 0:
            return self.first.model_copy(update={"remaining_seconds": left, "answered_at": self.now})
        return self.first.model_copy(update={"state": TargetState.EXPIRED, "answered_at": self.now})

    def step(self) -> tuple[Move, "Incident"]:
        """Its next move, and the incident after that."""
        memory = self.memory.at(self.now)
        observation = memory.complete(self.observation)
        memory = learned(memory, observation, self.now)
        move = next_move(observation, memory, self.now)
        after = replace(self, memory=memory)
        match move:
            case Wait() if (timer := move.requeue_after(self.now)) is not None:
                return move, replace(after, now=self.now + timer)
            case RenewLease():
                renewed = self.now + DAY  # how often it is renewed must not matter
                return move, replace(after, memory=with_lease(memory, renew_at=renewed))
            case AnnotateRequests(patches=patches):
                return move, replace(after, memory=memory.after_annotation(patches))
            case ReleaseLease():
                return move, replace(after, memory=memory.after_release())
        return move, after

    def until_it_rests(self) -> "tuple[Wait, Incident] | None":
        """Its first rest, and the incident in it; None if it comes to something else before."""
        incident = self
        for _ in range(5):
            move, after = incident.step()
            if isinstance(move, Wait):
                return move, replace(after, now=incident.now)
            incident = after
            if not isinstance(move, RenewLease | AnnotateRequests | ReleaseLease):
                return None
        return None

    def moments(self) -> "Iterator[tuple[Move, Incident]]":
        """The moves of a month, with their times."""
        incident = self
        while incident.now < NOW + MONTH:
            move, after = incident.step()
            yield move, replace(after, now=incident.now)
            if not isinstance(move, Wait | RenewLease | AnnotateRequests | ReleaseLease) or after == incident:
                return
            incident = after


def noticed(incident: Incident, rest: Wait) -> datetime | None:
    """When the incident first does something that people notice."""
    for following, later in incident.moments():
        if rest.phase is Phase.REMEDIATING and _is_new(incident, following, later):
            return later.now
        is_same = isinstance(following, Wait) and following.phase is rest.phase
        if not is_same and not isinstance(following, RenewLease | AnnotateRequests | ReleaseLease):
            return later.now
    return None


def _is_held_for_good(incident: Incident, rest: Wait) -> bool:
    """True if only `resume` leads to another move, whatever timer expires."""
    memory = incident.memory
    return rest.phase is Phase.REMEDIATING and memory.held is not None and memory.held.until is None


def _is_new(before: Incident, move: Move, after: Incident) -> bool:
    """The changes that a user sees while a remediator works, although the phase stays."""
    is_other = (before.memory.held, before.observation.state) != (after.memory.held, after.observation.state)
    return is_other or _stops(move)


def _stops(move: Move) -> bool:
    """True if the remediator is stopped or the Lease is released."""
    if isinstance(move, AnnotateRequests):
        return any(mark.annotations.get(TIMED_OUT) for mark in move.patches)
    return isinstance(move, ReleaseLease)


AGES = st.sampled_from([timedelta(), 3 * MINUTE, 20 * MINUTE, 47 * timedelta(hours=1), 3 * DAY])
LATEST = st.builds(
    lambda step, age, succeeded, since: request_of(step, age, succeeded=succeeded, healthy_since=since),
    st.sampled_from(ESCALATION),
    AGES,
    st.sampled_from([None, None, True, False]),
    st.sampled_from([None, NOW - MINUTE]),
)
TRIED = st.sampled_from([(), (FIRST,), (FIRST, SECOND), ESCALATION])
REQUESTS = st.builds(
    lambda tried, latest: [
        *(one for one in with_steps_tried(*tried) if latest is None or one.uid != latest.uid),
        *([latest] if latest else []),
    ],
    TRIED,
    st.none() | LATEST,
)
ORDERS = st.sampled_from(
    [
        {},
        {"standing": standing("hold", "power work")},
        {"standing": standing("hold", "power work", NOW + 40 * MINUTE)},
        {"standing": standing("abort", "power work", NOW + 9 * DAY)},
        {"standing": standing("abort", "power work")},
    ]
)
MEMORIES = st.builds(
    lambda base, given: replace(base, **given),
    st.sampled_from([Memory(), ACTED]),
    ORDERS,
)
STATES = st.sampled_from([TargetState.EXPIRED, TargetState.WAITING, TargetState.HEALTHY, TargetState.GONE])
OBSERVATIONS = st.builds(
    lambda requests, state, steps, waits, delay: seen(
        *requests, state=state, steps=steps, remaining_seconds=waits, healthy_delay_seconds=delay
    ),
    REQUESTS,
    STATES,
    st.sampled_from([CLASSIC, ESCALATION]),
    st.sampled_from([90.0, 10 * DAY.total_seconds()]),
    st.sampled_from([-1.0, 300.0, 9 * DAY.total_seconds()]),
)


@settings(max_examples=150)
@given(observation=OBSERVATIONS, memory=MEMORIES)
def test_incident_goes_on_at_the_announced_time_and_changes_nothing_visible_before(
    observation: Observation, memory: Memory
) -> None:
    found = Incident(observation, memory).until_it_rests()
    if found is None:
        return
    rest, incident = found
    expected, actual = noticed(incident, rest), rest.next_transition.at

    if expected is None or expected > NOW + MONTH or _is_held_for_good(incident, rest):
        assert actual is None
    else:
        assert actual is not None
        assert abs(actual - expected) <= A_MOMENT


def told(observation: Observation, memory: Memory = ACTED, now: datetime = NOW) -> NextTransition:
    """The reported next move of an incident with this observation and memory."""
    return move(observation, memory, now).next_transition


NEW = Memory()
ABORTED = replace(ACTED, standing=standing("abort", "power work"))


def test_held_incident_goes_on_when_it_asks_the_detector_again() -> None:
    again = NOW + timedelta(seconds=HOLD.ask_again_seconds)
    for observation, memory in (
        (seen(hold=HOLD), NEW),
        (seen(request_of(FIRST), state=TargetState.UNKNOWN, hold=HOLD), ACTED),
    ):
        assert told(observation, memory) == NextTransition(at=again, what="asks the detector again")


def test_wake_up_of_a_request_with_a_finalizer_is_no_transition() -> None:
    hanging = request_of(FIRST, is_being_deleted=True)
    memory = ABORTED.after_clean_up(LeftBehind(hanging=(hanging.reference,)), [hanging], NOW)
    result = move(seen(hanging), memory)
    assert timer_of(result) == MINUTE.total_seconds()
    assert result.next_transition == NextTransition(what="when the requests are gone")


def test_failed_deletion_is_tried_again_at_its_time() -> None:
    failure = TaskFailure(subject=TaskSubject.of_request("reboot"), what="delete it", why="500")
    memory = ABORTED.after_attempt(MaintenanceTask.CLEAN_UP, {failure.subject}, [failure], NOW, 1)
    request = request_of(FIRST)
    memory = memory.after_clean_up(LeftBehind(failed=(request.reference,), has_lease=True), [request], NOW)
    assert told(seen(request), memory) == NextTransition(
        at=NOW + 2 * A_MOMENT, what="the failed clean-up is tried again"
    )


def test_act_that_failed_is_made_again_at_its_time_and_not_when_a_task_is() -> None:
    observation = seen()
    failing = after_failure(None, failed("away"), observation, NOW, 0)
    failure = TaskFailure(subject=TaskSubject.of_request("reboot"), what="delete it", why="500")
    memory = Memory(failing=failing).after_attempt(
        MaintenanceTask.CLEAN_UP, {failure.subject}, [failure], NOW, 0
    )
    assert timer_of(move(observation, memory)) == 1
    due = NextTransition(at=NOW + timedelta(seconds=5), what="its next attempt to act is due")
    assert told(observation, memory) == due
    assert told(seen(hold=HOLD), memory).what == "asks the detector again"
    edited = seen(generation=9)
    assert isinstance(move(edited, memory), TakeStep)


@pytest.mark.rule("rule 47")
def test_step_that_waits_for_the_end_of_the_one_before_says_until_when() -> None:
    over = request_of(FIRST, succeeded=False)
    stop = TaskSubject.of_annotations(over.uid, [TIMED_OUT])
    failure = TaskFailure(subject=stop, what="annotate it", why="500")
    memory = ACTED.after_attempt(MaintenanceTask.ANNOTATE, {stop}, [failure], NOW, 1)
    words = (
        "it stops waiting for the stop annotation of the previous request, and RebootTemplate/reset is next"
    )
    assert told(seen(over), memory) == NextTransition(at=NOW + STOP_PATIENCE, what=words)
    later = memory.after_attempt(MaintenanceTask.ANNOTATE, {stop}, [failure], NOW + STOP_PATIENCE, 1)
    assert told(seen(over, hold=HOLD), later, NOW + STOP_PATIENCE).what == "asks the detector again"


def test_act_that_is_under_way_is_the_next_transition() -> None:
    assert told(seen(), NEW) == NextTransition(what="when its attempt to act is over")


def test_task_hides_nothing_of_what_comes_after_it() -> None:
    observation = seen(request_of(FIRST))
    due = with_lease(ACTED, renew_at=NOW)
    assert isinstance(move(observation, due), RenewLease)
    assert told(observation, due) == told(observation, ACTED)


def remediating(
    *requests: RequestSnapshot, steps: tuple[Step, ...] = ESCALATION, **memory: Any
) -> NextTransition:
    """The next transition during a remediation; no step is overdue before its timeout."""
    return told(seen(*requests, steps=steps), replace(ACTED, **memory))


def test_step_that_runs_is_named_with_the_one_that_follows_it() -> None:
    words = "the step RebootTemplate/reboot times out, and RebootTemplate/reset is next"
    assert remediating(request_of(FIRST)) == NextTransition(at=NOW + 5 * MINUTE, what=words)


def test_last_step_is_followed_by_none() -> None:
    tried = with_steps_tried(FIRST, SECOND)
    found = remediating(
        *tried, request_of(THIRD), lease=LeaseMemory(state=LeaseState.HELD, duration_seconds=600.0)
    )
    assert found.what == "the step ReplaceTemplate/replace times out, and no template is left to try"


def test_step_that_was_tried_already_is_not_next() -> None:
    found = remediating(request_of(FIRST), spent=(SECOND.template,))
    assert found.what.endswith("and ReplaceTemplate/replace is next")


def test_remediation_without_a_timeout_goes_on_when_it_is_overdue() -> None:
    at_work = seen(request_of(CLASSIC[0]), steps=CLASSIC)
    memory = with_lease(ACTED, duration_seconds=300.0)
    overdue = "the remediation is overdue, and its Lease is released"
    assert next_move(at_work, memory, NOW).next_transition == NextTransition(
        at=NOW + 15 * MINUTE, what=overdue
    )
    assert becomes_overdue_at(at_work, memory) == NOW + 15 * MINUTE


def test_deadline_is_followed_by_the_first_step() -> None:
    words = "its deadline passes, and RebootTemplate/reboot is next"
    found = told(seen(state=TargetState.WAITING), NEW)
    assert found == NextTransition(at=NOW + timedelta(seconds=90), what=words)


def test_deletion_of_a_machine_is_the_next_transition() -> None:
    observation = seen(state=TargetState.WAITING, steps=(Step(action=Action.DELETE),))
    assert told(observation, NEW).what == "its deadline passes, and its deletion is next"


def test_hold_without_an_end_has_only_its_lifting_as_next_transition() -> None:
    for request, steps in ((request_of(FIRST), ESCALATION), (request_of(CLASSIC[0]), CLASSIC)):
        found = remediating(request, steps=steps, standing=standing("hold", "power work"))
        assert found == NextTransition(what="by resume, or when it recovers")


def test_timer_that_expires_under_a_hold_is_shown_with_the_step_after_the_hold() -> None:
    soon, late = NOW + 2 * MINUTE, NOW + 40 * MINUTE
    ends_before = remediating(request_of(FIRST), standing=standing("hold", until=soon))
    assert ends_before == NextTransition(at=soon, what="the hold ends")
    ends_later = remediating(request_of(FIRST), standing=standing("hold", until=late))
    assert ends_later.at == NOW + 5 * MINUTE
    assert ends_later.what.endswith("and RebootTemplate/reset is next once the hold ends")


def test_abort_for_a_time_goes_on_at_its_end() -> None:
    until = NOW + 40 * MINUTE
    memory = Memory(standing=standing("abort", until=until))
    assert told(seen(), memory) == NextTransition(at=until, what="the abort ends")


def test_healthy_delay_ends_with_the_requests() -> None:
    recovered = seen(
        request_of(FIRST, healthy_since=NOW), state=TargetState.HEALTHY, healthy_delay_seconds=300.0
    )
    words = "healthyDelay ends, and the requests are deleted"
    assert told(recovered) == NextTransition(at=NOW + 5 * MINUTE, what=words)
    for_good = recovered.model_copy(update={"healthy_delay_seconds": -1.0})
    assert told(for_good) == NextTransition(what="when a person confirms that it is healthy")


def test_node_whose_end_is_expected_waits_for_its_remediator() -> None:
    going = seen(request_of(FIRST, is_node_deletion_expected=True), state=TargetState.GONE)
    assert told(going) == NextTransition(what="when its remediator is done")


def test_incident_without_a_template_left_waits_for_resume() -> None:
    found = told(seen(*with_steps_tried(*ESCALATION)))
    assert found == NextTransition(what="by resume, or when it recovers")
