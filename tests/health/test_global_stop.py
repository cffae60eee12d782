"""The annotation that stops everything new."""

import pytest

from health.cluster.global_stop import STOP, Stop
from health.model.observation import HoldReason

pytestmark = pytest.mark.rule("rule 42")


def test_annotation_stops_with_its_reason() -> None:
    stop = Stop.of({STOP: "power work in row 7", "other": "x"})

    assert stop is not None
    assert stop.hold.reason is HoldReason.STOPPED
    assert stop.hold.message == "stopped in the whole cluster: power work in row 7"


def test_empty_annotation_stops_as_well() -> None:
    stop = Stop.of({STOP: ""})

    assert stop is not None
    assert stop.hold.message == "stopped in the whole cluster: no reason is given"


def test_without_the_annotation_nothing_is_stopped() -> None:
    assert Stop.of({"paramedic.dev/other": "x"}) is None
