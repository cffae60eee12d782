"""Events on a waiting check say why it waits, also while Temporal is unreachable; other checks get none."""

from collections.abc import Iterable
from datetime import timedelta

import pytest

from detector.reporting.own_status import REPORT_AFTER, TroubleReporter
from health.cluster.cluster_context import ClusterContext
from health.model.references import CheckReference
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from objects.event import Event, Severity
from runtime.paramedic_status import ParamedicStatusDocument, WorkerObservation, amended, by_leader, of_slots
from tests.support.state.small_cluster import CHECK, SmallCluster

pytestmark = pytest.mark.rule("rule 6", "rule 15")

SECOND, AN_HOUR = timedelta(seconds=1), timedelta(hours=1)
AWAY = "Temporal at t:7233 does not answer"
ALL_WELL, NO_WORKER = WorkerObservation(2), WorkerObservation(0)


class Leader:
    """A leading detector with one check and one Node."""

    def __init__(self) -> None:
        self.cluster = SmallCluster()
        self.cluster.check(minHealthy=0)
        self.cluster.node("node-1", ready="Unknown")
        self.status = ParamedicStatusDocument()
        self.told: list[Event] = []
        self.takes = True
        self.stuck = ""
        self.without_slots: frozenset[CheckReference] = frozenset()
        self.takes_the_lead()

    def takes_the_lead(self) -> None:
        """Replace the process by one without a memory."""
        self.reporter = TroubleReporter(
            self.cluster.cluster_state,
            lambda: self.status,
            lambda: self.without_slots,
            self.emit,
            lambda: self.cluster.now,
        )

    def emit(self, check: CheckReference, events: Iterable[Event]) -> bool:
        assert check == CHECK
        self.told += events if self.takes else ()
        return self.takes

    def look(
        self, after: timedelta, trouble: str | None = None, workers: WorkerObservation = ALL_WELL
    ) -> list[str]:
        """The reasons of the Events that a look emits after that time."""
        self.cluster.now += after
        self.told.clear()
        statements = (*by_leader("first", trouble, workers, "queue", AN_HOUR), of_slots(self.stuck, None))
        self.status = amended(self.status, statements, "first", self.cluster.now) or self.status
        self.reporter.look()
        assert all(
            (event.severity is Severity.NORMAL) == event.reason.endswith(("Reachable", "Available"))
            for event in self.told
        )
        return [event.reason for event in self.told]


@pytest.fixture
def leader() -> Leader:
    made = Leader()
    assert made.look(SECOND) == []
    return made


def test_outage_of_temporal_is_one_event_when_it_lasted_for_a_minute_and_one_when_it_is_over(
    leader: Leader,
) -> None:
    assert leader.look(SECOND, AWAY) == []
    assert leader.look(REPORT_AFTER, AWAY) == ["TemporalUnreachable"]
    assert leader.told[0].message.startswith(f"Remediation waits: {AWAY}; nothing new is begun")
    assert leader.look(AN_HOUR, AWAY) == []
    assert leader.look(SECOND) == ["TemporalReachable"]
    assert leader.look(AN_HOUR) == []


def test_flicker_tells_nothing(leader: Leader) -> None:
    for _ in range(10):
        assert leader.look(REPORT_AFTER / 2, AWAY) == []
        assert leader.look(REPORT_AFTER / 2) == []


def test_workers_that_are_away_are_reported_by_their_own_reason_until_one_polls(leader: Leader) -> None:
    leader.look(SECOND, workers=NO_WORKER)
    assert leader.look(REPORT_AFTER, workers=NO_WORKER) == ["NoWorker"]
    assert leader.look(SECOND, AWAY) == [], "it is unknown whether a worker polls"
    assert leader.look(SECOND) == ["WorkerAvailable"]


def test_check_without_an_unhealthy_target_or_a_request_is_reported_when_it_gets_one(leader: Leader) -> None:
    leader.cluster.node("node-1")
    leader.look(SECOND, AWAY)
    assert leader.look(REPORT_AFTER, AWAY) == []
    leader.cluster.request("node-1")
    assert leader.look(SECOND, AWAY) == ["TemporalUnreachable"]
    leader.cluster.delete_request("node-1")
    assert leader.look(SECOND) == ["TemporalReachable"], "a check with an Event gets one for the end, too"


def test_new_leader_finds_the_same_and_emits_no_event_twice(leader: Leader) -> None:
    leader.look(SECOND, AWAY)
    leader.look(REPORT_AFTER, AWAY)
    before = list(leader.told)
    leader.takes_the_lead()
    leader.look(SECOND, AWAY)
    assert [event.seed for event in leader.told] == [event.seed for event in before]
    assert leader.look(SECOND) == ["TemporalReachable"]


def test_another_outage_is_another_event(leader: Leader) -> None:
    leader.look(SECOND, AWAY)
    leader.look(REPORT_AFTER, AWAY)
    first = leader.told[0].seed
    leader.look(SECOND)
    leader.look(SECOND, AWAY)
    leader.look(REPORT_AFTER, AWAY)
    assert leader.told[0].seed != first


def test_event_that_could_not_be_written_is_written_later(leader: Leader) -> None:
    leader.takes = False
    leader.look(SECOND, AWAY)
    leader.look(REPORT_AFTER, AWAY)
    leader.takes = True
    assert leader.look(SECOND, AWAY) == ["TemporalUnreachable"]


def test_check_in_shadow_is_left_alone(leader: Leader) -> None:
    shadow = PolicyInForce(policy=Policy(shadow=True))
    leader.cluster.cluster_state.take_context(ClusterContext(policy=shadow))
    leader.look(SECOND, AWAY)
    assert leader.look(REPORT_AFTER, AWAY) == []


def test_stuck_slots_are_one_event_on_the_checks_that_wait_for_them_and_one_when_they_are_free(
    leader: Leader,
) -> None:
    leader.stuck = (
        "maxInFlight=1 of the policy is reached, and these have been in progress for over 1h: node-2"
    )
    assert leader.look(REPORT_AFTER) == []
    assert leader.look(REPORT_AFTER) == [], "the targets of this check need no worker"
    leader.without_slots = frozenset({CHECK})
    assert leader.look(SECOND) == ["SlotsStuck"]
    assert leader.told[0].message == f"Remediation waits: {leader.stuck}"
    assert leader.look(AN_HOUR) == []
    leader.stuck, leader.without_slots = "", frozenset()
    assert leader.look(SECOND) == ["SlotsAvailable"]
