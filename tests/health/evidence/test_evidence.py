"""The name of evidence, for how long it is kept, and when an incident saves it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.evidence import MOST_AT_ONCE, Retention, StoredEvidence
from health.model.evidence import PREFIX, EvidenceRecord, EvidenceStore, evidence_name
from health.model.invalid_check import InvalidCheckError
from health.model.moves import (
    EVIDENCE_IS_SAVED,
    Phase,
    RecordStep,
    SaveEvidence,
    TakeStep,
)
from health.model.observation import Hold, Observation
from health.policy.check_choices import CheckChoices
from health.runbook.decide import next_move
from health.runbook.state import Memory
from tests.support.values.builders import ADMITTED, ESCALATION, HOLD, INCIDENT, NOW, seen

ANNOTATION = "paramedic.dev/evidence"
NOT_SAVED = EvidenceRecord(name="x", at=NOW, problem="no space left on device")
DAY = timedelta(days=1)


def wanted(hold: Hold | None = None) -> Observation:
    return seen(steps=ESCALATION, hold=hold).model_copy(update={"evidence": EvidenceStore.CONFIG_MAP})


@pytest.mark.parametrize("is_shadow", [False, True])
def test_evidence_is_saved_before_the_first_step_and_then_the_step_is_taken(is_shadow: bool) -> None:  # noqa: FBT001  a parameter
    memory = Memory(is_shadow=is_shadow)
    move = next_move(wanted(), memory, NOW)
    assert isinstance(move, SaveEvidence)
    assert (move.before.step, move.phase, move.next_transition) == (
        0,
        Phase.ACTING,
        EVIDENCE_IS_SAVED,
    )

    # Whether it was saved or not: a step waits for it once.
    step = RecordStep(0, move.details) if is_shadow else TakeStep(0, ADMITTED, move.details)
    assert move.before == step
    assert next_move(wanted(), replace(memory, evidence=NOT_SAVED), NOW) == step


def test_no_evidence_is_saved_if_it_is_not_wanted_or_no_step_follows() -> None:
    assert isinstance(next_move(seen(steps=ESCALATION), Memory(), NOW), TakeStep)
    assert not isinstance(next_move(wanted(hold=HOLD), Memory(), NOW), SaveEvidence)


@pytest.mark.parametrize("value", [*EvidenceStore])
def test_check_chooses_where_evidence_is_saved(value: EvidenceStore) -> None:
    assert CheckChoices.of({ANNOTATION: value.value}).evidence is value
    assert CheckChoices.of({}).evidence is None


@pytest.mark.parametrize("value", ["/etc", "file", "", "configmap"])
def test_other_value_is_refused(value: str) -> None:
    with pytest.raises(InvalidCheckError) as refused:
        CheckChoices.of({ANNOTATION: value})
    problem = "must be 'ConfigMap'"
    assert str(refused.value) == f"metadata.annotations[{ANNOTATION}]: {problem} (found {value!r})"


@given(st.text(), st.text(min_size=1))
def test_name_is_one_that_kubernetes_and_file_systems_take(target: str, run: str) -> None:
    named = INCIDENT.target.model_copy(update={"name": target})
    name = evidence_name(INCIDENT.model_copy(update={"target": named}), run)
    assert name.startswith(PREFIX)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert name[-1] != "-"
    assert len(name) < 200


def test_each_incident_has_a_name_of_its_own_and_keeps_it() -> None:
    other = INCIDENT.model_copy(update={"cluster": "other"})
    names = {
        evidence_name(INCIDENT, "run-1"),
        evidence_name(INCIDENT, "run-2"),
        evidence_name(other, "run-1"),
    }
    assert len(names) == 3
    assert evidence_name(INCIDENT, "run-1") in names


def test_record_says_where_it_is_and_what_it_lacks_or_why_there_is_none() -> None:
    record = EvidenceRecord(namespace="ns", name="x", at=NOW)
    assert str(record) == "evidence: ConfigMap ns/x"
    lacking = record.model_copy(update={"lacks": ("37 of 110 pods", "no node: it is gone")})
    assert str(lacking) == "evidence: ConfigMap ns/x (37 of 110 pods; no node: it is gone)"
    assert str(NOT_SAVED) == "evidence: not saved: no space left on device"


def test_old_or_excess_evidence_is_deleted_oldest_first_and_not_all_at_once() -> None:
    kept = [StoredEvidence(str(age), NOW - age * DAY) for age in range(40)]
    assert Retention(100, 30 * DAY).over(kept, NOW) == [str(age) for age in range(39, 30, -1)]
    assert Retention(35, 365 * DAY).over(kept, NOW) == ["39", "38", "37", "36", "35"]
    assert len(Retention(1, DAY).over(kept, NOW)) == MOST_AT_ONCE
    assert Retention(100, 365 * DAY).over(kept, NOW) == []
    of_one_second = [StoredEvidence(name, NOW) for name in "abc"]
    assert Retention(1, DAY).over(of_one_second, NOW, "a") == ["b", "c"]
