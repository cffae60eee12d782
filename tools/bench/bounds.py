"""Measures how long the worst inputs and crowds block the event loop, and their memory.

Each case runs in a process of its own.
"""

import asyncio
import json
import multiprocessing
import resource
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress

from bench.cluster import BenchCluster
from bench.clusterapi import nodes_of_machines
from bench.figure import Goal, longest_stop, scenario
from bench.simulated_leader import (
    ASKED,
    CHECK,
    CREATED,
    KIND,
    NAMES,
    TARGETS,
    SimulatedLeader,
    check_object,
    request_object,
)
from bench.watched_detector import watch_event_loop
from detector.inspection.inspector import Inspector
from detector.reporting.snapshot_builder import SnapshotBuilder, rendered
from detector.state.check_state import CheckRecord
from health.check.check_snapshot import CheckSnapshot, TargetSnapshot
from health.check.health_check import ParsedCheck
from health.check.threshold import Allowance
from health.cluster.cluster_context import ClusterContext
from health.cluster.global_stop import Stop
from health.model.node import Node
from health.model.references import RequestReference
from health.model.remediation_request import RemediationRequest
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
from workflows.inspection_contracts import NameInput, SimulateInput

MOST_MEMORY_MIB = 100
MOST_KEYS = MOST_PARTS - 1
"""The keys of the largest policy: the mapping is a part, too."""
_TICK = 0.001
_LONGEST_CASE_SECONDS = 60.0

Work = Callable[[], Awaitable[object]]


def _policy(text: str) -> Work:
    async def work() -> None:
        with suppress(InvalidPolicyError):
            Policy.parse(text[:LONGEST])

    return work


def policy_of_many_keys() -> str:
    """A text of as many keys as the parser accepts; each has at most six bytes."""
    return "".join(f"{number:x}:\n" for number in range(MOST_KEYS))


def _line(labels: bytes, conditions: bytes, more: bytes = b"") -> Work:
    created = CREATED.isoformat().encode()
    fields = b'"name":"a","uid":"u","resourceVersion":"1","creationTimestamp":"%s","labels":%s'
    node = b'{"metadata":{%s},' % (fields % (created, labels))
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
    requests = (RequestSnapshot(reference=reference, created=CREATED),)
    targets = {
        name: TargetSnapshot(name=name, uid=f"uid-{name}", verdict=HEALTHY, requests=requests)
        for name in NAMES
    }
    snapshot = CheckSnapshot(
        parsed=ParsedCheck(KIND.parse(check_object("51%"))),
        uid="uid-workers",
        allowance=Allowance.of_required(1, total=TARGETS, healthy=TARGETS),
        targets=targets,
    )

    async def work() -> None:
        stored = await rendered(snapshot, lambda: KIND.status_patch(snapshot, {}, CREATED))
        await rendered(snapshot, lambda: KIND.status_patch(snapshot, stored, CREATED))

    return work


def _after(change: Callable[[SimulatedLeader], object]) -> Work:
    leader = SimulatedLeader()
    return lambda: leader.compare_all_after(lambda: change(leader))


def _edit_check(leader: SimulatedLeader) -> None:
    edited = CheckRecord.model_validate(check_object(min_healthy=1, generation=2))
    leader.state.check_changed(KIND, CHECK, edited)


def _reconciliation() -> Work:
    """The start of a lead: what should be is compared with what is, twice."""
    leader = SimulatedLeader()

    async def work() -> None:
        async with leader.leading():
            await asyncio.sleep(1)

    return work


def _report() -> Work:
    leader = SimulatedLeader()
    for name in NAMES:
        request = RemediationRequest.model_validate(request_object(name))
        leader.state.request_changed("example.com/v1", "Reboot", request, exists=True)
    builder = SnapshotBuilder(leader.state, leader.attempts.before)

    async def work() -> None:
        draft = builder.draft(CHECK, None, ASKED)
        assert draft is not None
        snapshot = await draft.in_pieces()
        await rendered(snapshot, lambda: KIND.events(None, snapshot, {}, ASKED))
        await rendered(snapshot, lambda: KIND.status_patch(snapshot, {}, ASKED))

    return work


def _questions() -> Work:
    """The answers to `check` and `simulate` of the command."""
    leader = SimulatedLeader()
    inspector = Inspector(
        cluster_state=leader.state,
        observer=leader.observer,
        is_heard=lambda _: True,
        is_leader=lambda: True,
        identity="bench",
    )

    async def work() -> None:
        await inspector.check(NameInput(name=CHECK.name))
        await inspector.simulate(SimulateInput(text=json.dumps(check_object(min_healthy=1))))

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
    "policy edit with 5,000 open incidents": lambda: _after(
        lambda leader: leader.state.take_context(ClusterContext(stop=Stop("power work")))
    ),
    "edit of a check with 5,000 open incidents": lambda: _after(_edit_check),
    "clock skew begins with 5,000 open incidents": lambda: _after(lambda leader: leader.state.notify_all()),
    "reconciliation of 5,000 incidents": _reconciliation,
    "snapshot, Events and status of one check of 5,000": _report,
    "answers to check and simulate for 5,000 targets": _questions,
    "Nodes of 5,000 Machines are read": nodes_of_machines,
}


def _goals() -> Iterator[Goal]:
    for name in CASES:
        yield longest_stop(name)
        yield Goal(f"memory, {name}", MOST_MEMORY_MIB, "MiB")


@scenario("bounds", tuple(_goals()))
async def bounds(_: BenchCluster) -> list[float]:
    """Run each case in a process of its own, to measure its memory alone."""
    values: list[float] = []
    for name in CASES:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
            running = processes.submit(_cost, name)
            values += await asyncio.to_thread(running.result, _LONGEST_CASE_SECONDS)
    return values


def _cost(name: str) -> tuple[float, float]:
    """The longest stop of the event loop in milliseconds, and the memory of one case in MiB."""
    keep_full_collections_short()  # as our processes do
    work = CASES[name]()
    return asyncio.run(_measured(work))


async def _measured(work: Work) -> tuple[float, float]:
    stops = [0.0]
    before = _memory()
    watching = asyncio.create_task(watch_event_loop(_TICK, lambda _, seconds: stops.append(seconds)))
    await asyncio.sleep(10 * _TICK)
    await work()
    await asyncio.sleep(10 * _TICK)
    watching.cancel()
    return 1000 * max(stops), _memory() - before


def _memory() -> float:
    """The peak memory of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB
