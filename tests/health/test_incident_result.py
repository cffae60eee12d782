"""The requests in the result of an incident: each request once, from its creation to its end."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from health.model.incident_result import MOST_RECORDS, RequestRecord, ended, recorded
from health.model.order import OrderRecord
from health.runbook.state import Memory
from tests.support.values.builders import FIRST, NOW, SECOND, request_of, request_snapshot

ONE, OTHER = request_of(FIRST), request_of(SECOND)
LATER = NOW + timedelta(minutes=7)


def test_request_that_appears_is_recorded_with_its_template_and_its_creation() -> None:
    (record,) = recorded((), [ONE], {ONE.uid}, LATER)
    assert record == RequestRecord(
        request="Reboot/remediators/node-1", uid=ONE.uid, template="reboot", started=NOW
    )


def test_request_that_is_gone_ends_when_that_is_seen_and_keeps_its_end() -> None:
    first = recorded((), [ONE, OTHER], set(), NOW)
    second = recorded(first, [OTHER], set(), LATER)
    assert [record.ended for record in second] == [LATER, None]
    assert recorded(second, [OTHER], set(), LATER + timedelta(hours=1)) == second


def test_request_that_is_known_and_not_seen_is_there() -> None:
    records = recorded((), [ONE], {ONE.uid}, NOW)
    assert recorded(records, [], {ONE.uid}, LATER) == records


def test_all_end_with_the_incident() -> None:
    records = recorded((), [ONE, OTHER], set(), NOW)
    assert [record.ended for record in ended(records, LATER)] == [LATER, LATER]


@given(looks=st.lists(st.sets(st.integers(0, 5)), max_size=20))
def test_each_request_has_one_record_whatever_is_seen_of_it(looks: list[set[int]]) -> None:
    records: tuple[RequestRecord, ...] = ()
    for number, look in enumerate(looks):
        shown = [request_snapshot(f"request-{step}") for step in sorted(look)]
        records = recorded(records, shown, set(), NOW + timedelta(minutes=number))
        assert {request.uid for request in shown} <= {record.uid for record in records}
    assert len({record.uid for record in records}) == len(records)
    last = looks[-1] if looks else set()
    assert {record.uid for record in records if record.ended is None} <= {f"request-{step}" for step in last}


def test_only_the_latest_are_kept() -> None:
    records: tuple[RequestRecord, ...] = ()
    memory = Memory()
    for number in range(MOST_RECORDS + 3):
        records = recorded(records, [request_snapshot(f"request-{number}")], set(), NOW)
        memory = memory.with_order(OrderRecord(order="hold", reason=str(number), given=NOW), stands=True)
    assert len(records) == len(memory.orders) == MOST_RECORDS
    assert records[-1].uid == f"request-{MOST_RECORDS + 2}"
    assert [memory.orders[0].reason, memory.orders[-1].reason] == ["3", str(MOST_RECORDS + 2)]
