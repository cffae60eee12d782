"""The objects of the demo in a cluster of the user: when it may begin, their creation and their removal.

The detector, the worker and the simulation use the ServiceAccount of `rights.yaml`. RBAC names the Nodes and
the check that it may change, and an admission policy limits the names of what it creates. The rights of the
user create everything else, before the programs start.
"""

import asyncio
import json
import os
import re
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

import yaml

from devcluster import programs
from devcluster.assets import OLDEST_KUBERNETES
from devcluster.demo.fixtures import NodeFixtures
from devcluster.errors import DevclusterError, NotReadyError
from devcluster.files import write_json
from devcluster.manifests import ROOT
from devcluster.polling import until
from devcluster.progress import print_progress
from devcluster.simulation.nodes import LEASE_NAMESPACE, SIMULATED, SIMULATED_VALUE, simulated_node
from devcluster.simulation.resources import DEFINITIONS, NODE_HEALTH_CHECKS, REQUESTS, TEMPLATES
from health.kinds.registry import CHECK_KINDS
from health.kinds.right import Process, Right
from kube.client import Client
from kube.discovery import Discovery
from kube.errors import AlreadyExists, Conflict, KindUnknown, KubernetesError, NotFound
from kube.resource import EVENTS, LEASES, NAMESPACES, NODES, Object, Resource
from kube.transport import Transport
from objects.group_kind import GroupKind
from objects.timestamps import micro_time
from runtime.paramedic_status import PARAMEDIC_STATUSES
from runtime.rights import is_allowed
from runtime.settings import CHECK_KINDS_VARIABLE, CLUSTER_VARIABLE, LEASE_NAMESPACE_VARIABLE

