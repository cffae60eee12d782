"""Reads and writes single objects as JSON: one request each, no retries, no cache.

Every write names its field manager, and every patch its content type: strategic merge, the default of the
library, is refused for custom resources.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from pydantic_core import from_json

from kube import answer_bounds
from kube.answer_bounds import check_bound, memory_of_object
from kube.decoding_thread import decoded
from kube.discovery import Discovery
from kube.errors import Expired, KindUnknown, Malformed
from kube.listing import FROM_CACHE, PageReader, Paging, selectors
from kube.resource import Object, Resource
from kube.transport import Query, Transport
from objects.field_problem import json_problem

GATHER = timedelta(seconds=0.1)
"""Between two shared reads, more callers may join for this time: a storm then has a third fewer reads."""
LONGEST_SHARED = timedelta(seconds=60)
"""The limit of waiting for the previous shared read, whose own limits together are shorter."""
_Key = tuple[Resource, str, str]
_Objects = list[Object]  # inside the class the name `list` is the verb

_MERGE_PATCH = "application/merge-patch+json"
_JSON = "application/json"
_PAGING = Paging(timeout=timedelta(seconds=10))
_DRY_RUN: Query = (("dryRun", "All"), ("fieldValidation", "Strict"))
_METADATA_ALONE = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def _any(_: Object) -> bool:
    return True


class Client:
    """The verbs of the API server. Every method raises `KubernetesError`, see kube/errors.py."""

    def __init__(
        self,
        transport: Transport,
        field_manager: str = "paramedic",
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Each object that it creates gets `labels`."""
        self._transport = transport
        self.labels = labels
        self.discovery = Discovery(transport)
        """It forgets a group version as soon as an answer shows that the kind is no longer served there."""
        self._field_manager: Query = (("fieldManager", field_manager),)

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        """The object as the API server holds it now, not from a cache."""
        return await self._send("GET", resource, resource.path(namespace, name))

    async def create(self, resource: Resource, body: Object, namespace: str = "") -> Object:
        """Create the object; `AlreadyExists` if its name is taken."""
        if self.labels:
            metadata = body.get("metadata") or {}
            labels = {**(metadata.get("labels") or {}), **self.labels}
            body = body | {"metadata": metadata | {"labels": labels}}
        return await self._send("POST", resource, resource.path(namespace), self._field_manager, body)

    async def with_defaults(self, resource: Resource, body: Object, namespace: str = "") -> Object:
        """The object with its defaults, as the API server would create it; a dry run stores nothing."""
        query = (*self._field_manager, *_DRY_RUN)
        return await self._send("POST", resource, resource.path(namespace), query, body)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object:
        """Delete the object if it still has this uid and resourceVersion, else `Conflict`.

        An object with finalizers stays until they are removed.
        """
        wanted = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {key: value for key, value in wanted.items() if value is not None}
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions:
            options["preconditions"] = preconditions
        return await self._send("DELETE", resource, resource.path(namespace, name), body=options)

    async def merge_patch(
        self, resource: Resource, name: str, body: Object, namespace: str = "", subresource: str | None = None
    ) -> Object:
        """Merge `body` into the object; null removes a field, a list replaces a list.

        A metadata.resourceVersion in `body` makes the patch conditional: `Conflict` if the object has
        changed.
        """
        path = resource.path(namespace, name, subresource)
        return await self._send("PATCH", resource, path, self._field_manager, body, content_type=_MERGE_PATCH)

    async def _send(  # noqa: PLR0913, PLR0917  the parts of a request
        self,
        method: str,
        resource: Resource,
        path: str,
        query: Query = (),
        body: Object | None = None,
        content_type: str = _JSON,
    ) -> Object:
        with self._noting_unknown(resource):
            answer = await self._transport.request(
                method, path, query=query, body=body, content_type=content_type
            )
        return await _decoded(answer, path)

    @contextmanager
    def _noting_unknown(self, resource: Resource) -> Iterator[None]:
        try:
            yield
        except KindUnknown:
            self.discovery.forget(resource.api_version)
            raise

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        label_selector: str | None = None,
        name: str | None = None,
        where: Callable[[Object], object] = _any,
    ) -> _Objects:
        """All objects at one consistent moment; with `name` only those of that name.

        `where` drops objects as they are read, page by page. Items of built-in kinds have no apiVersion and
        kind. Raises Malformed also if the objects need more memory than MOST_LISTED.
        """
        selected = selectors(label_selector, name)
        try:
            return await self._list_once(resource, namespace, selected, where=where)
        except Expired:  # the list was compacted away between two of its pages
            return await self._list_once(resource, namespace, selected, where=where)

    async def list_metadata(
        self, resource: Resource, namespace: str = "", label_selector: str | None = None
    ) -> _Objects:
        """The metadata of each object, without the rest of it."""
        selected = selectors(label_selector)
        return await self._list_once(resource, namespace, selected, _METADATA_ALONE)

    async def list_some(
        self, resource: Resource, field_selector: str, namespace: str = "", *, most: int
    ) -> tuple[_Objects, bool]:
        """Return objects that may be as old as the API server's cache, and whether there are more.

        It asks for no more pages when it has `most` objects, or objects of MOST_OF_SOME; with a cache there
        is one page, of all.
        """
        selected = [("fieldSelector", field_selector)]
        items, is_cut, memory = _Objects(), False, 0
        async for page, has_more in self._pages(resource, namespace, selected, [FROM_CACHE]):
            items.extend(page)
            memory += sum(map(memory_of_object, page))
            is_full = len(items) >= most or memory > answer_bounds.MOST_OF_SOME
            is_cut = len(items) > most or (has_more and is_full)
            if is_full:
                break
        return items[:most], is_cut

    async def _list_once(
        self,
        resource: Resource,
        namespace: str,
        selected: Query,
        accept: str = _JSON,
        where: Callable[[Object], object] = _any,
    ) -> _Objects:
        items, memory = _Objects(), 0
        async for page, _ in self._pages(resource, namespace, selected, accept=accept):
            kept = [item for item in page if where(item)]
            items += kept
            memory += sum(map(memory_of_object, kept))
            subject = f"The list of {resource.path(namespace)}"
            check_bound(subject, memory, self._transport.room.listed, "bytes of memory")
            check_bound(subject, len(items), self._transport.room.objects, "objects")
        return items

    async def _pages(
        self,
        resource: Resource,
        namespace: str,
        selected: Query,
        first: Query = (),
        accept: str = _JSON,
    ) -> AsyncIterator[tuple[_Objects, bool]]:
        """Each page, and whether more follow; parameters in `first` apply to the whole list."""
        path = resource.path(namespace)
        reader, rest = PageReader(self._transport, path, _PAGING, accept), first
        while True:
            with self._noting_unknown(resource):
                answer = await _decoded(await reader.read([*selected, *rest]), path)
            metadata, items = answer.get("metadata"), answer.get("items") or []
            token = metadata.get("continue", "") if isinstance(metadata, dict) else None
            is_list = isinstance(items, list) and all(isinstance(item, dict) for item in items)
            if not is_list or not isinstance(token, str):
                raise Malformed(f"The answer for {path} is not a list.", path=path)
            yield items, bool(token)
            if not token:
                return
            rest = [("continue", token)]


