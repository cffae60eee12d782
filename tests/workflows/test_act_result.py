"""The result of an act is one value; an unknown value counts as an act that broke off."""

from typing import Any

import pytest

from health.model.observation import Hold, HoldReason
from tests.support.values.builders import FIRST, NOW, request_of
from workflows.contracts import ActResult

REFUSED = Hold(reason=HoldReason.REFUSED, message="no")


@pytest.mark.parametrize(
    "result",
    [
        ActResult.requested(request_of(FIRST)),
        ActResult.requested(request_of(FIRST), NOW),
        ActResult.disrupted(),
        ActResult.disrupted(NOW),
        ActResult.lost(),
        ActResult.held(REFUSED, is_forbidden=True),
    ],
)
def test_result_comes_through_the_wire_as_it_was(result: ActResult) -> None:
    assert ActResult.model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"outcome": {"kind": "Drained"}}, "its answer Drained is not known here"),
        ({"outcome": "Drained"}, "its answer is not known here"),
        ({"outcome": {}}, "its answer is not known here"),
        ({}, "its answer is not known here"),
    ],
)
def test_unknown_result_is_an_act_with_unknown_effects(answer: dict[str, Any], said: str) -> None:
    hold = ActResult.model_validate(answer).hold
    assert hold is not None
    assert hold.reason is HoldReason.FAILED
    assert hold.message == f"the attempt to act failed: the worker is of another version: {said}"