LABELS = MappingProxyType({SIMULATED: SIMULATED_VALUE})
"""The label of every object of the demo, except Leases of kubelets and Events, which have the prefix."""
NAMESPACE = CHECK = ACCOUNT = "paramedic-demo"
"""The namespace, the check with its template, and everything else that exists once."""
SIMULATED_NODES = tuple(f"{NAMESPACE}-{number}" for number in (1, 2, 3))
"""One of them fails: few for the user's cluster, and enough for a threshold of 51 %."""
FIXTURES = NodeFixtures(
    check=CHECK,
    namespace=NAMESPACE,
    nodes=len(SIMULATED_NODES),
    selector={"matchLabels": dict(LABELS)},
    labels=LABELS,
)
VARIABLES = MappingProxyType(
    {
        CLUSTER_VARIABLE: "demo",
        CHECK_KINDS_VARIABLE: CHECK_KINDS[
            GroupKind(NODE_HEALTH_CHECKS.group, NODE_HEALTH_CHECKS.kind)
        ].resource_name,
        LEASE_NAMESPACE_VARIABLE: NAMESPACE,
        "PARAMEDIC_NAMESPACE": NAMESPACE,
        "PARAMEDIC_UPGRADE_PAUSE": "off",
    }
)
"""The detector and the worker keep all that they write in the namespace of the demo, and pause no checks."""
KINDS = (NODE_HEALTH_CHECKS, PARAMEDIC_STATUSES, TEMPLATES, REQUESTS)
"""The kinds that the demo needs; the full name of each is that of its CRD."""
RIGHTS = Path(__file__).parent / "rights.yaml"
_RBAC, _ADMISSION = "rbac.authorization.k8s.io/v1", "admissionregistration.k8s.io/v1"
ACCOUNTS = Resource("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
OF_RIGHTS = {
    "ServiceAccount": ACCOUNTS,
    **{
        kind: Resource(api, kind, plural, namespaced=kind.startswith("Role"))
        for api, kind, plural in (
            (_RBAC, "ClusterRole", "clusterroles"),
            (_RBAC, "ClusterRoleBinding", "clusterrolebindings"),
            (_RBAC, "Role", "roles"),
            (_RBAC, "RoleBinding", "rolebindings"),
            (_ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
            (_ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
        )
    },
}
"""The kinds of the objects in rights.yaml."""
OWNED: tuple[tuple[Resource, str], ...] = (
    (NODE_HEALTH_CHECKS, ""),
    (NODES, ""),
    (LEASES, LEASE_NAMESPACE),
    (EVENTS, "default"),  # about cluster-scoped objects
    (DEFINITIONS, ""),
    (NAMESPACES, ""),
    *((resource, "") for resource in OF_RIGHTS.values()),
)
"""Where objects of the demo are, in the order of their removal; those in its namespace go with that."""


def _name(body: Object) -> str:
    return str(body["metadata"]["name"])


def is_owned(resource: Resource, body: Object) -> bool:
    """True if the demo has created the object."""
    metadata = body["metadata"]
    if resource in (LEASES, EVENTS):
        return _name(body).startswith((f"{NAMESPACE}-", f"{CHECK}."))
    is_labelled = metadata.get("labels", {}).get(SIMULATED) == SIMULATED_VALUE
    return bool(is_labelled or metadata.get("namespace") == NAMESPACE)


def _labelled(body: Object) -> Object:
    metadata = body["metadata"]
    return body | {"metadata": metadata | {"labels": {**metadata.get("labels", {}), **LABELS}}}


SILENCE, RENEWAL = timedelta(seconds=10), timedelta(seconds=2)
"""A Lease that is not renewed for `SILENCE` is of a demo that was killed."""
PATIENCE = timedelta(seconds=90)
"""For the removal, and for new CRDs: a namespace takes some seconds, and longer in a large cluster."""
TOKEN_LIFE = timedelta(days=1)
_EVERYTHING = Right(process=Process.WORKER, group="*", resource="*", verbs=("*",))


class RefusedError(DevclusterError):
    """The demo does not begin in this cluster; the message says why and what to do."""


class LeftoverError(DevclusterError):
    """Objects of the demo are left in the cluster; the message names them."""


async def refuse(transport: Transport, context: str) -> None:
    """Raise RefusedError if the demo must not begin; read only. Raises KubernetesError and NotReadyError.

    A cluster with a CRD of health checks may have controllers that act on the check of the demo, and checks
    on which the detector of the demo would act.
    """
    client, where = Client(transport), f"The cluster of context {context}"
    answer = json.loads(await transport.request("GET", "/version"))
    found = re.match(r"v(\d+)\.(\d+)\.", str(answer.get("gitVersion", "")))
    if found is None:
        raise NotReadyError(f"{transport.server} states no version of Kubernetes")
    if (int(found[1]), int(found[2])) < OLDEST_KUBERNETES:
        oldest = ".".join(map(str, OLDEST_KUBERNETES))
        raise RefusedError(f"{where} has Kubernetes {found[1]}.{found[2]}: it must be {oldest}.")
    if not await is_allowed(client, _EVERYTHING, "*"):
        raise RefusedError(f"The user of context {context} is no cluster-admin: the demo needs its rights.")
    kinds = {f"{kind.plural}.{kind.group}" for kind in CHECK_KINDS.values()}
    crds = [crd for crd in await client.list_metadata(DEFINITIONS) if _name(crd) in kinds]
    reasons = [f"the CRD {_name(crd)}" for crd in crds if not is_owned(DEFINITIONS, crd)]
    with suppress(KindUnknown):
        checks = await client.list_metadata(NODE_HEALTH_CHECKS)
        reasons += [f"NodeHealthCheck {_name(c)}" for c in checks if not is_owned(NODE_HEALTH_CHECKS, c)]
    if reasons:
        raise RefusedError(
            f"{where} has {', '.join(reasons)}: the demo and controllers of health checks could act on each "
            "other's checks. Choose a cluster without them, such as a new one of kind or minikube."
        )


async def require_silence(client: Client, silence: timedelta = SILENCE) -> None:
    """Raise RefusedError if another demo runs in the cluster.

    The clocks of two machines are not compared: a Lease whose demo was killed does not change.
    """
    with suppress(NotFound):
        found = await client.get(LEASES, ACCOUNT, NAMESPACE)
        print_progress(f"another demo was here: watching for {silence.total_seconds():g} s whether it runs")
        await asyncio.sleep(silence.total_seconds())
        now = await client.get(LEASES, ACCOUNT, NAMESPACE)
        if now["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            raise RefusedError(f"A demo of {found['spec']['holderIdentity']} runs in this cluster.")


@asynccontextmanager
async def keeping_turn(client: Client, every: timedelta = RENEWAL) -> AsyncIterator[None]:
    """Create namespace and Lease of this demo, and renew the Lease while the block runs.

    Raises RefusedError if another demo created them first.
    """
    holder = f"{os.environ.get('USER') or os.getuid()}@{socket.gethostname()}, pid {os.getpid()}"
    try:
        await client.create(NAMESPACES, _labelled({"metadata": {"name": NAMESPACE}}))
        lease: Object = {"metadata": {"name": ACCOUNT}, "spec": {"holderIdentity": holder}}
        await client.create(LEASES, lease, NAMESPACE)
    except AlreadyExists as error:
        raise RefusedError(f"Another demo begins in this cluster: {error.message}") from error

    async def renew() -> None:
        while True:
            with suppress(KubernetesError):  # the demo itself shows a cluster that does not answer
                patch = {"spec": {"renewTime": micro_time(datetime.now(UTC))}}
                await client.merge_patch(LEASES, ACCOUNT, patch, NAMESPACE)
            await asyncio.sleep(every.total_seconds())

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])


async def set_up(transport: Transport) -> None:
    """Create everything but the namespace; existing CRDs are used as they are.

    Raises NotReadyError and KubernetesError.
    """
    client, names = Client(transport), [kind.full_name for kind in KINDS]
    for folder in (ROOT / "deploy" / "base" / "crds", ROOT / "tools" / "devcluster" / "crds"):
        for file in sorted(folder.glob("*.yaml")):
            for body in yaml.safe_load_all(file.read_text()):
                if _name(body) in names:
                    with suppress(AlreadyExists):
                        await client.create(DEFINITIONS, _labelled(body))

    async def are_served() -> bool:
        discovery = Discovery(transport)
        try:
            for kind in KINDS:
                await discovery.resource(kind.api_version, kind.kind)
        except KindUnknown:
            return False
        return True

    await until(are_served, within=PATIENCE, otherwise=f"the cluster does not serve {', '.join(names)}")
    for body in yaml.safe_load_all(RIGHTS.read_text()):
        await client.create(OF_RIGHTS[body["kind"]], body, body["metadata"].get("namespace", ""))
    await client.create(TEMPLATES, _labelled(FIXTURES.template()), NAMESPACE)
    await client.create(NODE_HEALTH_CHECKS, FIXTURES.node_health_check())
    for node in SIMULATED_NODES:
        await client.create(NODES, simulated_node(node, is_guest=True))


async def write_kubeconfig(transport: Transport, context: str, file: Path) -> None:
    """Write a kubeconfig with a token of the account of the demo, for the cluster of the context.

    Raises NotReadyError and KubernetesError.
    """
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": int(TOKEN_LIFE.total_seconds())},
    }
    path = ACCOUNTS.path(NAMESPACE, ACCOUNT, "token")
    token = json.loads(await transport.request("POST", path, body=body))["status"]["token"]
    view = ("config", "view", "--minify", "--flatten", "--raw", "--context", context, "-o", "json")
    process = await asyncio.create_subprocess_exec(
        programs.kubectl(), *view, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    answer, why = await process.communicate()
    if process.returncode != 0:
        raise NotReadyError(f"kubectl cannot read the kubeconfig: {why.decode().strip()}")
    content = json.loads(answer)
    content["users"] = [{"name": ACCOUNT, "user": {"token": token}}]
    content["contexts"][0]["context"] |= {"user": ACCOUNT}
    write_json(file, content)


async def remove_everything(client: Client, report: Callable[[str], None]) -> None:
    """Delete the objects of this demo and of killed ones, again and again until nothing is left.

    A CRD stays if others use it, and `report` gets a sentence about that. A deletion that fails stops no
    other one. Raises LeftoverError with the names of what is left and why.
    """
    deadline = time.monotonic() + PATIENCE.total_seconds()
    while True:
        left: list[str] = []
        kept: list[str] = []
        for resource, place in OWNED:
            try:
                left += await _remove(client, resource, place, kept)
            except KindUnknown:
                continue
            except KubernetesError as error:
                left.append(f"{resource.plural} ({error.message})")
        is_late = time.monotonic() > deadline
        if not left or is_late:
            for crd in kept:
                report(f"The CRD {crd} stays: it has objects that the demo did not create.")
        if not left:
            return
        if is_late:
            raise LeftoverError(f"The demo could not remove {', '.join(left)}.")
        await asyncio.sleep(0.3)


async def _remove(client: Client, resource: Resource, place: str, kept: list[str]) -> list[str]:
    """Delete the objects of the demo; their names. `kept` gets the names of CRDs that others use."""
    names = []
    for body in await client.list_metadata(resource, place):
        at = body["metadata"]
        if not is_owned(resource, body):
            continue
        if resource == DEFINITIONS and await _is_used_by_others(client, _name(body)):
            kept.append(_name(body))
            continue
        with suppress(NotFound, Conflict):
            await client.delete(resource, at["name"], at.get("namespace", ""), uid=at["uid"])
        names.append(f"{resource.kind} {_name(body)}")
    return names


async def _is_used_by_others(client: Client, crd: str) -> bool:
    kind = next(kind for kind in KINDS if kind.full_name == crd)
    try:
        return not all(is_owned(kind, body) for body in await client.list_metadata(kind))
    except KindUnknown:
        return False
