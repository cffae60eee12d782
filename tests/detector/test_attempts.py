"""Earlier remediations of a target in the detector's memory hold the next one."""

from datetime import timedelta

import pytest

from detector.attempts.attempts import NOT_READ, Attempts
from health.gate.back_off import EndedAttempt
from health.model.observation import HoldReason, Observation
from health.model.references import TargetReference
from health.model.target import TargetName
from health.policy.policy import Policy
from tests.support.state.small_cluster import SmallCluster, incident_of
from tests.support.values.builders import NOW

LIMIT = timedelta(minutes=30)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)


class Memory:
    """The attempts that one detector remembers, and its answers."""

    def __init__(self, limit: timedelta = LIMIT) -> None:
        self.cluster = SmallCluster()
        self.cluster.check(minHealthy=0)
        self.policy = Policy(back_off_limit=limit)
        self.attempts = Attempts(lambda: self.policy, self.cluster.cluster_state, lambda: self.cluster.now)
        self.attempts.complete()
        self.cluster.cluster_state.event_handlers.add_request_handler(self.attempts.request_changed)

    def remediate(self, name: str, *, attempt: int = 1, at: timedelta = timedelta()) -> None:
        """Remediate a node: it fails, a request is made, it recovers, and the request is gone `at`."""
        self.cluster.now = NOW + at - MINUTE
        self.cluster.node(name, ready="Unknown", since=self.cluster.now - 6 * MINUTE)
        self.cluster.request(name, attempt=attempt)
        self.cluster.node(name, ready="True", since=self.cluster.now + SECOND)
        created = self.cluster.now
        self.cluster.now = NOW + at
        self.cluster.delete_request(name, age=self.cluster.now - created)

    def latest(self, name: str) -> EndedAttempt | None:
        return self.attempts.before(TargetName("Node", "", name)).latest

    def fail(self, name: str, at: timedelta) -> None:
        """Let a node fail `at`; its deadline is 5 minutes later."""
        self.cluster.node(name, ready="Unknown", since=NOW + at)

    def observe(self, name: str, at: timedelta) -> Observation:
        self.cluster.now = NOW + at
        incident = incident_of(name)
        before = self.attempts.before(TargetName.of(incident.target))
        return self.cluster.observe(incident.target.name, back_off=before)


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.mark.rule("rule 14")
def test_first_remediation_does_not_wait(memory: Memory) -> None:
    memory.fail("node-1", timedelta())

    seen = memory.observe("node-1", 6 * MINUTE)

    assert seen.may_be_admitted
    assert seen.earlier_attempts == 0


@pytest.mark.rule("rule 14")
def test_remediation_that_follows_others_is_held_until_its_time(memory: Memory) -> None:
    memory.remediate("node-1", attempt=4)
    memory.fail("node-1", SECOND)

    seen = memory.observe("node-1", 6 * MINUTE)
    assert seen.hold is not None
    assert (seen.hold.reason, seen.hold.message, seen.hold.ask_again_seconds) == (
        HoldReason.BACK_OFF,
        "5th remediation in a row, due at 2026-03-01T12:08:00Z",
        120,
    )
    assert seen.earlier_attempts == 4
    assert seen.back_off_limit_seconds == 1800
    assert memory.observe("node-1", 8 * MINUTE).may_be_admitted


@pytest.mark.rule("rule 14")
def test_others_that_fail_side_by_side_do_not_wait(memory: Memory) -> None:
    memory.remediate("node-1", attempt=4)
    memory.fail("node-2", SECOND)

    assert memory.observe("node-2", 6 * MINUTE).may_be_admitted


@pytest.mark.rule("rule 14")
def test_target_recreated_under_its_name_waits_as_the_earlier_one_would(memory: Memory) -> None:
    memory.remediate("node-1", attempt=4)
    memory.cluster.node("node-1", ready="Unknown", since=NOW + SECOND, uid="another")
    memory.cluster.now = NOW + 6 * MINUTE
    target = TargetReference(kind="Node", name="node-1", uid="another")

    assert memory.attempts.before(TargetName.of(target)).hold(NOW + SECOND, memory.cluster.now) is not None


@pytest.mark.rule("rule 14")
def test_remediation_under_way_is_not_held_for_its_next_step(memory: Memory) -> None:
    memory.remediate("node-1", attempt=4)
    memory.fail("node-1", SECOND)
    memory.cluster.now = NOW + MINUTE
    memory.cluster.request("node-1", uid="new", attempt=5)

    seen = memory.observe("node-1", 6 * MINUTE)

    assert seen.hold is None
    assert seen.earlier_attempts == 4


