"""Which orders an incident has already reported: compared by their values, not by their text."""

import pytest

from health.model.order import OrderRecord
from health.runbook.decide import next_move
from health.runbook.state import Memory
from tests.support.values.builders import MINUTE, NOW, seen
from tests.support.values.memories import order
from workflows.status import IncidentStatus

HELD = order("hold", "disk swap")
FOR_A_TIME = order("hold", "disk swap", until=NOW + MINUTE)


def said_of(held: OrderRecord | None) -> IncidentStatus:
    memory = Memory(standing=(held,) if held else ())
    return IncidentStatus.of(next_move(seen(), memory, NOW), memory)


@pytest.mark.parametrize("held", [None, HELD, FOR_A_TIME])
def test_hold_that_was_said_is_not_said_again(held: OrderRecord | None) -> None:
    assert said_of(held).is_true_of(Memory(standing=(held,) if held else ()))


@pytest.mark.parametrize(("before", "held"), [(None, HELD), (HELD, None), (HELD, FOR_A_TIME)])
def test_other_hold_is_said_anew_whatever_its_reason(
    before: OrderRecord | None, held: OrderRecord | None
) -> None:
    assert not said_of(before).is_true_of(Memory(standing=(held,) if held else ()))
