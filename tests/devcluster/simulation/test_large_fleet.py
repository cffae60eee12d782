from pathlib import Path
from typing import Any

from devcluster.simulation.control_socket import Answer, send_request, serve


async def test_list_of_ten_thousand_machines_is_one_answer(control: Path) -> None:
    nodes = [{"name": f"node-{n}", "boot_id": "x" * 36, "state": "running"} for n in range(10_000)]

    async def handle(_: Any) -> Answer:
        return {"nodes": nodes}

    async with serve(control, handle):
        assert await send_request(control, {"list": True}) == {"nodes": nodes}
