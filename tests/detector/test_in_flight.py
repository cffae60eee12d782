"""Deletions and marks that were made stay in flight, whatever happens to their check."""

from collections.abc import Callable
from datetime import datetime

import pytest

from detector.limits.in_flight import InFlight, Remediated
from tests.support.state.small_machines import SmallMachines
from tests.support.values.builders import NOW

pytestmark = pytest.mark.rule("rule 43", "rule 8")

UNREADABLE = {"paramedic.dev/no-such-choice": "true"}


class Watched:
    """A cluster with one deleted, one marked and one merely unhealthy Machine."""

    def __init__(self) -> None:
        self.cluster = SmallMachines()
        self.began: dict[str, datetime | None] = {}
        self.ended: list[str] = []
        self.under_way: set[str] = set()
        self.in_flight = InFlight(
            self.cluster.cluster_state,
            self._began,
            self._ended,
        )
        self.cluster.cluster_state.event_handlers.add_change_handler(self.in_flight.changed)
        self.cluster.check()
        self.cluster.machine("deleted", node="n1", deleted=NOW)
        self.cluster.machine("marked", node="n2", mark="")
        self.cluster.machine("unhealthy", node="n3")

    def _began(self, remediated: Remediated, since: datetime | None) -> None:
        self.began[remediated.target] = since
        self.under_way.add(remediated.target)

    def _ended(self, remediated: Remediated) -> None:
        self.ended.append(remediated.target)
        self.under_way.remove(remediated.target)

    def names(self) -> set[str]:
        return set(self.under_way)

    def look_again(self) -> set[str]:
        self.in_flight.look_again()
        return self.names()


def test_deleted_and_marked_machines_are_under_way_and_unhealthy_ones_are_not() -> None:
    watched = Watched()
    assert watched.names() == {"deleted", "marked"}
    assert watched.began == {"deleted": NOW, "marked": None}
    assert "unhealthy" not in watched.under_way


@pytest.mark.parametrize(
    "edit",
    [
        lambda cluster: cluster.check(annotations=UNREADABLE),
        SmallMachines.delete_check,
        lambda cluster: cluster.check(
            annotations={"edited": ""}, selector={"matchLabels": {"role": "other"}}
        ),
    ],
    ids=["unreadable", "deleted", "selects others"],
)
def test_they_are_under_way_until_they_are_gone_also_without_a_check_that_says_so(
    edit: Callable[[SmallMachines], None],
) -> None:
    watched = Watched()
    edit(watched.cluster)
    assert watched.look_again() == {"deleted", "marked"}

    watched.cluster.machine("marked", node="n2")
    watched.cluster.delete_machine("deleted")
    assert watched.look_again() == set()

    watched.cluster.machine("marked", node="n2", mark="")
    assert watched.look_again() == set(), "a removed mark is not a remediation"


def test_check_that_can_be_read_again_goes_on_where_it_was_and_nothing_begins_twice() -> None:
    watched = Watched()
    watched.cluster.check(annotations=UNREADABLE)
    watched.began.clear()
    watched.cluster.check()
    assert (watched.names(), watched.began, watched.ended) == ({"deleted", "marked"}, {}, [])


def test_machine_that_cannot_be_read_is_under_way_as_it_was() -> None:
    watched = Watched()
    watched.cluster.break_machine("deleted", "spec is a list")
    assert watched.names() == {"deleted", "marked"}
