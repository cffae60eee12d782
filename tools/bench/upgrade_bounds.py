"""The largest payloads of an upgrade pause of many checks, and how long they stop the event loop.

The detector gathers the checks and answers; the worker decides and packs the memory. The worst memory has
5,000 checks that are paused and whose last write failed, and as many orders as it keeps, with the longest
texts.
"""

import random
import string
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import NAMESPACE_OID, uuid5

from bench.figure import Figure, longest_stop
from detector.upgrade.pausable_checks import KindOfPausableChecks, PausableRecord
from detector.upgrade.pause_state import CheckChanges
from health.cluster.upgrade import UpgradePhase
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from health.upgrade.failed_write import PauseAnswer, WriteOutcome
from health.upgrade.memory import MOST_ORDERS, PauseMemory
from health.upgrade.next_pass import having_written, next_pass
from health.upgrade.observation import UpgradeObservation
from health.upgrade.orders import OrderName, PauseOrderRecord
from health.upgrade.packed_memory import packed, unpacked
from health.upgrade.pausable_check import PausableCheck
from kube.record import Key, key_of
from kube.reflector import Reflector
from kube.transport import Transport
from objects.metadata import ObjectMetadata
from objects.short_text import LONGEST_TEXT, short
from workflows.upgrade_questions import UpgradeQuestions

COUNTS = (3_100, 5_000)
MOST_BYTES = 2 * 1024 * 1024
LONGEST_TASK_MILLISECONDS = 2_000
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_RANDOM = random.Random(0)  # noqa: S311  texts that do not compress
_KIND, _ANNOTATIONS = next((kind, kind.upgrade_pause) for kind in CHECK_KINDS.values() if kind.upgrade_pause)
_NAMESPACE = "n" * 63
T = TypeVar("T")


def figures(transport: Transport) -> list[Figure]:
    """Two for each count of checks, all of which are paused already; then those of the largest count."""
    largest = max(COUNTS)
    return [
        *(figure for count in COUNTS for figure in _of(count)),
        *_of_gathering(transport, largest),
        *_of_worst_memory(largest),
    ]


def _of_gathering(transport: Transport, count: int) -> list[Figure]:
    """The time in which the detector gathers its checks, when all are new and when none has changed."""
    checks = KindOfPausableChecks(_KIND, _ANNOTATIONS, _Listed(transport, count), lambda _: False)
    new, _ = _timed(lambda: tuple(checks.all()))
    same, _ = _timed(lambda: tuple(checks.all()))
    return [
        longest_stop(f"{count:,} new checks are gathered", new),
        longest_stop(f"{count:,} known checks", same),
    ]


class _Listed(Reflector[PausableRecord]):
    """A reflector that has listed this number of paused checks."""

    def __init__(self, transport: Transport, count: int) -> None:
        super().__init__(transport, _KIND, PausableRecord, notify=lambda _: None)
        records = map(_record, range(count))
        self._listed = {key_of(record): record for record in records}

    @property
    def store(self) -> Mapping[Key, PausableRecord]:
        return self._listed


def _of_worst_memory(count: int) -> list[Figure]:
    memory, over = worst_memory(count)
    decided, _ = _timed(lambda: next_pass(over, memory, _NOW))
    packed_in, text = _timed(lambda: packed(memory))
    read_in, _ = _timed(lambda: unpacked(text))
    name = f"worst memory of {count:,} checks"
    return [
        Figure(name=f"largest payload, {name}", measured=len(text), goal=MOST_BYTES, unit="bytes"),
        _worker_stop(f"one decision, {name}", decided),
        _worker_stop(f"packing, {name}", packed_in),
        _worker_stop(f"reading, {name}", read_in),
    ]


def worst_memory(count: int) -> tuple[PauseMemory, UpgradeObservation]:
    """The memory of this number of checks, and the observation after the upgrade."""
    checks = tuple(map(_check, range(count)))
    under_way = UpgradeObservation(phase=UpgradePhase.UNDER_WAY, since=_NOW)
    under_way = under_way.model_copy(update={"checks": checks})
    over = under_way.model_copy(update={"phase": UpgradePhase.OVER})
    memory = _all_failed(over, next_pass(under_way, PauseMemory(), _NOW).memory)
    return memory.model_copy(update={"orders": tuple(map(_order, range(MOST_ORDERS)))}), over


def _all_failed(over: UpgradeObservation, memory: PauseMemory) -> PauseMemory:
    """The memory after the write of each check has failed with the longest text."""
    while (passed := next_pass(over, memory, _NOW)).patches:
        failed = [
            PauseAnswer(uid=patch.uid, outcome=WriteOutcome.FAILED, why=_longest_text())
            for patch in passed.patches
        ]
        memory = having_written(passed, failed, _NOW, spread=1)
    return memory


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    """The seconds of the work, and its result."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def _worker_stop(name: str, seconds: float) -> Figure:
    """Temporal's SDK counts a workflow task of two seconds without an answer as a deadlock."""
    return Figure(
        name=f"longest workflow task, {name}",
        measured=seconds * 1000,
        goal=LONGEST_TASK_MILLISECONDS,
        unit="ms",
    )


def _of(count: int) -> list[Figure]:
    changes, questions, stops, sizes = CheckChanges(), UpgradeQuestions("main"), [0.0], [0]
    observation = UpgradeObservation(phase=UpgradePhase.UNDER_WAY, since=_NOW)
    observation = observation.model_copy(update={"checks": tuple(map(_check, range(count)))})
    has_more = True
    while has_more:
        question = questions.question((), ())
        began = time.perf_counter()
        answer = changes.answer(question, observation)
        stops.append(time.perf_counter() - began)
        questions.take(question, answer)
        sizes.append(len(answer.model_dump_json().encode()))
        has_more = answer.has_more
    memory = next_pass(questions.observed(answer), PauseMemory(), _NOW).memory
    sizes.append(len(packed(memory)))
    name = f"upgrade pause of {count:,} checks"
    return [
        Figure(name=f"largest payload, {name}", measured=max(sizes), goal=MOST_BYTES, unit="bytes"),
        longest_stop(name, max(stops)),
    ]


def _record(number: int) -> PausableRecord:
    name = _name(number)
    metadata = {
        "name": name,
        "namespace": _NAMESPACE,
        "uid": str(uuid5(NAMESPACE_OID, name)),
        "resourceVersion": "1",
        "creationTimestamp": _NOW,
        "annotations": {_ANNOTATIONS.paused: "", _ANNOTATIONS.mark: ""},
    }
    return PausableRecord(metadata=ObjectMetadata.model_validate(metadata))


def _order(number: int) -> PauseOrderRecord:
    return PauseOrderRecord(
        number=number + 1,
        order=OrderName.UNPAUSE,
        check=f"{_NAMESPACE}/{_name(number)}",
        reason=_longest_text(),
        identity=_longest_text(),
        given=_NOW,
        until=_NOW + timedelta(seconds=number),
    )


def _longest_text() -> str:
    return short("".join(_RANDOM.choices(string.ascii_letters, k=LONGEST_TEXT)))


def _name(number: int) -> str:
    return f"check-{number}".ljust(253, "x")


def _check(number: int) -> PausableCheck:
    name = _name(number)
    reference = CheckReference(kind="MachineHealthCheck", namespace=_NAMESPACE, name=name)
    return PausableCheck(
        reference=reference,
        uid=str(uuid5(NAMESPACE_OID, name)),
        resource_version="1",
        is_paused=True,
        is_marked=True,
    )
