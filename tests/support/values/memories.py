"""Builders for tests of the runbook: memories, orders, and the wait of a move."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from health.model.details import Details
from health.model.moves import BY_A_CHANGE, AnnotateRequests, Move, Phase, ReleaseLease, RenewLease, Wait
from health.model.observation import Observation
from health.model.order import OrderRecord
from health.runbook.decide import next_move
from health.runbook.learn import learned
from health.runbook.memory_parts import LeaseMemory, LeaseState
from health.runbook.orders import ORDERS
from health.runbook.state import Memory
from tests.support.values.builders import MINUTE, NOW

ACTED = Memory(
    has_acted=True,
    lease=LeaseMemory(
        state=LeaseState.HELD,
        duration_seconds=300,
        acquired_at=NOW,
        request_acquired_at=NOW,
        renew_at=NOW + 5 * MINUTE,
    ),
)
"""The memory of an incident that made its first request now."""
AN_INSTANT = timedelta(seconds=0.001)
HELD_LEASE = LeaseMemory(state=LeaseState.HELD)
"""A Lease that was acquired, or may have been."""


def move(observation: Observation, memory: Memory = ACTED, now: datetime = NOW) -> Move:
    """The next move, as the workflow asks for it."""
    completed = memory.at(now).complete(observation)
    return next_move(completed, learned(memory.at(now), completed, now), now)


def with_lease(memory: Memory, **fields: Any) -> Memory:
    return replace(memory, lease=replace(memory.lease, **fields))


def handed_over(memory: Memory) -> Memory:
    """The memory as the next run of the incident reads it."""
    return TypeAdapter(Memory).validate_json(to_json(memory))


def order(kind: str, reason: str = "", until: datetime | None = None) -> OrderRecord:
    """An order of a person that was given now: "abort" or "hold"."""
    return OrderRecord(order=kind, reason=reason, given=NOW, until=until, blocks=ORDERS[kind].blocks)


def standing(kind: str, reason: str = "", until: datetime | None = None) -> tuple[OrderRecord, ...]:
    """The only standing order of an incident, as `Memory.standing` has it."""
    return (order(kind, reason, until),)


def because(reason: str) -> Details:
    """Details of a move that has but one reason: what is seen of its target."""
    return Details(reason=reason)


def annotations_of(result: Move) -> dict[str, str | None]:
    assert isinstance(result, AnnotateRequests), result
    return {name: text for mark in result.patches for name, text in mark.annotations.items()}


@dataclass(frozen=True)
class Timed:
    """A wait by the length of its timer, whatever that is for."""

    phase: Phase
    details: str
    seconds: float | None = None


def timed(result: Move, now: datetime = NOW) -> Move | Timed:
    """A move without its next transition, which tests/health/test_next_transition.py covers."""
    match result:
        case Wait():
            return Timed(result.phase, str(result.details), timer_of(result, now))
        case AnnotateRequests() | RenewLease() | ReleaseLease():
            return replace(result, next_transition=BY_A_CHANGE)
        case _:
            return result


def timer_of(result: Move, now: datetime = NOW) -> float | None:
    """How many seconds it waits; None: it waits for a look or an order."""
    assert isinstance(result, Wait), result
    left = result.requeue_after(now)
    return None if left is None else left.total_seconds()
