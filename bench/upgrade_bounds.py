"""The largest payload of an upgrade pause of many checks, and how long its answers stop the event loop."""

import time
from datetime import UTC, datetime
from uuid import NAMESPACE_OID, uuid5

from bench.figure import Figure
from detector.upgrade.check_changes import CheckChanges
from health.gate.upgrade import UpgradePhase
from health.model.references import CheckReference
from health.upgrade.memory import PauseMemory
from health.upgrade.next_pass import next_pass
from health.upgrade.observation import UpgradeObservation
from health.upgrade.packed_memory import packed
from health.upgrade.pausable_check import PausableCheck
from workflows.upgrade_questions import UpgradeQuestions

COUNTS = (3_100, 5_000)
MOST_BYTES = 2 * 1024 * 1024
LONGEST_STOP_MILLISECONDS = 200
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def figures() -> list[Figure]:
    """Two for each count of checks, all of which are paused already."""
    return [figure for count in COUNTS for figure in _of(count)]


def _of(count: int) -> list[Figure]:
    changes, questions, stops, sizes = CheckChanges(), UpgradeQuestions("main"), [0.0], [0]
    seen = UpgradeObservation(phase=UpgradePhase.UNDER_WAY, since=_NOW)
    seen = seen.model_copy(update={"checks": tuple(map(_check, range(count)))})
    has_more = True
    while has_more:
        asked = questions.question((), ())
        began = time.perf_counter()
        answer = changes.answer(asked, seen)
        stops.append(time.perf_counter() - began)
        questions.take(asked, answer)
        sizes.append(len(answer.model_dump_json().encode()))
        has_more = answer.has_more
    memory = next_pass(questions.observed(answer), PauseMemory(), _NOW).memory
    sizes.append(len(packed(memory)))
    name = f"upgrade pause of {count:,} checks"
    return [
        Figure(f"largest payload, {name}", max(sizes), MOST_BYTES, "bytes"),
        Figure(f"longest stop, {name}", max(stops) * 1000, LONGEST_STOP_MILLISECONDS, "ms"),
    ]


def _check(number: int) -> PausableCheck:
    name = f"check-{number}".ljust(253, "x")
    reference = CheckReference(kind="MachineHealthCheck", namespace="n" * 63, name=name)
    return PausableCheck(
        reference=reference,
        uid=str(uuid5(NAMESPACE_OID, name)),
        resource_version="1",
        is_paused=True,
        is_marked=True,
    )
