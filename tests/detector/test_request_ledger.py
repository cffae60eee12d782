"""The requests in the cluster state: one place for each, and the metrics of their life."""

from datetime import datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from detector.metrics.request_metrics import RequestLedger
from detector.nodehealthcheck.kind import BOUNDS, DURATIONS, OLD_REQUESTS, NodeSeries
from detector.state.request_index import RequestIndex, seen
from health.model.references import CheckReference
from health.model.remediation_request import NODE_NAME, RemediationRequest
from runtime.exposition import in_text
from tests.support.state.small_cluster import CHECK, REQUEST_KIND, SmallCluster
from tests.support.values.builders import NOW
from tests.support.values.metric_samples import Series, named, scrape, series
from tests.support.values.remediation_orders import annotated, remediation_order

DUE = timedelta(minutes=5)
LABELS = {"name": "node-1", "namespace": "remediators", "remediation": "Reboot"}
COUNT = series(f"{DURATIONS}_count", **LABELS)
OLD_AS_PARSED = f"{OLD_REQUESTS}_total"
"""The parser converts to OpenMetrics, here also the names of the NodeHealthCheck operator."""
OLD = series(OLD_AS_PARSED, name="node-1", namespace="")
LATE = "paramedic_failure_to_request_seconds"
LATE_COUNT = series(f"{LATE}_count", check_kind="NodeHealthCheck", trigger="automated")
LATE_SUM = series(f"{LATE}_sum", check_kind="NodeHealthCheck", trigger="automated")


class Leader:
    """A detector that has led for an hour, and its counters."""

    def __init__(self) -> None:
        self.cluster = SmallCluster()
        self.cluster.check()
        self.leads_since: datetime | None = NOW - timedelta(hours=1)
        self.registry = CollectorRegistry()
        nodes = NodeSeries(self.cluster.cluster_state)
        self.registry.register(nodes)
        state, now = self.cluster.cluster_state, lambda: self.cluster.now
        ledger = RequestLedger(state, [nodes], lambda: self.leads_since, now)
        self.registry.register(ledger.failure_to_request)
        self.cluster.cluster_state.event_handlers.add_request_handler(ledger.request_changed)

    def scrape(self) -> dict[Series, float]:
        return scrape(self.registry)

    def text(self) -> bytes:
        return in_text(list(self.registry.collect()))

    def fail(self, node: str, ago: timedelta) -> None:
        self.cluster.node(node, ready="Unknown", since=NOW - ago)


@pytest.fixture
def leader() -> Leader:
    return Leader()


@pytest.mark.rule("NHC 1.6/nodehealthcheck_unhealthy_node_duration_seconds")
def test_end_of_a_request_is_counted_with_the_time_that_it_lasted(leader: Leader) -> None:
    leader.cluster.node("node-1")
    leader.cluster.request("node-1", age=timedelta(seconds=60))
    leader.cluster.delete_request("node-1", age=timedelta(seconds=60))
    shown = leader.scrape()
    assert shown[COUNT] == 1
    assert shown[series(f"{DURATIONS}_sum", **LABELS)] == 60
    buckets = {
        dict(labels)["le"]: value for (_, labels), value in named(shown, f"{DURATIONS}_bucket").items()
    }
    assert buckets == {str(bound): bound >= 60 for bound in BOUNDS} | {"+Inf": 1}
    assert b"# TYPE nodehealthcheck_unhealthy_node_duration_seconds histogram\n" in leader.text()


def test_each_request_of_a_node_is_counted(leader: Leader) -> None:
    leader.cluster.node("node-1")
    for uid, age in (("a", timedelta(seconds=10)), ("b", timedelta(hours=2))):
        leader.cluster.request("node-1", uid=uid, age=age)
        leader.cluster.delete_request("node-1", uid=uid, age=age)
    shown = leader.scrape()
    assert shown[COUNT] == 2
    assert shown[series(f"{DURATIONS}_bucket", **LABELS, le="3600")] == 1
    assert shown[series(f"{DURATIONS}_bucket", **LABELS, le="+Inf")] == 2


