"""Any object, page of a list or line of a watch is decoded, or refused as Malformed."""

import json
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given

from kube.decoding import Bookmark, Decoder, ListPage, ObjectEvent, Undecodable, WatchError
from kube.errors import Malformed
from kube.lease import LeaseRecord, expiry, holder_is_valid, needs_renewal, released, renewed, taken_over
from tests.support.values.extremes import mutated
from tests.support.values.leases import NOW, lease_object

pytestmark = pytest.mark.rule("rule 8/wire")

LEASE = lease_object("somebody")
PAGE = {"metadata": {"resourceVersion": "9", "continue": ""}, "items": [LEASE, LEASE]}
LINE = {"type": "MODIFIED", "object": LEASE}
DECODER = Decoder(LeaseRecord)
INT32 = range(-(2**31), 2**31)


def wire(body: Any) -> bytes:
    return json.dumps(body).encode()


@given(mutated(LEASE))
def test_lease_that_can_be_read_can_be_judged_and_taken(body: dict[str, Any]) -> None:
    with suppress(Malformed):
        lease = LeaseRecord.read(body)
        expiry(lease)
        holder_is_valid(lease, NOW)
        needs_renewal(lease, timedelta(days=365 * 292), NOW)
        taken = taken_over(lease, "we", timedelta(days=365 * 292), NOW, None)
        assert taken["spec"]["leaseTransitions"] in INT32
        assert taken["spec"]["leaseDurationSeconds"] in INT32
        assert wire([taken, renewed(lease, timedelta(), NOW), released(lease, NOW)])


@given(mutated(PAGE))
def test_page_of_a_list(body: dict[str, Any]) -> None:
    with suppress(Malformed):
        assert isinstance(DECODER.page(wire(body)), ListPage)


@given(mutated(LINE))
def test_line_of_a_watch(body: dict[str, Any]) -> None:
    with suppress(Malformed):
        assert isinstance(DECODER.line(wire(body)), ObjectEvent | Bookmark | WatchError)


@given(mutated(LEASE))
def test_one_object(body: dict[str, Any]) -> None:
    with suppress(Malformed):
        assert isinstance(DECODER.object(wire(body)), LeaseRecord | Undecodable)


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00.000000+14:00"])
def test_lease_that_was_renewed_at_an_end_of_the_calendar_has_no_holder(time: str) -> None:
    body = lease_object("somebody")
    lease = LeaseRecord.read(body | {"spec": body["spec"] | {"renewTime": time}})

    assert not holder_is_valid(lease, NOW)


def test_time_without_a_zone_is_refused_by_its_field() -> None:
    body = lease_object("somebody")
    with pytest.raises(Malformed, match=r"spec\.renewTime: .*has no time zone"):
        LeaseRecord.read(body | {"spec": body["spec"] | {"renewTime": "2026-03-01T12:00:00"}})
