"""The JSON of past incidents, in one document or a line each; docs/cli-json.md documents the fields."""

from datetime import datetime
from typing import Self

from cli.incident_view import EpisodeView, OrderView
from cli.past.course import PhaseTime
from cli.past.incident_record import IncidentRecord
from cli.past.reading import Kept
from health.model.evidence import EvidenceRecord
from health.model.moves import Outcome
from health.model.request_record import RequestRecord
from health.model.shadow_record import ShadowRecord
from objects.frozen import Frozen


class IncidentRecordView(Frozen):
    """One incident with its phases, requests, orders and history."""

    workflow_id: str
    run_id: str
    cluster: str
    check: str
    target: str
    target_uid: str
    status: str
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
        known = result or memory
        return cls(
            workflow_id=summary.incident.workflow_id,
            run_id=summary.run_id,
            cluster=summary.incident.cluster,
            check=str(summary.incident.check),
            target=str(summary.incident.target),
            target_uid=summary.incident.target.uid,
            status=summary.status,
            outcome=summary.outcome,
            reason=summary.words,
            problem=past.problem,
            started_at=past.began,
            closed_at=summary.closed,
            lasted_seconds=past.lasted.total_seconds(),
            attempts=result.attempts if result else memory.attempt if memory else 0,
            phases=past.phases,
            requests=result.requests if result else memory.records if memory else (),
            deleted_at=result.deleted if result else None,
            orders=tuple(OrderView.of(one, past.now) for one in known.orders) if known else (),
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