@pytest.mark.rule("NHC 1.6/nodehealthcheck_old_remediation_cr", "rule 23")
def test_request_that_is_marked_as_old_is_counted_once(leader: Leader) -> None:
    leader.cluster.node("node-1")
    leader.cluster.request("node-1")
    assert named(leader.scrape(), OLD_AS_PARSED) == {}

    leader.cluster.request("node-1", old=True)
    leader.cluster.request("node-1", old=True)
    assert named(leader.scrape(), OLD_AS_PARSED) == {OLD: 1}
    text = leader.text()
    assert b"# TYPE nodehealthcheck_old_remediation_cr counter\n" in text
    assert b'\nnodehealthcheck_old_remediation_cr{name="node-1",namespace=""} 1.0\n' in text


def test_request_that_was_marked_before_it_was_seen_is_not_counted_again(leader: Leader) -> None:
    leader.cluster.node("node-1")
    leader.cluster.request("node-1", old=True)
    assert named(leader.scrape(), OLD_AS_PARSED) == {}


@pytest.mark.rule("rule 16", "rule 11")
def test_series_of_a_node_end_with_the_node(leader: Leader) -> None:
    leader.cluster.node("node-1")
    leader.cluster.request("node-1")
    leader.cluster.request("node-1", old=True)
    leader.cluster.delete_request("node-1")
    assert {COUNT, OLD} <= leader.scrape().keys()

    leader.cluster.delete_node("node-1")
    assert leader.scrape() == {}


def test_alert_of_a_request_outlives_its_node_as_long_as_the_request_is_there(leader: Leader) -> None:
    leader.cluster.node("node-1")
    leader.cluster.request("node-1")
    leader.cluster.delete_node("node-1")
    leader.cluster.request("node-1", old=True)
    assert leader.scrape()[OLD] == 1

    leader.cluster.delete_request("node-1")
    assert leader.scrape() == {}


@pytest.mark.rule("rule 11")
def test_node_that_is_made_anew_between_two_scrapes_begins_at_nothing(leader: Leader) -> None:
    leader.cluster.node("node-1")
    leader.cluster.request("node-1")
    leader.cluster.delete_request("node-1")
    leader.cluster.delete_node("node-1")
    leader.cluster.node("node-1", uid="another")
    assert leader.scrape() == {}


def test_standby_counts_nothing(leader: Leader) -> None:
    leader.leads_since = None
    leader.fail("node-1", DUE + timedelta(seconds=9))
    leader.cluster.request("node-1")
    leader.cluster.request("node-1", old=True)
    leader.cluster.delete_request("node-1")
    assert leader.scrape() == {}


def test_time_from_the_deadline_to_the_request_is_counted(leader: Leader) -> None:
    leader.fail("node-1", DUE + timedelta(seconds=9))
    leader.cluster.request("node-1", age=timedelta(seconds=2))
    shown = leader.scrape()
    assert shown[LATE_COUNT] == 1
    assert shown[LATE_SUM] == 7


def test_request_by_order_is_counted_apart_from_the_order_on(leader: Leader) -> None:
    given = NOW - timedelta(seconds=9)
    leader.cluster.node("node-1", annotations=annotated(remediation_order(given=given)))
    leader.cluster.request("node-1", age=timedelta(seconds=2))
    found = named(leader.scrape(), f"{LATE}_sum")
    assert found == {series(f"{LATE}_sum", check_kind="NodeHealthCheck", trigger="manual"): 7}


def test_request_in_the_second_of_the_deadline_is_not_before_it(leader: Leader) -> None:
    leader.fail("node-1", DUE + timedelta(seconds=1))
    leader.cluster.request("node-1", age=timedelta(seconds=2))
    assert leader.scrape()[LATE_SUM] == 0


def test_request_that_another_leader_saw_come_is_not_counted(leader: Leader) -> None:
    leader.leads_since = NOW
    leader.fail("node-1", DUE + timedelta(minutes=1))
    leader.cluster.request("node-1", age=timedelta(seconds=30))
    assert leader.scrape() == {}


