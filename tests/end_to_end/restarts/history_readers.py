"""Reads from the history of an incident's workflow which process answered or woke it."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from tests.support.story.world import World
from workflows.contracts import OBSERVE


async def heard_since(world: World, nodes: Iterable[str], since: datetime) -> Counter[str]:
    """How often each detector, by identity, answered or woke the incidents of these nodes since then."""
    heard: Counter[str] = Counter()
    for node in nodes:
        history = await (await world.workflow(node)).fetch_history()
        heard.update(
            identity
            for event, identity in _of_detectors(list(history.events))
            if event.event_time.ToDatetime(tzinfo=UTC) >= since
        )
    return heard


def _of_detectors(events: list[HistoryEvent]) -> list[tuple[HistoryEvent, str]]:
    questions = {
        event.event_id
        for event in events
        if event.activity_task_scheduled_event_attributes.activity_type.name == OBSERVE.name
    }
    found = []
    for event in events:
        answer = event.activity_task_completed_event_attributes
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
            found.append((event, event.workflow_execution_signaled_event_attributes.identity))
        elif answer.scheduled_event_id in questions:
            found.append((event, answer.identity))
    return found
