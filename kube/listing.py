"""List one kind completely, in pages of one consistent moment."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Generic

from kube.answer_bounds import PagesRead
from kube.decoding import Decoder, Undecodable
from kube.record import RecordT
from kube.transport import Query, Transport


@dataclass(frozen=True)
class Listed(Generic[RecordT]):
    """Every object of a kind, and the resourceVersion to watch from."""

    records: list[RecordT]
    undecodable: list[Undecodable]
    resource_version: str


@dataclass(frozen=True)
class Paging:
    """How a list is cut into requests."""

    limit: int = 500
    """Objects of one page: 8 MB of Nodes."""
    timeout: timedelta = timedelta(seconds=60)
    """For each page."""


def selectors(label_selector: str = "", name: str = "") -> Query:
    """Of a list or a watch: the objects with these labels, and the one of that name; "" is any."""
    by_name = f"metadata.name={name}" if name else ""
    given = (("labelSelector", label_selector), ("fieldSelector", by_name))
    return [(key, value) for key, value in given if value]


async def list_all(
    transport: Transport, path: str, decoder: Decoder[RecordT], selected: Query, paging: Paging
) -> Listed[RecordT]:
    """Read all pages.

    Without resourceVersion: only such a list is sure to show everything that was ever answered, also by
    another API server. Raises Expired when the moment was compacted away between two pages, and Malformed
    when there is no end of them.
    """
    records: list[RecordT] = []
    undecodable: list[Undecodable] = []
    token, read = "", PagesRead(path)
    while True:
        query = [("limit", str(paging.limit)), *selected, *([("continue", token)] if token else ())]
        answer = await transport.request("GET", path, query=query, timeout=paging.timeout)
        page = decoder.page(read.add(answer))
        records.extend(page.records)
        undecodable.extend(page.undecodable)
        token = page.token
        if not token:
            return Listed(records, undecodable, page.resource_version)
