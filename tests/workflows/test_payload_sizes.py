"""Payloads of an incident whose texts come from a cluster or a person: each text is cut where it comes in."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.evidence import EvidenceRecord
from health.model.incident_result import MOST_RECORDS, RequestRecord
from health.model.node import Node
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.order import OrderRecord
from health.model.references import Action, RequestReference, Step, TemplateReference
from health.model.request_snapshot import RequestSnapshot
from health.model.verdict import Fact
from health.runbook.failures import MaintenanceTask, TaskNote
from health.runbook.state import Memory
from objects.short_text import CUT, LONGEST_TEXT, cut_to_bytes, short
from tests.support.values.longest import BLOB_WARNING, payload_bytes
from workflows.contracts import ActResult

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAME, UID = "n" * 253, "u" * 36
REQUESTS, STEPS = 50, 20
"""The API server bounds neither; these are more than a user has."""
LONG_TEXTS = st.sampled_from(["a", "€", "😀", "\\", "\x00"]).map(lambda letter: letter * 20_000)


def request(number: int, text: str) -> RequestSnapshot:
    uid = f"{number:036}"
    reference = RequestReference(
        api_version=NAME, kind=NAME, namespace=NAME, name=NAME, uid=uid, template=NAME
    )
    return RequestSnapshot(reference=reference, created=NOW, boot_id=text)


def observation(text: str) -> Observation:
    template = TemplateReference(api_version=NAME, kind=NAME, namespace=NAME, name=NAME)
    return Observation(
        state=TargetState.EXPIRED,
        reason=text,
        subject=text,
        under_way=text,
        fact=Fact(condition=text, status=text, since=NOW),
        hold=Hold(reason=HoldReason.REFUSED, message=text, request_error=text),
        steps=tuple(Step(template=template, action=Action.REQUEST) for _ in range(STEPS)),
        requests=tuple(request(number, text) for number in range(REQUESTS)),
        boot_id=Node.model_validate(node(text)).boot_id,
    )


def node(boot_id: str) -> dict[str, object]:
    metadata = {"name": "a", "uid": UID, "resourceVersion": "1", "creationTimestamp": NOW.isoformat()}
    return {"metadata": metadata, "status": {"nodeInfo": {"bootID": boot_id}}}


def memory(text: str) -> Memory:
    seen = observation(text)
    record = RequestRecord(request=NAME, uid=UID, template=NAME, started=NOW)
    note = TaskNote(task=MaintenanceTask.CLEAN_UP, what=text, why=text, since=NOW, failed=NOW, next_try=NOW)
    return Memory(
        requests=tuple(snapshot.reference for snapshot in seen.requests),
        records=(record,) * MOST_RECORDS,
        notes=(note,) * 10,
        orders=(OrderRecord(order="hold", reason=text, given=NOW),) * MOST_RECORDS,
        found=seen.hold,
        evidence=EvidenceRecord(name=NAME, at=NOW, problem=text),
    )


@given(LONG_TEXTS)
def test_observation_memory_and_result_of_an_act_with_the_longest_texts_stay_below_the_warning(
    text: str,
) -> None:
    seen = observation(text)
    held = ActResult.held(Hold(reason=HoldReason.FAILED, message=text))

    assert payload_bytes(seen) < BLOB_WARNING
    assert payload_bytes(memory(text)) < BLOB_WARNING
    assert payload_bytes(held) < 2 * LONGEST_TEXT
    assert all(one.endswith(CUT) for one in (seen.reason, seen.boot_id, seen.subject, seen.under_way))


@given(st.text(max_size=2000))
def test_short_text_is_what_the_bound_alone_says(text: str) -> None:
    assert short(text) == cut_to_bytes(text, LONGEST_TEXT)


@pytest.mark.parametrize("length", [169, 170, 171])
def test_text_around_the_length_that_is_surely_short_is_cut_where_its_json_is_too_long(length: int) -> None:
    assert short("\x00" * length) == cut_to_bytes("\x00" * length, LONGEST_TEXT)
