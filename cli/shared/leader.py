"""Asks the leading detector a question; without an answer it says why, and prints what kubectl shows.

A detector that leads and cannot read the Nodes answers nothing, and its ParamedicStatus says so.

The installation in the cluster names itself, so that a user needs no options. The question goes through
Temporal (ADR 62): the leader alone polls its queue, and the user needs no right to what the detector reads.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import uuid4

import typer
from temporalio.client import ActivityFailureError, Client
from temporalio.exceptions import ApplicationError

from cli.shared.ages import ago
from cli.shared.connection import RPC_TIMEOUT, any_namespace
from cli.shared.errors import NotFoundError, UnreachableError, UsageError, wrong_setting
from cli.shared.installations import find_installation
from cli.shared.options import UNNAMED, ClusterChoice
from cli.shared.terminal import plain
from health.kinds.registry import CHECK_KINDS
from kube.connection import ClusterConnection, read_cluster_identity
from kube.errors import Forbidden, KubernetesError, none_if_absent
from kube.lease import LeaseRecord, expiry, holder_is_valid
from kube.resource import LEASES, NODES
from kube.transport import Transport
from objects.frozen import Frozen
from runtime.paramedic_status import NAME, PARAMEDIC_STATUSES, ParamedicStatusDocument
from runtime.process_names import LEADER_LEASE
from runtime.settings import CLUSTER_VARIABLE, PREFIX, Settings, SettingsError
from workflows.contracts import detector_queue
from workflows.inspection_contracts import ANSWERED_WITHIN, NOT_FOUND, REFUSED
from workflows.kit import Contract

USER_AGENT = "paramedic-inspection"
"""Names these reads in the audit log of the API server."""
GRACE = timedelta(seconds=5)
"""Temporal ends the question first, and then says why."""
_MOST_SHOWN = 5
_STATUS_FIELDS = (
    "phase",
    "reason",
    "healthyNodes",
    "observedNodes",
    "currentHealthy",
    "expectedMachines",
)
_CONDITION_FIELDS = ("lastTransitionTime", "reason", "message")

Answer = TypeVar("Answer", bound=Frozen)


@asynccontextmanager
async def reading_settings(
    choice: ClusterChoice, user_agent: str = USER_AGENT
) -> AsyncIterator[tuple[Settings, str, ClusterConnection]]:
    """The settings of the installation, the identity of the cluster, and a connection, for the block.

    Raises:
        CommandError: the cluster cannot be read, or a setting is wrong.

    """
    logging.getLogger().addHandler(logging.NullHandler())  # errors name the problems; no log is printed
    try:
        async with await Transport.connect(
            context=choice.kubeconfig_context, user_agent=user_agent
        ) as transport:
            management, environment = ClusterConnection.over(transport), choice.environment
            found = await find_installation(management.client, environment.get(CLUSTER_VARIABLE))
            if found is not None:
                settings = Settings.from_environment(environment | found.environment)
                yield settings, found.cluster, management
                return
            settings = Settings.from_environment({CLUSTER_VARIABLE: UNNAMED} | environment)
            yield settings, await read_cluster_identity(management.client, settings.cluster), management
    except KubernetesError as error:
        raise UnreachableError(f"the cluster cannot be read: {error.message.rstrip('.')}") from error
    except SettingsError as error:
        raise wrong_setting(error, PREFIX, choice.context.params) from error


async def ask(
    choice: ClusterChoice, contract: Contract, question: Frozen, answer: type[Answer], shown: str | None
) -> Answer:
    """The answer of the leading detector; `shown` is the name to look for without one, None for nothing.

    Raises:
        CommandError: the leader refuses the question, or no leader or no Temporal answers.

    """
    async with reading_settings(choice) as (settings, cluster, management):
        lease = ""
        try:
            lease = await _leader_lease(management, settings.namespace)
            async with any_namespace(choice.context) as temporal:
                return await put_question(temporal, cluster, contract, question, answer)
        except UnreachableError as error:
            if shown is not None:
                async for line in objects_called(management, shown):
                    typer.echo(plain(line))
            reported = await _reported(management, settings.namespace) if lease else ""
            raise UnreachableError(f"{error}{lease}{reported}") from error


async def put_question(
    temporal: Client, cluster: str, contract: Contract, question: Frozen, answer: type[Answer]
) -> Answer:
    """The answer of the detector that leads in this cluster.

    Raises:
        CommandError: the leader refuses the question, or does not answer.
        RPCError: Temporal refuses it.

    """
    within = contract.schedule_to_close or ANSWERED_WITHIN
    late = f"no detector answered within {within.seconds} s"
    try:
        async with asyncio.timeout((within + GRACE).total_seconds()):
            asked: Any = await temporal.execute_activity(
                contract.name,
                question,
                id=f"{contract.name}/{cluster}/{uuid4().hex}",
                task_queue=detector_queue(cluster),
                result_type=answer,
                start_to_close_timeout=contract.start_to_close,
                schedule_to_close_timeout=contract.schedule_to_close,
                retry_policy=contract.retry,
                rpc_timeout=RPC_TIMEOUT,
            )
    except TimeoutError as error:
        raise UnreachableError(late) from error
    except ActivityFailureError as error:
        cause = error.cause
        if not isinstance(cause, ApplicationError):
            raise UnreachableError(late) from error
        if refused := {NOT_FOUND: NotFoundError, REFUSED: UsageError}.get(cause.type or ""):
            raise refused(plain(cause.message)) from error
        raise UnreachableError(f"{late}: {plain(cause.message)}") from error
    found: Answer = asked
    return found


async def _leader_lease(management: ClusterConnection, namespace: str) -> str:
    """The Lease of the leader, in words; "": the user may not read it.

    Raises:
        UnreachableError: no detector leads.

    """
    name = f"{namespace}/{LEADER_LEASE}"
    try:
        found = await none_if_absent(management.client.get(LEASES, LEADER_LEASE, namespace))
    except Forbidden:
        return ""
    lease = None if found is None else LeaseRecord.read(found)
    if trouble := leader_trouble(name, lease, management.server_clock.now()):
        raise UnreachableError(trouble)
    return f"; {lease.spec.holder_identity if lease else ''} leads by the Lease {name}"


async def _reported(management: ClusterConnection, namespace: str) -> str:
    """What the installation reports as wrong, in words; "": nothing, or the user may not read it."""
    try:
        found = await management.client.get(PARAMEDIC_STATUSES, NAME, namespace)
    except KubernetesError:
        return ""
    troubles = ParamedicStatusDocument.read(found).troubles(management.server_clock.now())
    return "".join(f"; it reports: {plain(trouble)}" for trouble in troubles)


def leader_trouble(name: str, lease: LeaseRecord | None, now: datetime) -> str:
    """Why no detector leads by its Lease, so that nothing is done; "": one leads."""
    if lease is None:
        return f"no detector leads, so nothing is done: there is no Lease {name}"
    if holder_is_valid(lease, now):
        return ""
    ended, holder = expiry(lease), lease.spec.holder_identity
    why = f"expired at {ago(ended, now)}" if holder and ended else "has no holder"
    last = f"; its last holder was {holder}" if holder else ""
    return f"no detector leads, so nothing is done: the Lease {name} {why}{last}"


async def objects_called(management: ClusterConnection, name: str) -> AsyncIterator[str]:
    """A few facts about the Nodes, Machines and checks of that name, as kubectl shows them; no decision."""
    last = name.rpartition("/")[2]
    kinds = [*CHECK_KINDS.values(), *(kind.targets for kind in CHECK_KINDS.values())]
    resources = {NODES}
    for kind in kinds:
        with suppress(KubernetesError):  # not served, or not for this user
            resources.add(await management.discovery.first_served(kind))
    for resource in sorted(resources, key=lambda resource: resource.kind):
        with suppress(KubernetesError):
            for body in (await management.client.list(resource, name=last))[:_MOST_SHOWN]:
                metadata, status = body["metadata"], body.get("status") or {}
                yield "/".join(filter(None, (resource.kind, metadata.get("namespace"), metadata["name"])))
                for key, value in sorted((metadata.get("annotations") or {}).items()):
                    if key.startswith("paramedic.dev/"):
                        yield f"  {key}: {value}"
                for field in _STATUS_FIELDS:
                    if field in status:
                        yield f"  {field}: {status[field]}"
                for condition in status.get("conditions") or ():
                    state = f"{condition.get('type')}={condition.get('status')}"
                    parts = (state, *(condition.get(name) for name in _CONDITION_FIELDS))
                    yield "  " + " ".join(str(part) for part in parts if part)
