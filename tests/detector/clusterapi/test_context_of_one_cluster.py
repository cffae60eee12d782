"""A change of the context of one workload cluster notifies the checks of that cluster, and no others."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from detector.state.check_state import CheckRecord
from health.cluster.cluster_context import ClusterContext, workload_cluster_hold
from health.cluster.global_stop import Stop
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.model.node import ZONE_LABEL, Node
from health.model.references import CheckReference
from health.model.sighting import Gap
from health.model.target import node_name
from health.policy.outage_guard import GroupOutage, NodeGroup, Outages
from objects.clusters import MANAGEMENT_CLUSTER
from tests.support.state.small_cluster_api import (
    EDGE,
    OF_WEST,
    WEST,
    SmallClusterApi,
    machine_object,
    named,
)
from tests.support.values.builders import NOW, check_object, condition, node_object
from tests.support.values.cluster_api import CREATED

OF_NODES = CheckReference(kind="NodeHealthCheck", name="workers")
OF_EDGE = {(named(), None), (named(), "failed")}
OF_OTHERS = {
    (named("of-west"), None),
    (named("of-west"), "west-failed"),
    (OF_NODES, None),
    (OF_NODES, "own-failed"),
}
ENTRIES: dict[str, Any] = {
    "lost": (Gap(since=NOW - timedelta(hours=1), until=NOW),),
    "unreachable": "the server answered 500 r1",
    "clock_skews": timedelta(minutes=6),
    "distrusted": workload_cluster_hold(EDGE, "it is another cluster"),
    "back": NOW,
    "vanished": NOW,
}


class Heard:
    """An unhealthy target each of a check of `edge`, of `west` and of the management cluster."""

    def __init__(self) -> None:
        self.small = SmallClusterApi()
        self.small.check()
        self.small.check("of-west", clusterName="west")
        self.small.machine(machine_object("failed"))
        self.small.machine(machine_object("west-failed", labels=OF_WEST))
        self.small.node("failed", "False")
        self.small.node("west-failed", "False", in_cluster=WEST)
        cluster_state = self.small.cluster_state
        record = CheckRecord.model_validate(check_object(minHealthy=0))
        cluster_state.check_changed(NODE_HEALTH_CHECK, OF_NODES, record)
        failed = node_object(
            condition("Ready", "False", CREATED), name="own-failed", labels={"role": "worker"}
        )
        cluster_state.target_changed(node_name("own-failed"), Node.model_validate(failed))
        self.heard: list[tuple[CheckReference, str | None]] = []
        cluster_state.event_handlers.add_change_handler(lambda *changed: self.heard.append(changed))

    def after(self, context: ClusterContext) -> set[tuple[CheckReference, str | None]]:
        """The checks and targets that are heard of after this context."""
        self.heard.clear()
        self.small.cluster_state.take_context(context)
        assert len(self.heard) == len(set(self.heard))
        return set(self.heard)


@pytest.mark.rule("rule 33/unreachable")
@pytest.mark.parametrize("field", ENTRIES)
def test_entry_of_a_workload_cluster_notifies_its_own_checks_alone_at_its_start_and_end(field: str) -> None:
    heard = Heard()
    before = heard.small.context
    entry: dict[str, Any] = {field: {EDGE: ENTRIES[field]}}

    assert heard.after(replace(before, **entry)) == OF_EDGE
    assert heard.after(before) == OF_EDGE


@pytest.mark.rule("rule 33/unreachable")
def test_each_new_text_of_a_cluster_without_a_check_notifies_nothing() -> None:
    heard = Heard()
    for text in ("500 r1", "500 r2", "500 r3"):
        assert heard.after(replace(heard.small.context, unreachable={"tenant/evil": text})) == set()


ZONE = NodeGroup(EDGE, ZONE_LABEL, "zone-a")


@pytest.mark.parametrize(
    "outages",
    [
        Outages({ZONE: GroupOutage(ended=NOW)}),
        Outages(kept_groups={(EDGE, "failed"): (ZONE,)}),
    ],
)
def test_outage_of_a_workload_cluster_notifies_its_own_checks_alone(outages: Outages) -> None:
    heard = Heard()
    assert heard.after(replace(heard.small.context, outages=outages)) == OF_EDGE


@pytest.mark.parametrize(
    "changes",
    [
        {"stop": Stop("power work")},
        {"lost": {MANAGEMENT_CLUSTER: (Gap(since=NOW, until=NOW + timedelta(hours=1)),)}},
        {"unreachable": {EDGE: "it does not answer"}, "stop": Stop("power work")},
    ],
)
def test_any_other_change_notifies_all_checks(changes: dict[str, Any]) -> None:
    heard = Heard()
    assert heard.after(replace(heard.small.context, **changes)) == OF_EDGE | OF_OTHERS
