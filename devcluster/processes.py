"""Our own processes on the laptop: how each is called, and the environment that tells it where things are."""

import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from devcluster.control_plane import ControlPlane
from devcluster.layout import Layout
from devcluster.supervisor import Program
from devcluster.temporal import TemporalServer
from health.kinds.registry import CHECK_KINDS
from runtime.settings import CHECK_KINDS_VARIABLE

OURS = ("detector", "worker")
BACK_OFF_LIMIT = "PARAMEDIC_BACK_OFF_LIMIT_SECONDS"
CLUSTER = "dev"
"""The configured name; the processes append the beginning of kube-system's uid."""


def ours(
    name: str,
    layout: Layout,
    control_plane: ControlPlane,
    temporal: TemporalServer,
    back_off_limit: timedelta | None = None,
) -> Program:
    """One of `OURS`; the limit None is that of the settings."""
    kubeconfigs = {"detector": control_plane.detector_kubeconfig, "worker": control_plane.worker_kubeconfig}
    limit = {} if back_off_limit is None else {BACK_OFF_LIMIT: f"{back_off_limit.total_seconds():g}"}
    return _process(name, layout, kubeconfigs[name], temporal, limit)


def kubelets(layout: Layout, control_plane: ControlPlane, count: int) -> Program:
    """`count` simulated kubelets, told what to do through a socket."""
    interval = f"{renewal(count).total_seconds():g}"
    arguments = ("--count", str(count), "--control", str(layout.kubelets_socket))
    every = ("--renew-every", interval, "--look-every", interval)
    return _module("kubelets", (*arguments, *every), layout, {"KUBECONFIG": str(control_plane.kubeconfig)})


def remediator(layout: Layout, control_plane: ControlPlane) -> Program:
    """What power-cycles simulated nodes."""
    arguments = ("--control", str(layout.kubelets_socket))
    return _module("remediator", arguments, layout, {"KUBECONFIG": str(control_plane.kubeconfig)})


def machine_set(layout: Layout, control_plane: ControlPlane, provisioning: timedelta) -> Program:
    """What keeps Machines and gives each a simulated node, `provisioning` after its creation."""
    arguments = (
        "--control",
        str(layout.kubelets_socket),
        "--provisioning",
        str(provisioning.total_seconds()),
    )
    return _module("machine_set", arguments, layout, {"KUBECONFIG": str(control_plane.kubeconfig)})


def cluster_api(
    layout: Layout, management: ControlPlane, workload: ControlPlane, provisioning: timedelta
) -> Program:
    """As `machine_set`, of Cluster API; `layout` is that of the workload cluster."""
    arguments = (
        "--control",
        str(layout.kubelets_socket),
        "--workload-kubeconfig",
        str(workload.kubeconfig),
        "--provisioning",
        str(provisioning.total_seconds()),
    )
    return _module("cluster_api", arguments, layout, {"KUBECONFIG": str(management.kubeconfig)})


def renewal(count: int) -> timedelta:
    """Between two Lease renewals of one kubelet: a second for a few, and no more than 100 per second in all.

    A real kubelet takes 10 s, and so does ours when there are many.
    """
    return timedelta(seconds=min(max(count / 100, 1), 10))


def grace(count: int) -> timedelta:
    """How long a kubelet may be silent: six renewals, where production has four or five."""
    return 6 * renewal(count)


def ready_url(layout: Layout, name: str) -> str:
    """Where the process `name` says whether it is ready."""
    return f"http://{layout.address(name)}/readyz"


def _process(
    name: str, layout: Layout, kubeconfig: Path, temporal: TemporalServer, own: Mapping[str, str]
) -> Program:
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "TEMPORAL_ADDRESS": temporal.address,
        "TEMPORAL_NAMESPACE": temporal.namespace,
        "TEMPORAL_CONFIG_FILE": os.devnull,  # a person's own profile is for another server
        "PARAMEDIC_CLUSTER": CLUSTER,
        CHECK_KINDS_VARIABLE: ",".join(kind.resource_name for kind in CHECK_KINDS.values()),
        "PARAMEDIC_READY_ADDRESS": layout.address(name),
        # There is one of each on a directory: a restarted one takes its own lead up again at once.
        "PARAMEDIC_IDENTITY": f"{name}-of-{CLUSTER}",
    }
    return Program(name, (sys.executable, "-m", name), layout.log(name), {**environment, **own})


def _module(name: str, arguments: tuple[str, ...], layout: Layout, environment: Mapping[str, str]) -> Program:
    command = (sys.executable, "-m", f"devcluster.simulation.{name}", *arguments)
    return Program(layout.prefix + name, command, layout.log(name), environment)
