"""EvidenceCall: evidence is asked for once, and what became of it is an answer whatever happens.

So nothing of it can keep an incident from its step: what broke off is not saved, as far as anybody knows.
"""

from datetime import datetime

from temporalio.exceptions import ActivityError

from health.model.evidence import EvidenceRecord, evidence_name
from health.model.observation import Hold
from workflows.contracts import SAVE_EVIDENCE, EvidenceInput, EvidenceResult
from workflows.kit.calls import FinishedCalls, in_words


async def save_evidence(
    calls: FinishedCalls, asked: EvidenceInput, details: str, now: datetime
) -> EvidenceRecord | Hold:
    """What became of it; or why the step before which it is to be saved may not be taken."""
    try:
        result = await calls.call(SAVE_EVIDENCE, asked, EvidenceResult, summary=f"save evidence: {details}")
    except ActivityError as error:
        return _unknown(asked, now, in_words(error))
    return result.hold or result.record or _unknown(asked, now, "its answer is not known here")


def _unknown(asked: EvidenceInput, now: datetime, why: str) -> EvidenceRecord:
    name = evidence_name(asked.incident, asked.first_run_id)
    problem = f"nobody knows whether {asked.store} {name} was written: {why}"
    return EvidenceRecord(store=asked.store, name=name, at=now, problem=problem)
