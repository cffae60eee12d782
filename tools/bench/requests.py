"""Counts our requests to the API server for one classic remediation, in its audit log."""

import asyncio
import json
from collections import Counter
from datetime import timedelta

from bench.audit import OURS
from bench.cluster import BenchCluster
from bench.figure import Figure
from bench.fleet import BenchFleet, watched_fleet
from devcluster.polling import until
from runtime.process_names import NAMESPACE

QUIET = timedelta(seconds=3)
GOAL = 15
"""One more than before clean_up read the request that it deletes (ADR 42)."""


async def measure(cluster: BenchCluster, sizes: tuple[int, ...] = (10, 1000)) -> list[Figure]:
    """One remediation at each cluster size; a first one warms up discovery."""
    async with watched_fleet(cluster) as fleet:
        await fleet.add(sizes[0])
        await fleet.add_check()
        await cluster.start("detector", "worker")
        await _requests_of_one(fleet, fleet.names[0])
        figures = []
        for number, size in enumerate(sizes, 1):
            await fleet.add(size - len(fleet.names))
            counted = await _requests_of_one(fleet, fleet.names[number])
            name = f"API requests for one remediation, {size:,} nodes"
            figures.append(
                Figure(name=name, measured=counted, goal=GOAL, unit="", reference=f"{5 * size + 28:,}")
            )
    return figures


async def _requests_of_one(fleet: BenchFleet, node: str) -> int:
    await _until_quiet(fleet)
    before = _count(fleet)
    await fleet.set_ready(node, "Unknown")
    await fleet.until_requested([node])
    await _until_quiet(fleet)
    await fleet.set_ready(node, "True")
    await fleet.until_clean([node])
    await _until_quiet(fleet)
    return _count(fleet) - before


async def _until_quiet(fleet: BenchFleet) -> None:
    """Return when we have sent no request for a while."""
    counts = [-1]

    async def is_quiet() -> bool:
        counts.append(_count(fleet))
        await asyncio.sleep(QUIET.total_seconds())
        return counts[-1] == _count(fleet)

    await until(is_quiet, within=timedelta(minutes=1), otherwise="the API server never was quiet")


def _count(fleet: BenchFleet) -> int:
    """The requests so far, without those that no remediation causes.

    Those are lists, watches, requests for objects of our own processes, and discovery, which names no object.
    """
    verbs: Counter[str] = Counter()
    for line in fleet.cluster.audit_log.read_text().splitlines():
        event = json.loads(line)
        where = event.get("objectRef")
        is_ours = event["user"]["username"].startswith(OURS)
        if is_ours and where is not None and where.get("namespace") != NAMESPACE:
            verbs[event["verb"]] += 1
    return sum(count for verb, count in verbs.items() if verb not in ("list", "watch"))
