"""An incident whose check asks for a proof of recovery, as tests show it a target and let it act."""

from datetime import timedelta
from typing import Any

import pytest

from health.model.moves import (
    Move,
    Wait,
)
from health.model.observation import Observation, TargetState
from health.model.references import Action, Step
from health.model.request_snapshot import RequestSnapshot
from health.runbook.decide import next_move
from health.runbook.failures import LeftBehind
from health.runbook.learn import learned
from health.runbook.state import Memory
from tests.support.values.builders import (
    FIRST,
    INCIDENT,
    MINUTE,
    NOW,
    fact,
    request_of,
    seen,
)
from tests.support.values.memories import with_lease

OLD, NEW, NEWEST = "boot-1", "boot-2", "boot-3"
TIME = 5 * MINUTE
A_SECOND = timedelta(seconds=1)
MADE = request_of(FIRST, boot_id=OLD)
MARK = Step(action=Action.MARK)
NAME = str(INCIDENT.target)


def healthy(
    *requests: RequestSnapshot,
    boot_id: str = NEW,
    state: TargetState = TargetState.HEALTHY,
    **fields: Any,
) -> Observation:
    """The observation of a healthy target under a check that requires proof."""
    says = {
        "subject": NAME,
        "reason": "healthy",
        "fact": fact(NOW, boot_id, "status.nodeInfo.bootID") if boot_id else None,
        "boot_id": boot_id,
        "last_transition": NOW,
        "proven_recovery_seconds": TIME.total_seconds(),
    }
    return seen(*requests, state=state, **says | fields)


def unhealthy(*requests: RequestSnapshot, boot_id: str = OLD, **fields: Any) -> Observation:
    says: dict[str, Any] = {"boot_id": boot_id, "proven_recovery_seconds": TIME.total_seconds()}
    return seen(*requests, **says | fields)


class Incident:
    """Goes by the runbook over what it is shown, and remembers."""

    def __init__(self, memory: Memory = Memory()) -> None:  # noqa: B008  frozen
        self.memory = memory

    def sees(self, observation: Observation, after: timedelta = timedelta()) -> Move:
        now = NOW + after
        self.memory = learned(self.memory.at(now), observation, now)
        return next_move(observation, self.memory, now)

    def acts(self, step: Step = FIRST, boot_id: str = OLD, **fields: Any) -> RequestSnapshot:
        made = request_of(step, boot_id=boot_id, **fields)
        acted = self.memory.before_act(step).after_request(step, made, NOW, NOW)
        self.memory = with_lease(acted, renew_at=NOW + timedelta(days=1))
        return made

    def cleans_up(self, *left: RequestSnapshot) -> None:
        hangs = LeftBehind(hanging=tuple(one.reference for one in left), has_lease=bool(left))
        self.memory = self.memory.after_clean_up(hangs, (MADE,), NOW)


def told(move: Move) -> str:
    assert isinstance(move, Wait), move
    return str(move.details)


KEPT = f"{NAME}: healthy with a new boot ID since 2026-03-01T12:00:00Z, proven after 5m"
SAME = f"{NAME}: healthy since 2026-03-01T12:00:00Z, but its boot ID boot-1 is the same as before the step"


@pytest.fixture
def incident() -> Incident:
    """An incident that has just made its first request, while the target still ran with the old boot."""
    one = Incident()
    one.acts()
    return one
