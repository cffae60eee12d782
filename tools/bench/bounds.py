"""Measures how long the worst inputs block the event loop, and their memory, with one process per case."""

import asyncio
import multiprocessing
import resource
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from bench import event_loop, limits, workers
from bench.cluster import BenchCluster
from bench.clusterapi import join
from bench.figure import Figure, longest_stop
from detector.reporting.snapshot_builder import rendered
from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.health_check import ParsedCheck
from health.check.threshold import Allowance
from health.model.node import Node
from health.model.references import RequestReference
from health.model.request_snapshot import RequestSnapshot
from health.model.verdict import HEALTHY
from health.policy.policy import InvalidPolicyError, Policy
from kube.answer_bounds import (
    MIB,
    MOST_DECODED_VALUES,
    MOST_OF_A_PAGE,
    MOST_OF_AN_OBJECT,
    MOST_VALUES,
)
from kube.decoding import Decoder
from kube.decoding_thread import decoded
from kube.errors import Malformed
from objects.yaml_document import LONGEST, MOST_PARTS
from runtime.process import keep_full_collections_short

MOST_MEMORY_MIB = 100
MOST_KEYS = MOST_PARTS - 1
"""The keys of the largest policy: the mapping is a part, too."""
_TICK = 0.001
_LONGEST_CASE_SECONDS = 60.0
_CREATED = datetime(2026, 1, 1, tzinfo=UTC)
_TARGETS = 5_000

Work = Callable[[], Awaitable[object]]


class Cost(NamedTuple):
    """The longest block of the event loop, and the memory of one case."""

    stop_seconds: float
    memory_mib: float


def _policy(text: str) -> Work:
    async def work() -> None:
        with suppress(InvalidPolicyError):
            Policy.parse(text[:LONGEST])

    return work


def policy_of_many_keys() -> str:
    """A text of as many keys as the parser accepts; each has at most six bytes."""
    return "".join(f"{number:x}:\n" for number in range(MOST_KEYS))


def _line(labels: bytes, conditions: bytes, more: bytes = b"") -> Work:
    node = (
        b'{"metadata":{"name":"a","uid":"u","resourceVersion":"1","creationTimestamp":"%s","labels":%s},'
        % (
            _CREATED.isoformat().encode(),
            labels,
        )
    )
    line = b'{"type":"ADDED","object":%s"status":{"conditions":%s}%s}}' % (node, conditions, more)
    return lambda: decoded(Decoder(Node).line, line)


def _page(items: bytes) -> Work:
    async def work() -> None:
        with suppress(Malformed):
            await decoded(Decoder(Node).page, b'{"metadata":{"resourceVersion":"1"},"items":%s}' % items)

    return work


