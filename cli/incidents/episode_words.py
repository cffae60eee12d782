"""EpisodeWords: the reasons of waits and acts in a story, from the values in the history.

A summary in a history is one short line for the Temporal UI. The answers of the detector and the inputs of
the activities have the same in full.
"""

from collections.abc import Sequence
from typing import TypeVar

from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.converter import PayloadConverter

from health.model.observation import Observation
from health.runbook.maintenance import deleting
from objects.frozen import Frozen
from objects.short_text import CUT
from workflows.contracts import ACT, CLEAN_UP, OBSERVE, SAVE_EVIDENCE, ActInput, CleanUpInput, EvidenceInput
from workflows.messages import RemediationInput

Value = TypeVar("Value", bound=Frozen)
UNREADABLE = (ValueError, KeyError, RuntimeError)
"""Errors that payload converters raise for a malformed or encrypted payload."""
_INPUTS: dict[str, type[ActInput | CleanUpInput | EvidenceInput]] = {
    ACT.name: ActInput,
    CLEAN_UP.name: CleanUpInput,
    SAVE_EVIDENCE.name: EvidenceInput,
}


class EpisodeWords:
    """The words of the events of one run, which it gets in their order."""

    def __init__(self, decode: PayloadConverter) -> None:
        self._decode = decode
        self._questions: set[int] = set()
        self._seen: Observation | None = None
        """The latest answer of the detector."""

    def take(self, event: HistoryEvent) -> None:
        """Remember the answer of the detector in an event, if it has one."""
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == OBSERVE.name:
            self._questions.add(event.event_id)
        completed = event.activity_task_completed_event_attributes
        if completed.scheduled_event_id in self._questions:
            self._seen = self._read(completed.result.payloads, Observation) or self._seen
        started = event.workflow_execution_started_event_attributes.input.payloads
        if start := self._read(started, RemediationInput):
            self._seen = start.observation

    def of_wait(self, words: str) -> str:
        """The words of a timer, with the hold and the reason of the latest answer in full."""
        if self._seen is None:
            return words
        begin, hold = words.removesuffix(CUT), str(self._seen.hold or "")
        if begin in self._reason:
            return self._reason
        return _joined(hold if begin and hold.startswith(begin) else words, self._reason)

    def of_call(self, event: HistoryEvent, summary: str) -> str:
        """The effect of an activity, and the latest reason; `summary` if its input cannot be read."""
        scheduled = event.activity_task_scheduled_event_attributes
        match self._read(scheduled.input.payloads, _INPUTS[scheduled.activity_type.name]):
            case ActInput() as asked:
                effect = asked.step.order_for(asked.incident.target)
            case EvidenceInput() as asked:
                effect = f"save evidence before: {asked.step.order_for(asked.incident.target)}"
            case CleanUpInput() as asked if asked.requests:
                effect = ", ".join(map(deleting, asked.requests))
            case _:
                effect = summary
        return _joined(effect, self._reason)

    @property
    def _reason(self) -> str:
        return self._seen.named_reason if self._seen else ""

    def _read(self, payloads: Sequence[Payload], kind: type[Value]) -> Value | None:
        if not payloads:
            return None
        try:
            found: Value = self._decode.from_payload(payloads[0], kind)
        except UNREADABLE:
            return None
        return found


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