def test_next_step_of_an_escalation_is_not_late(leader: Leader) -> None:
    leader.fail("node-1", DUE + timedelta(seconds=9))
    leader.cluster.request("node-1", uid="first", age=timedelta(seconds=8))
    leader.cluster.request("node-1", uid="second")
    assert leader.scrape()[LATE_COUNT] == 1


def test_request_for_a_node_that_has_recovered_meanwhile_says_nothing(leader: Leader) -> None:
    leader.cluster.node("node-1")
    leader.cluster.request("node-1")
    leader.fail("node-2", timedelta(minutes=1))
    leader.cluster.request("node-2")
    assert leader.scrape() == {}


def request(target: str, owner: str = "workers") -> RemediationRequest:
    owned_by = {
        "apiVersion": "remediation.medik8s.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "name": owner,
        "uid": f"uid-{owner}",
    }
    metadata = {
        "name": "node-1",
        "namespace": "remediators",
        "uid": "request-1",
        "creationTimestamp": "2026-03-01T12:00:00Z",
        "annotations": {NODE_NAME: target},
        "ownerReferences": [owned_by] if owner else [],
    }
    return RemediationRequest.model_validate({"metadata": metadata})


@pytest.mark.rule("NHC 1.7/node-name")
def test_request_that_is_edited_to_be_of_another_node_leaves_nothing_behind() -> None:
    index = RequestIndex()
    index.put(seen(*REQUEST_KIND, request("node-1")))
    index.put(seen(*REQUEST_KIND, request("node-9")))

    assert index.targets_of(CHECK) == {"node-9"}
    assert not list(index.for_target("node-1"))
    index.remove(seen(*REQUEST_KIND, request("node-5")))
    assert not list(index.all())
    assert not index.owners()


@pytest.mark.rule("NHC 1.7/node-name")
def test_request_is_there_until_no_version_of_its_kind_shows_it() -> None:
    index, other = RequestIndex(), ("example.com/v2", REQUEST_KIND[1])
    assert index.put(seen(*REQUEST_KIND, request("node-1"))) is None
    index.put(seen(*other, request("node-1")))
    assert [one.reference.api_version for one in index.of(CHECK, "node-1")] == ["example.com/v2"]

    before = index.remove(seen(*other, request("node-1")))
    assert before is not None
    [left] = index.of(CHECK, "node-1")
    assert left == index.get("request-1") == seen(*REQUEST_KIND, request("node-1"))

    assert index.remove(seen(*REQUEST_KIND, request("node-1"))) == left
    assert not list(index.all())
    assert index.get("request-1") is None
    assert index.remove(seen(*REQUEST_KIND, request("node-1"))) is None


@pytest.mark.rule("NHC 1.7/node-name")
def test_request_that_one_version_shows_no_more_is_not_reported_as_gone() -> None:
    cluster_state = SmallCluster().cluster_state
    ends: list[bool] = []
    cluster_state.event_handlers.add_request_handler(lambda _, after: ends.append(after is None))
    other = ("example.com/v2", REQUEST_KIND[1])
    for version in (REQUEST_KIND, other):
        cluster_state.request_changed(*version, request("node-1"), exists=True)
    for version in (REQUEST_KIND, other):
        cluster_state.request_changed(*version, request("node-1"), exists=False)
    assert ends == [False, False, False, True]


@pytest.mark.rule("NHC 2.8/deletion")
def test_check_that_owns_a_request_no_more_is_reported() -> None:
    told: list[tuple[CheckReference, str | None]] = []
    cluster_state = SmallCluster().cluster_state
    cluster_state.request_changed(*REQUEST_KIND, request("node-1"), exists=True)
    cluster_state.event_handlers.add_change_handler(lambda check, target: told.append((check, target)))

    cluster_state.request_changed(*REQUEST_KIND, request("node-1", owner=""), exists=True)

    assert told == [(CHECK, "node-1"), (CHECK, None)]