def _repeated(unit: bytes, most: int) -> bytes:
    """A JSON list of as many units as fit, with room for an envelope."""
    return b"[" + b",".join([unit] * ((most - 1024) // (len(unit) + 1))) + b"]"


def _mapping(value: bytes, most: int) -> bytes:
    """A JSON object with as many keys as fit."""
    return (
        b"{" + b",".join(b'"%07x":%s' % (n, value) for n in range((most - 1024) // (11 + len(value)))) + b"}"
    )


def _recovering_nodes() -> Work:
    reference = RequestReference(
        api_version="example.com/v1", kind="Reboot", namespace="a", name="n", uid="u"
    )
    requests = (RequestSnapshot(reference=reference, created=_CREATED),)
    names = [f"node-{number}" for number in range(_TARGETS)]
    targets = {
        name: TargetSnapshot(name=name, uid=f"uid-{name}", verdict=HEALTHY, requests=requests)
        for name in names
    }
    check = workers.KIND.parse(workers.check_object(_CREATED, "51%"))
    snapshot = CheckSnapshot(
        parsed=ParsedCheck(check),
        uid="u",
        allowance=Allowance.of_required(1, total=_TARGETS, healthy=_TARGETS),
        targets=targets,
    )

    async def work() -> None:
        stored = await rendered(snapshot, lambda: workers.KIND.status_patch(snapshot, {}, _CREATED))
        await rendered(snapshot, lambda: workers.KIND.status_patch(snapshot, stored, _CREATED))

    return work


def _item(field: bytes) -> bytes:
    """A list of one object, with this field in its metadata."""
    return b'[{"metadata":{"name":"a",%s}}]' % field


_OBJECT, _PAGE = MOST_OF_AN_OBJECT, MOST_OF_A_PAGE
_DEEP = b"[" * 150 + b"]" * 150
CASES: dict[str, Callable[[], Work]] = {
    "policy of base-60 digits": lambda: _policy("shadow: " + "1:" * LONGEST),
    f"policy of {MOST_KEYS:,} keys": lambda: _policy(policy_of_many_keys()),
    "watch line, numbers as conditions": lambda: _line(b"{}", _repeated(b"1", _OBJECT)),
    "watch line, empty conditions": lambda: _line(b"{}", _repeated(b"{}", _OBJECT)),
    "watch line, good conditions": lambda: _line(b"{}", _repeated(b'{"type":"a","status":"b"}', _OBJECT)),
    "watch line, numbers as labels": lambda: _line(_mapping(b"1", _OBJECT), b"[]"),
    "watch line, good labels": lambda: _line(_mapping(b'""', _OBJECT), b"[]"),
    "watch line, an unknown field": lambda: _line(b"{}", b"[]", b',"x":' + _repeated(b"{}", _OBJECT)),
    "watch line, an unknown field of a bad object": lambda: _line(
        b"{}", b"1", b',"x":' + _repeated(b"[]", _OBJECT)
    ),
    "watch line, lists as labels": lambda: _line(_repeated(b"[]", _OBJECT), b"[]"),
    "page of numbers": lambda: _page(_repeated(b"1", _PAGE)),
    "page of empty objects": lambda: _page(_repeated(b"{}", _PAGE)),
    "page, lists as a label": lambda: _page(_item(b'"labels":{"a":%s}' % _repeated(b"[]", _PAGE))),
    "page, deep lists as a label": lambda: _page(_item(b'"labels":{"a":%s}' % _repeated(_DEEP, _PAGE))),
    "page, lists as a name": lambda: _page(_item(b'"name":%s' % _repeated(b"[]", _PAGE))),
    "page, metadata null": lambda: _page(b'[{"metadata":null,"x":%s}]' % _repeated(b"[]", _PAGE)),
    "page, 1,000 objects with lists as a label": lambda: _page(
        _repeated(_item(b'"labels":{"a":%s}' % _repeated(b"[]", 1024 + 2000))[1:-1], _PAGE)
    ),
    "page, as many values as are decoded": lambda: _page(
        _item(b'"x":[%s]' % b",".join([b'{"a":{}}'] * (MOST_DECODED_VALUES // 2 - 100)))
    ),
    "page, as many values as give a reason": lambda: _page(
        _item(b'"labels":[%s]' % b",".join([b'{"a":{}}'] * (MOST_VALUES // 2 - 100)))
    ),
    "status of 5,000 recovering nodes": _recovering_nodes,
    "page of objects without a uid": lambda: _page(_repeated(b'{"metadata":{"name":"a"}}', _PAGE)),
    **event_loop.CASES,
    **join.CASES,
}


async def measure(_: BenchCluster) -> list[Figure]:
    """Run each case in a process of its own, to measure its memory alone."""
    figures = []
    for name in CASES:
        cost = await asyncio.to_thread(_in_a_process, name)
        figures += [
            longest_stop(name, cost.stop_seconds),
            Figure(f"memory, {name}", cost.memory_mib, unit="MiB", goal=MOST_MEMORY_MIB),
        ]
    figures += await asyncio.to_thread(limits.measure_limits)
    return figures


def _in_a_process(name: str) -> Cost:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        return processes.submit(_cost, name).result(_LONGEST_CASE_SECONDS)


def _cost(name: str) -> Cost:
    keep_full_collections_short()  # as our processes do
    work = CASES[name]()
    return asyncio.run(_measured(work))


async def _measured(work: Work) -> Cost:
    before = _memory()
    watching = asyncio.create_task(_longest_stop())
    await asyncio.sleep(10 * _TICK)
    await work()
    await asyncio.sleep(10 * _TICK)
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    return Cost(_stops[-1], _memory() - before)


_stops: list[float] = [0.0]


async def _longest_stop() -> None:
    """Record how much later than planned the loop continued."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(_TICK)
        _stops.append(max(_stops[-1], time.perf_counter() - began - _TICK))


def _memory() -> float:
    """The peak memory of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB
