"""save_evidence: revalidate like an act, then read and save the state of the target, or say why not.

Rule: it always ends in time and with an answer. Only a finding of the revalidation stops the step, as it
would in the act.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from temporalio import activity

from activities.evidence.filing import EvidenceFiles, Filing
from activities.evidence.reading import EvidenceReader
from activities.revalidation import Revalidation, not_true
from activities.step_result import StepHeld
from health.evidence.document import compose
from health.evidence.kept import text
from health.model.evidence import EvidenceRecord, EvidenceStore, evidence_name
from health.model.target import Target
from kube.errors import KubernetesError
from objects.durations import in_words
from objects.timestamps import stamp
from workflows.contracts import (
    EVIDENCE_LONGEST,
    EVIDENCE_READING,
    SAVE_EVIDENCE,
    EvidenceInput,
    EvidenceResult,
)

_LONGEST_FACT = 300
_PRUNING = timedelta(milliseconds=500)


class SaveEvidenceActivity:
    """The activity `save_evidence`, which always answers in time."""

    def __init__(
        self,
        revalidation: Revalidation,
        stores: Mapping[str, EvidenceFiles],
        now: Callable[[], datetime],
    ) -> None:
        """`now` returns the current time by the API server's clock."""
        self._revalidation = revalidation
        self._stores = stores
        self._now = now

    @activity.defn(name=SAVE_EVIDENCE.name)
    async def save_evidence(self, evidence: EvidenceInput) -> EvidenceResult:
        """The place of the evidence, or why it is not saved, or why the step may not be taken."""
        store = self._stores.get(evidence.store)
        if store is None:
            return _not_saved(evidence, self._now(), _no_store(evidence.store))
        try:
            async with asyncio.timeout(EVIDENCE_LONGEST.total_seconds()):
                record = await self._saved(evidence, store)
        except StepHeld as error:
            if evidence.is_shadow:
                return _not_saved(evidence, self._now(), str(error.hold))
            return EvidenceResult(hold=error.hold)
        except KubernetesError as error:
            return _not_saved(evidence, self._now(), error.message)
        except OSError as error:
            return _not_saved(evidence, self._now(), _words(error))
        except Exception as error:  # noqa: BLE001  an unforeseen error must not stop the step
            activity.logger.warning("evidence not saved", exc_info=error)
            return _not_saved(evidence, self._now(), f"{type(error).__name__}: {error}")
        await self._prune(store, evidence_name(evidence.incident, evidence.first_run_id))
        return EvidenceResult(record=record)

    async def _saved(self, evidence: EvidenceInput, store: EvidenceFiles) -> EvidenceRecord:
        ends = asyncio.get_running_loop().time() + EVIDENCE_READING.total_seconds()
        async with asyncio.timeout_at(ends):
            confirmed = await self._revalidation.confirm(evidence, is_shadow=evidence.is_shadow)
        confirmed.refuse_other_step(evidence)
        if evidence.store != confirmed.check.choices.evidence:
            raise not_true(f"{evidence.incident.check} no longer wants evidence as {evidence.store}")
        target, live = confirmed.target, self._revalidation.live
        parts = await EvidenceReader(live, evidence.incident, target, ends).parts()
        filing = Filing(evidence.incident, evidence.first_run_id, self._now())
        document = compose(_facts(evidence, target, filing), parts)
        await store.save(filing, document)
        return EvidenceRecord(
            store=evidence.store,
            namespace=store.namespace,
            name=store.named(filing.name),
            at=filing.at,
            lacks=document.lacks,
        )

    async def _prune(self, store: EvidenceFiles, newest: str) -> None:
        """Delete old evidence; a failure is tried again after the next save."""
        try:
            async with asyncio.timeout(_PRUNING.total_seconds()):
                await store.prune(self._now(), newest)
        except (KubernetesError, OSError) as error:
            activity.logger.warning("old evidence not deleted", exc_info=error)


def _facts(evidence: EvidenceInput, target: Target, filing: Filing) -> dict[str, str]:
    incident = evidence.incident
    facts = {
        "takenAt": stamp(filing.at),
        "workflow": incident.workflow_id,
        "run": evidence.first_run_id,
        "cluster": incident.cluster,
        "check": str(incident.check),
        "target": str(incident.target),
        "uid": incident.target.uid,
        "node": target.node_name,
        "clusterOfNode": target.node_cluster,
        "why": evidence.reason,
        "nextStep": evidence.step.order_for(incident.target),
        "shadow": "the step is recorded, and not taken" if evidence.is_shadow else "",
    }
    return {key: text(value, _LONGEST_FACT) for key, value in facts.items() if value}


def _not_saved(evidence: EvidenceInput, at: datetime, problem: str) -> EvidenceResult:
    name = evidence_name(evidence.incident, evidence.first_run_id)
    record = EvidenceRecord(store=evidence.store, name=name, at=at, problem=text(problem))
    return EvidenceResult(record=record)


def _no_store(store: str) -> str:
    if store == EvidenceStore.FILE:
        return "PARAMEDIC_EVIDENCE_DIRECTORY names no directory of this worker"
    return f"this worker is of another version: it knows no store {store}"


def _words(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        read, saved = in_words(EVIDENCE_READING), in_words(EVIDENCE_LONGEST)
        return f"the target was not read within {read}, or this not saved within {saved}"
    return f"{error.strerror or type(error).__name__}{f': {error.filename}' if error.filename else ''}"