async def _decoded(answer: bytes, path: str) -> Object:
    return await decoded(partial(_object, path=path), answer)


def _object(answer: bytes, path: str) -> Object:
    try:
        value: Any = from_json(answer)
    except ValueError as error:
        raise Malformed(
            f"The answer for {path} cannot be read: {json_problem(str(error))}", path=path
        ) from error
    if not isinstance(value, dict):
        raise Malformed(f"The answer for {path} is not an object.", path=path)
    return value


class SharedReads:
    """GETs of single objects that concurrent callers share, each as fresh as a read of its own.

    A caller gets the answer to a request that was sent after its call. A hundred acts that wait together need
    the same check and template: one read of each, not a hundred. For each object at most one read is running
    and one is waiting. All callers get the same object and must not change it.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._under_way: dict[_Key, asyncio.Task[Object]] = {}
        self._in_waiting: dict[_Key, asyncio.Task[Object]] = {}

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        """The object as the API server held it after this call; raises as `Client.get`."""
        key = (resource, name, namespace)
        waiting = self._in_waiting.get(key)
        if waiting is None:
            waiting = self._in_waiting[key] = asyncio.create_task(self._read(key))
        # A cancelled caller must not cancel the read of the others.
        return await asyncio.shield(waiting)

    async def _read(self, key: _Key) -> Object:
        before = self._under_way.get(key)
        if before is not None:
            await asyncio.wait([before], timeout=LONGEST_SHARED.total_seconds())
            await asyncio.sleep(GATHER.total_seconds())
        # Sent from here on: later callers need another read.
        task = self._under_way[key] = self._in_waiting.pop(key)
        try:
            return await self._client.get(*key)
        finally:
            if self._under_way.get(key) is task:
                del self._under_way[key]
