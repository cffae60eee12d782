"""Where our processes listen by default, on clusters of either address family and of both."""

import os
import signal
import socket
from http import HTTPStatus
from pathlib import Path

import aiohttp
import pytest

from tests.support.api.eventually import eventually
from tests.support.api.ports import free_port
from tests.support.cluster.forked import fork

FAMILIES = ["127.0.0.1", *(["[::1]"] if socket.has_dualstack_ipv6() else [])]


@pytest.mark.parametrize("name", ["detector", "worker"])
async def test_probes_and_metrics_of_a_process_are_reached_by_each_family(name: str, tmp_path: Path) -> None:
    """As kubelet asks on an IPv6-only cluster, by the event loop that our processes run on."""
    ready = free_port()
    variables = {
        "PARAMEDIC_CLUSTER": "c",
        "PARAMEDIC_READY_ADDRESS": f":{ready}",
        "KUBECONFIG": str(tmp_path / "none"),
    }
    with (tmp_path / "log").open("wb") as log:
        process = fork(name, (), os.environ | variables, out=log.fileno(), err=log.fileno())
    try:
        await eventually(lambda: _listens(ready))
        async with aiohttp.ClientSession() as session:
            for host in FAMILIES:
                for where in (f"{ready}/healthz", f"{ready}/metrics"):
                    async with session.get(f"http://{host}:{where}") as answer:
                        assert answer.status == HTTPStatus.OK, (host, where)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
