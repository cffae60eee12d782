from typing import Any

import pytest

from devcluster.errors import BadRequestError
from devcluster.simulation.fleet import (
    Add,
    ListNodes,
    PowerCycle,
    Remove,
    StartKubelet,
    StopKubelet,
    parse,
)


@pytest.mark.parametrize(
    ("fields", "request_"),
    [
        ({"stop": "node-3"}, StopKubelet(stop="node-3")),
        ({"start": "node-3"}, StartKubelet(start="node-3")),
        ({"power_cycle": "node-3"}, PowerCycle(power_cycle="node-3", power_off_seconds=2)),
        (
            {"power_cycle": "node-3", "power_off_seconds": 0.5},
            PowerCycle(power_cycle="node-3", power_off_seconds=0.5),
        ),
        ({"add": "node-3"}, Add(add="node-3")),
        ({"remove": "node-3"}, Remove(remove="node-3")),
        ({"list": True}, ListNodes(list=True)),
    ],
)
def test_request_is_understood(fields: Any, request_: object) -> None:
    assert parse(fields) == request_


@pytest.mark.parametrize(
    ("fields", "field", "value"),
    [
        ([], "request", "[]"),
        ({}, "request", "{}"),
        ({"halt": "node-3"}, "request", "'halt'"),
        ({"stop": "node-3", "start": "node-3"}, "request", "'start'"),
        ({"stop": 3}, "stop", "got 3"),
        ({"stop": ""}, "stop", "got ''"),
        ({"stop": "node-3", "now": 1}, "now", "got 1"),
        ({"power_cycle": "node-3", "power_off_seconds": -1}, "power_off_seconds", "got -1"),
        ({"power_cycle": "node-3", "power_off_seconds": "2"}, "power_off_seconds", "got '2'"),
        ({"power_cycle": "node-3", "power_off_seconds": 1e9}, "power_off_seconds", "got 1000000000.0"),
        ({"list": False}, "list", "got False"),
    ],
)
def test_bad_request_is_refused_with_its_field_and_value(fields: Any, field: str, value: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        parse(fields)
    assert str(refused.value).startswith(f"{field}: ")
    assert value in str(refused.value)
