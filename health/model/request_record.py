"""RequestRecord: one request of an incident from creation to deletion, for the result. Pure."""

from collections.abc import Collection, Iterable
from datetime import datetime

from health.model.request_snapshot import RequestSnapshot
from objects.frozen import Frozen

MOST_RECORDS = 50
"""Only the latest requests and orders are kept, because an incident may last for months."""


class RequestRecord(Frozen):
    """A request that the incident made or found."""

    request: str
    """Kind, namespace and name."""
    uid: str
    template: str
    """The name of its template; "" if the request does not say."""
    started: datetime
    """When the request was created."""
    ended: datetime | None = None
    """When the incident found it gone; None while it exists."""


def recorded(
    records: Iterable[RequestRecord],
    requests: Iterable[RequestSnapshot],
    known: Collection[str],
    now: datetime,
) -> tuple[RequestRecord, ...]:
    """The records after a look that shows `requests`; a request neither shown nor `known` is gone."""
    shown = {request.uid: request for request in requests}
    before = [
        record
        if record.ended or record.uid in shown or record.uid in known
        else record.model_copy(update={"ended": now})
        for record in records
    ]
    old = {record.uid for record in before}
    new = [_record(request) for uid, request in shown.items() if uid not in old]
    return tuple([*before, *new][-MOST_RECORDS:])


def ended(records: Iterable[RequestRecord], now: datetime) -> tuple[RequestRecord, ...]:
    """The records once all requests are gone."""
    return recorded(records, (), (), now)


def _record(request: RequestSnapshot) -> RequestRecord:
    reference = request.reference
    return RequestRecord(
        request=str(reference), uid=request.uid, template=reference.template, started=request.created
    )
