"""The commands and environments of our own processes under `paramedic dev`, and when each is ready."""

import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType

import aiohttp

from devcluster.errors import NotReadyError
from devcluster.layout import Layout
from devcluster.supervisor import Program, Supervisor
from devcluster.temporal import TemporalServer
from health.kinds.registry import CHECK_KINDS
from runtime.settings import CHECK_KINDS_VARIABLE, CLUSTER_VARIABLE

OURS = ("detector", "worker")
CLUSTER = "dev"
"""The configured name; the processes append the beginning of kube-system's uid."""


def ours(
    name: str,
    layout: Layout,
    kubeconfig: Path,
    temporal: TemporalServer,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Program:
    """One of our processes for the cluster of `kubeconfig`; `variables` are more of its environment."""
    environment = {
        "KUBECONFIG": str(kubeconfig),
        **temporal.environment,
        "TEMPORAL_CONFIG_FILE": os.devnull,  # the user's own profile is for another server
        "PARAMEDIC_READY_ADDRESS": layout.address(name),
        # There is one process of each kind on a directory, so a restarted one may renew its own Lease at
        # once.
        "PARAMEDIC_IDENTITY": f"{name}-of-{CLUSTER}",
        CLUSTER_VARIABLE: CLUSTER,
        CHECK_KINDS_VARIABLE: ",".join(kind.resource_name for kind in CHECK_KINDS.values()),
        **variables,
    }
    return Program(name, (sys.executable, "-m", name), layout.log(name), environment)


def simulation(
    layout: Layout,
    kubeconfig: Path,
    *,
    renewal: timedelta,
    provisioning: timedelta | None = None,
    management: Path | None = None,
) -> Program:
    """The kubelets and the remediator of simulated nodes in the cluster of `kubeconfig`.

    With `provisioning` also a machine API, whose Machines get their node after that time. It is Cluster API
    if `management` is the kubeconfig of another cluster, the one of the Machines.
    """
    command = [sys.executable, "-m", "devcluster.simulation", "--renew-every", f"{renewal.total_seconds():g}"]
    if provisioning is not None:
        command += ["--provisioning", f"{provisioning.total_seconds():g}"]
    if management is not None:
        command += ["--management-kubeconfig", str(management)]
    environment = {"KUBECONFIG": str(kubeconfig)}
    return Program(f"{layout.prefix}simulation", tuple(command), layout.log("simulation"), environment)


def renewal(count: int) -> timedelta:
    """The interval of Lease renewals of a kubelet: a second for few, at most 100 renewals per second in all.

    The interval of a real kubelet, 10 s, is the longest.
    """
    return timedelta(seconds=min(max(count / 100, 1), 10))


def grace(count: int) -> timedelta:
    """The time after which a silent kubelet is noticed: six renewals; production has four or five."""
    return 6 * renewal(count)


def ready_url(layout: Layout, name: str) -> str:
    return f"http://{layout.address(name)}/readyz"


PATIENCE = timedelta(seconds=60)


async def until_ready(
    supervisor: Supervisor, layout: Layout, name: str, within: timedelta = PATIENCE
) -> None:
    """Return when the process `name` is ready.

    Raises NotReadyError with the process's answer after that time, and HopelessError.
    """
    body = "it does not answer"

    async def answers() -> bool:
        nonlocal body
        status, body = await _request(ready_url(layout, name))
        return status == HTTPStatus.OK

    try:
        await supervisor.until(answers, within=within, otherwise="")
    except NotReadyError as error:
        raise NotReadyError(f"the {name} is not ready: {body} (see {layout.log(name)})") from error


async def _request(url: str) -> tuple[int, str]:
    try:
        timeout = aiohttp.ClientTimeout(total=5)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as answer:
            return answer.status, (await answer.text()).strip()
    except (aiohttp.ClientError, TimeoutError):
        return 0, "it does not answer"
