"""The JSON of past incidents, in one document or a line each; docs/cli-json.md documents the fields."""

from datetime import datetime
from typing import Self

from cli.incidents.past.incident_record import IncidentRecord, PhaseTime
from cli.incidents.past.reading import Kept
from cli.incidents.view import EpisodeView, IncidentRunView, OrderView, run_fields
from health.model.evidence import EvidenceRecord
from health.model.moves import Outcome
from health.model.request_record import RequestRecord
from health.model.shadow_record import ShadowRecord
from objects.frozen import Frozen


class IncidentRecordView(IncidentRunView):
    """One incident with its phases, requests, orders and history."""

    outcome: Outcome | None
    reason: str
    problem: str
    started_at: datetime
    closed_at: datetime | None
    lasted_seconds: float
    attempts: int
    phases: tuple[PhaseTime, ...]
    requests: tuple[RequestRecord, ...]
    deleted_at: datetime | None
    orders: tuple[OrderView, ...]
    shadow: ShadowRecord | None
    evidence: EvidenceRecord | None
    history: tuple[EpisodeView, ...]

    @classmethod
    def of(cls, past: IncidentRecord) -> Self:
        summary, result = past.summary, past.summary.result
        memory = summary.state.memory if summary.state else None
        return cls(
            **run_fields(summary),
            outcome=summary.outcome,
            reason=summary.words,
            problem=past.problem,
            started_at=past.began,
            closed_at=summary.closed,
            lasted_seconds=past.lasted.total_seconds(),
            attempts=result.attempts if result else memory.attempt if memory else 0,
            phases=past.phases,
            requests=past.requests,
            deleted_at=result.deleted if result else None,
            orders=tuple(OrderView.of(order, past.now) for order in summary.orders),
            shadow=summary.shadow,
            evidence=summary.evidence,
            history=tuple(map(EpisodeView.of, past.story)),
        )


class HistoryView(Frozen):
    """The JSON that `paramedic history -o json` prints."""

    since: datetime
    removed_before: datetime | None
    """Temporal has removed the incidents that ended earlier; null: unknown."""
    incidents: tuple[IncidentRecordView, ...]

    @classmethod
    def of(cls, incidents: list[IncidentRecord], kept: Kept) -> Self:
        return cls(
            since=kept.since,
            removed_before=kept.removed_before,
            incidents=tuple(map(IncidentRecordView.of, incidents)),
        )