@pytest.mark.rule("rule 14")
def test_remediation_ends_with_the_last_of_its_requests(memory: Memory) -> None:
    memory.cluster.node("node-1", ready="Unknown", since=NOW - 9 * MINUTE)
    memory.cluster.request("node-1", uid="first", attempt=2)
    memory.cluster.request("node-1", uid="second", attempt=2)
    memory.cluster.now = NOW + MINUTE
    memory.cluster.delete_request("node-1", uid="first", age=MINUTE)
    before_the_last = memory.latest("node-1")
    memory.cluster.now = NOW + 2 * MINUTE
    memory.cluster.delete_request("node-1", uid="second", age=2 * MINUTE)

    assert before_the_last is None
    assert memory.latest("node-1") == EndedAttempt(2, NOW + 2 * MINUTE, NOW)


def test_request_that_is_lost_while_its_failure_goes_on_is_left_to_its_incident(memory: Memory) -> None:
    memory.fail("node-1", -6 * MINUTE)
    memory.cluster.request("node-1")
    memory.cluster.now = NOW + MINUTE
    memory.cluster.delete_request("node-1", age=MINUTE)

    seen = memory.observe("node-1", MINUTE)

    assert seen.may_be_admitted
    assert seen.earlier_attempts == 0


@pytest.mark.rule("rule 14")
def test_target_that_fails_again_in_the_second_of_its_request_waits(memory: Memory) -> None:
    memory.cluster.node("node-1", ready="Unknown", since=NOW - 6 * MINUTE)
    memory.cluster.request("node-1")
    memory.cluster.node("node-1", since=NOW)
    memory.cluster.delete_request("node-1")
    memory.fail("node-1", timedelta())

    seen = memory.observe("node-1", 5 * MINUTE + SECOND)

    assert seen.earlier_attempts == 1


@pytest.mark.rule("rule 14/reset")
def test_target_that_was_healthy_for_the_limit_begins_anew(memory: Memory) -> None:
    memory.remediate("node-1", attempt=4)
    memory.fail("node-1", LIMIT)

    seen = memory.observe("node-1", LIMIT + 6 * MINUTE)

    assert seen.may_be_admitted
    assert seen.earlier_attempts == 0


@pytest.mark.rule("rule 14/limit")
def test_limit_of_zero_holds_nothing() -> None:
    memory = Memory(timedelta())
    memory.remediate("node-1", attempt=9)
    memory.fail("node-1", SECOND)

    assert memory.observe("node-1", 6 * MINUTE).may_be_admitted


@pytest.mark.rule("rule 3", "rule 14")
def test_nothing_is_admitted_before_it_is_known_what_ended(memory: Memory) -> None:
    memory.attempts = Attempts(Policy, memory.cluster.cluster_state, lambda: memory.cluster.now)
    memory.fail("node-1", timedelta())

    hold = memory.observe("node-1", 6 * MINUTE).hold

    assert hold is not None
    assert (hold.reason, hold.message) == (HoldReason.BACK_OFF, NOT_READ)


@pytest.mark.rule("rule 3", "rule 14")
def test_process_that_has_watched_for_twice_the_limit_needs_no_earlier_ends(memory: Memory) -> None:
    state, policy = memory.cluster.cluster_state, memory.policy
    memory.attempts = Attempts(lambda: policy, state, lambda: memory.cluster.now)
    memory.attempts.watch_begins()
    memory.cluster.now += 2 * policy.back_off_limit - SECOND
    assert memory.attempts.unread == NOT_READ
    memory.cluster.now += SECOND
    assert not memory.attempts.unread
    memory.fail("node-1", memory.cluster.now - NOW)
    assert memory.observe("node-1", memory.cluster.now - NOW + 6 * MINUTE).may_be_admitted


def test_later_one_of_two_ends_is_kept_in_either_order(memory: Memory) -> None:
    name = TargetName("Node", "", "node-1")
    memory.remediate("node-1", attempt=2)
    seen_in_the_watch = memory.latest("node-1")

    memory.attempts.note(name, EndedAttempt(1, NOW - MINUTE))
    assert memory.latest("node-1") == seen_in_the_watch

    later = EndedAttempt(2, NOW + SECOND)
    memory.attempts.note(name, later)
    assert memory.latest("node-1") == later


def test_attempt_older_than_twice_the_limit_is_forgotten(memory: Memory) -> None:
    memory.remediate("node-1")
    memory.remediate("node-2", at=2 * LIMIT)
    memory.remediate("node-3", at=2 * LIMIT + SECOND)

    latest = [memory.latest(name) for name in ("node-1", "node-2", "node-3")]
    assert latest == [
        None,
        EndedAttempt(1, NOW + 2 * LIMIT),
        EndedAttempt(1, NOW + 2 * LIMIT + SECOND),
    ]
