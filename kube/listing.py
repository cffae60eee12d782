"""Lists one kind completely, in pages of one consistent moment.

The next page is requested while a page is decoded: both take about as long, in different processes.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic

from pydantic_core import from_json

from kube import answer_bounds
from kube.answer_bounds import check_bound, memory_of
from kube.decoding import Decoder, Undecodable
from kube.decoding_thread import decoded
from kube.errors import TooLarge
from kube.record import Key, RecordT, key_of
from kube.transport import Query, Transport


@dataclass(frozen=True)
class ObjectList(Generic[RecordT]):
    """All objects of a kind, and the resourceVersion to watch from."""

    records: list[RecordT]
    undecodable: list[Undecodable]
    resource_version: str
    memory: dict[Key, int] = field(default_factory=dict)
    """The memory of each record, in bytes."""


@dataclass(frozen=True)
class Paging:
    """The page size of a list, and the limit of each request."""

    limit: int = 100
    """The objects in the first page: 1.6 MB of Nodes."""
    timeout: timedelta = timedelta(seconds=60)
    """The limit for each page."""


_MOST_AT_ONCE = 500
"""As client-go lists by default."""
_FILLED_BYTES = answer_bounds.MOST_OF_A_PAGE * 3 // 4
"""Objects differ in size, and a page that is too large is requested again."""
_HEAD_BYTES = 4096
"""Enough for the metadata of a list, with a token of a few hundred bytes."""
FROM_CACHE = ("resourceVersion", "0")
"""Asks for objects as old as the API server's cache, which answers with one page, ignoring the limit."""


def selectors(label_selector: str | None = None, name: str | None = None) -> Query:
    """The query parameters for objects with these labels, or with that name; None selects all."""
    by_name = None if name is None else f"metadata.name={name}"
    given = (("labelSelector", label_selector), ("fieldSelector", by_name))
    return [(key, value) for key, value in given if value is not None]


class PageReader:
    """Reads the pages of one list as bytes, within kube/answer_bounds.py."""

    def __init__(
        self,
        transport: Transport,
        path: str,
        paging: Paging,
        accept: str = "application/json",
        *,
        decodes_any_object: bool = False,
    ) -> None:
        """`decodes_any_object`: the caller uses a Decoder, which takes any number of JSON values."""
        self._transport = transport
        self._path = path
        self._paging = paging
        self._accept = accept
        self._decodes_any_object = decodes_any_object
        self._limit = paging.limit
        self._pages = self._bytes = 0

    async def read(self, query: Query) -> bytes:
        """The page for `query`, with fewer objects if they are too large together.

        If a page from the cache, which ignores the limit, is too large, it is requested again without the
        cache. Raises Malformed: the list has too many pages or bytes; TooLarge: one object is too large.
        """
        parameters = list(query)
        while True:
            try:
                page = await self._transport.request(
                    "GET",
                    self._path,
                    query=[("limit", str(self._limit)), *parameters],
                    accept=self._accept,
                    timeout=self._paging.timeout,
                    most=answer_bounds.MOST_OF_A_PAGE,
                    most_values=self._most_values,
                )
                break
            except TooLarge:
                if FROM_CACHE in parameters:
                    parameters.remove(FROM_CACHE)
                elif self._limit == 1:
                    raise
                else:
                    self._limit = max(1, self._limit // 4)
        self._pages += 1
        self._bytes += len(page)
        # A page of small objects costs the API server as much as one of large objects. A page before another
        # one is full, so its bytes tell the size of an object.
        fitting = self._limit * _FILLED_BYTES // max(1, len(page))
        self._limit = max(self._limit, min(_MOST_AT_ONCE, fitting))
        subject = f"The list of {self._path}"
        check_bound(subject, self._pages, self._transport.room.pages, "pages")
        check_bound(subject, self._bytes, self._transport.room.received, "bytes")
        return page

    @property
    def _most_values(self) -> int | None:
        if not self._decodes_any_object:
            return answer_bounds.MOST_VALUES
        return None if self._limit == 1 else answer_bounds.MOST_DECODED_VALUES


async def list_all(
    transport: Transport, path: str, decoder: Decoder[RecordT], selected: Query, paging: Paging
) -> ObjectList[RecordT]:
    """Read all pages.

    The request has no resourceVersion: only such a list surely contains everything that any API server has
    ever answered. Raises Expired if the list was compacted away between two pages, and OverBound if it is
    larger than kube/answer_bounds.py allows.
    """
    records: list[RecordT] = []
    undecodable: list[Undecodable] = []
    memory: dict[Key, int] = {}
    reader = PageReader(transport, path, paging, decodes_any_object=True)
    subject, kept = f"The list of {path}", 0
    answer = await reader.read(selected)
    while True:
        ahead = token_ahead(answer)
        page, following = await asyncio.gather(
            decoded(decoder.page, answer), _page_after(ahead, reader, selected)
        )
        records.extend(page.records)
        undecodable.extend(page.undecodable)
        here = [(key_of(record), memory_of(record)) for record in page.records]
        memory.update(here)
        kept += sum(size for _, size in here)  # an object may be listed again and again
        check_bound(subject, len(records), transport.room.objects, "objects")
        check_bound(subject, kept, transport.room.kept, "bytes of records")
        check_bound(subject, len(undecodable), answer_bounds.MOST_UNDECODABLE, "objects that do not decode")
        if not page.token:
            return ObjectList(records, undecodable, page.resource_version, memory)
        answer = following if page.token == ahead else await _page_after(page.token, reader, selected)


async def _page_after(token: str, reader: PageReader, selected: Query) -> bytes:
    return await reader.read([*selected, ("continue", token)]) if token else b""


def token_ahead(page: bytes) -> str:
    """The token of the next page, if it precedes the objects, as an API server writes it; else ""."""
    try:
        head = from_json(page[:_HEAD_BYTES], allow_partial=True)
        token = head["metadata"]["continue"]
    except (ValueError, KeyError, TypeError):
        return ""
    return token if isinstance(token, str) else ""
