"""A clock skew visibly holds every incident that depends on time, and ends when the clock is right."""

import logging
from datetime import datetime, timedelta
from email.utils import format_datetime

import pytest
from prometheus_client import CollectorRegistry

from detector.context.clock_watch import ClockWatch
from detector.context.sources_of_checks import CheckFreshness
from detector.metrics.live_metrics import ClockMetrics
from health.model.observation import HoldReason, Observation, TargetState
from health.model.references import IncidentReference, TargetReference
from kube.server_clock import ServerClock
from tests.support.state.small_cluster import CHECK, SmallCluster
from tests.support.values.metric_samples import Series, scrape, series

TARGET = TargetReference(kind="Node", name="node-1", uid="uid-node-1")
INCIDENT = IncidentReference(cluster="main-0a1b", check=CHECK, target=TARGET)
SKEW = series("paramedic_clock_skew_seconds")


class Detector:
    """A detector whose node failed an hour ago, and an API server; `answered` is an answer of it."""

    def __init__(self) -> None:
        self.cluster = SmallCluster()
        self.cluster.check()
        for name in ("node-1", "node-2", "node-3"):
            self.cluster.node(name, since=self.cluster.now)
        self.cluster.node("node-1", ready="Unknown", since=self.cluster.now - timedelta(hours=1))
        self.seconds = 0.0
        self.ahead = timedelta(0)
        self.woken = 0
        clock = ServerClock(lambda: self.now, lambda: self.seconds)
        self.server_clock = clock
        self.watch = ClockWatch(clock, self.wake)
        self._registry = CollectorRegistry()
        self._registry.register(ClockMetrics(lambda: self.watch.reading().skew))

    @property
    def now(self) -> datetime:
        return self.cluster.now + timedelta(seconds=self.seconds) + self.ahead

    def wake(self) -> None:
        self.woken += 1

    def answered(self, after: float = 1.0) -> None:
        """Move the time, and record an answer of the API server."""
        self.seconds += after
        date = format_datetime(self.cluster.now + timedelta(seconds=self.seconds), usegmt=True)
        self.server_clock.note({"Date": date}, self.seconds)
        self.watch.look()

    def observe(self) -> Observation:
        freshness = CheckFreshness(clock=self.watch.hold())
        return self.cluster.observe("node-1", now=self.now, freshness=freshness)

    def scrape(self) -> dict[Series, float]:
        return scrape(self._registry)


@pytest.fixture
def detector() -> Detector:
    made = Detector()
    made.answered()
    return made


@pytest.mark.rule("rule 3")
def test_clock_that_is_off_holds_the_incident_until_it_is_right(detector: Detector) -> None:
    assert detector.observe().may_be_admitted

    detector.ahead = timedelta(seconds=40)
    detector.answered()
    observation = detector.observe()
    assert observation.state is TargetState.UNKNOWN
    assert observation.hold is not None
    assert observation.hold.reason is HoldReason.CLOCK_SKEW
    assert "39s ahead of the API server's" in observation.hold.message  # the least possible skew

    detector.ahead = timedelta(seconds=20)
    for _ in range(35):
        detector.answered()
    assert detector.observe().may_be_admitted


def test_step_backwards_holds_the_incident_until_the_clock_has_run_steadily(detector: Detector) -> None:
    detector.ahead = timedelta(seconds=-20)
    detector.watch.look()  # without a further answer
    hold = detector.observe().hold
    assert hold is not None
    assert hold.message.startswith("the detector's clock was set back by 20s, 0s ago")

    detector.answered(29)
    assert not detector.observe().may_be_admitted
    detector.answered(1)
    assert detector.observe().may_be_admitted


def test_healthy_node_does_not_rest_on_time_and_is_cleaned_up(detector: Detector) -> None:
    detector.ahead = timedelta(hours=1)
    detector.answered()
    detector.cluster.node("node-1", since=detector.cluster.now)
    assert detector.observe().state is TargetState.HEALTHY
    detector.cluster.delete_node("node-1")
    assert detector.observe().state is TargetState.GONE


def test_incidents_are_woken_when_the_hold_begins_and_when_it_ends(detector: Detector) -> None:
    for ahead, woken in ((10, 0), (40, 1), (41, 1), (15, 2)):
        detector.ahead = timedelta(seconds=ahead)
        detector.answered(100)
        detector.answered(100)  # a step backwards is over by then
        assert detector.woken == woken


def test_clock_skew_is_logged_once(detector: Detector, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "detector")
    for ahead in (1, 10, 12, 40, 45, 0):
        detector.ahead = timedelta(seconds=ahead)
        detector.answered(100)
        detector.answered(100)
    assert [record.getMessage() for record in caplog.records] == [
        "deadlines are judged by a clock that is off",
        "nothing is decided",
        "the detector's clock is right again",
    ]


def test_skew_is_a_metric_once_it_is_known() -> None:
    detector = Detector()
    assert detector.scrape() == {}
    detector.ahead = timedelta(seconds=7)
    detector.answered()
    assert detector.scrape() == {SKEW: pytest.approx(7, abs=1)}
    detector.ahead = timedelta(seconds=-40)
    assert detector.scrape() == {SKEW: pytest.approx(-40, abs=1)}
