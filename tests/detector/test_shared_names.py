"""The Event that two machines use the name of one Node."""

from collections.abc import Iterable

import pytest

from detector.reporting.event_reporter import SharedNames
from health.model.node import Node
from health.model.references import CheckReference
from health.model.sighting import Look
from health.model.target import TargetName
from objects.event import Event
from tests.support.state.small_cluster import CHECK, SmallCluster
from tests.support.values.builders import NOW, condition, node_object

pytestmark = pytest.mark.rule("rule 65")

NODE = "node-1"


class Detector:
    """A detector with one check; it emits while it leads."""

    def __init__(self, *, is_shadow: bool = False) -> None:
        self.cluster = SmallCluster()
        self.cluster.check(annotations={"paramedic.dev/shadow": "true"} if is_shadow else {})
        self.is_leader = True
        self.told: list[Event] = []
        self.names = SharedNames(self.cluster.cluster_state, self._emit)
        self.cluster.cluster_state.event_handlers.add_change_handler(self.names.changed)
        self._node: Node | None = None

    def _emit(self, check: CheckReference, events: Iterable[Event]) -> bool:
        assert check == CHECK
        self.told += events if self.is_leader else ()
        return self.is_leader

    def shows(self, *boots: str) -> None:
        for boot in boots:
            body = node_object(condition("Ready", "True"), labels={"role": "worker"}, uid="uid-node-1")
            body["status"]["nodeInfo"] = {"bootID": boot}
            self._node = Node.model_validate(body).seen_after(self._node, Look(at=NOW))
            self.cluster.cluster_state.target_changed(TargetName("Node", "", NODE), self._node)


def test_boot_that_comes_back_has_one_event_however_often_the_machines_take_turns() -> None:
    detector = Detector()
    detector.shows("a", "b")
    assert detector.told == []
    detector.shows("a", "b", "a", "b")
    (event,) = detector.told
    assert (event.reason, event.severity) == ("NameUsedTwice", "Warning")
    assert event.message == "two machines use the name node-1: boot a came back after boot b"
    assert event.subject is not None
    assert event.subject.name == NODE


def test_next_time_has_an_event_of_its_own() -> None:
    detector = Detector()
    detector.shows("a", "b", "a", "c", "d", "c")
    assert len({event.seed for event in detector.told}) == 2


def test_standby_emits_nothing_and_does_so_once_it_leads() -> None:
    detector = Detector()
    detector.is_leader = False
    detector.shows("a", "b", "a")
    detector.is_leader = True
    detector.shows("b", "a")
    assert len(detector.told) == 1


def test_check_in_shadow_emits_nothing() -> None:
    detector = Detector(is_shadow=True)
    detector.shows("a", "b", "a")
    assert detector.told == []
