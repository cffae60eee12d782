"""Sets and lifts the global stop. A conflicting write is retried on the object as it is then.

Both commands may be repeated. The answer quotes the order that was lifted, so a stop that another person set
a moment ago is never lifted unseen.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from pydantic import ValidationError

from cli.shared.errors import CommandError, NotFoundError
from cli.shared.installations import refuse_unread
from cli.shared.terminal import plain
from health.cluster.global_stop import STOP, LeaseNamespace
from kube.client import Client
from kube.errors import KubernetesError, NotFound
from kube.resource import NAMESPACES, Object
from kube.retry_on_conflict import retry_on_conflict
from kube.transport import Transport
from objects.timestamps import stamp

LOOK_WITHIN_SECONDS = 5.0
"""Time limit to list the namespaces that installations read; short, because a stop is urgent."""


async def order_stop(kubeconfig_context: str | None, namespace: str, reason: str | None) -> str:
    """Set the global stop; without a reason, the reason of a standing stop is kept.

    Returns the sentence to print.

    Raises:
        CommandError: the stop could not be set or confirmed.

    """

    async def attempt(client: Client) -> str:
        found = await _read(client, namespace)
        if found.stop is not None and reason in {None, found.stop.reason}:
            return f"was stopped already{_order(found)}"
        written = await _annotate(client, found, reason or "")
        before = f"; before, it was stopped{_order(found)}" if found.stop else ""
        return f"is stopped{_order(written)}{before}"

    return f"{await _carried_out(kubeconfig_context, namespace, attempt)}; requests that exist go on"


async def lift_stop(kubeconfig_context: str | None, namespace: str) -> str:
    """Lift the global stop. Returns the sentence to print.

    Raises:
        CommandError: the stop could not be lifted or confirmed.

    """

    async def attempt(client: Client) -> str:
        found = await _read(client, namespace)
        if found.stop is None:
            return "is not stopped"
        await _annotate(client, found, None)
        return f"goes on; it was stopped{_order(found)}"

    return await _carried_out(kubeconfig_context, namespace, attempt)


async def _carried_out(
    kubeconfig_context: str | None, namespace: str, attempt: Callable[[Client], Awaitable[str]]
) -> str:
    """Run `attempt`; the sentence names the cluster, the namespace and the result."""
    try:
        async with await Transport.connect(context=kubeconfig_context) as transport:
            client = Client(transport)
            became = await retry_on_conflict(lambda: attempt(client))
            return f"{transport.server} (namespace {namespace}) {plain(became)}"
    except KubernetesError as error:
        raise CommandError(error.message) from error


async def _read(client: Client, namespace: str) -> LeaseNamespace:
    # Refuse a namespace that no installation reads. If they cannot be listed, go on: a stop is urgent.
    with suppress(KubernetesError, ValidationError, TimeoutError):
        async with asyncio.timeout(LOOK_WITHIN_SECONDS):
            await refuse_unread(client, namespace)
    try:
        return LeaseNamespace.model_validate(await client.get(NAMESPACES, namespace))
    except NotFound as error:
        problem = f"there is no namespace {namespace}: --lease-namespace names the one of the Leases"
        raise NotFoundError(problem) from error


async def _annotate(client: Client, found: LeaseNamespace, reason: str | None) -> LeaseNamespace:
    metadata: Object = {
        "uid": found.metadata.uid,
        "resourceVersion": found.metadata.resource_version,
        "annotations": {STOP: reason},
    }
    patched = await client.merge_patch(NAMESPACES, found.metadata.name, {"metadata": metadata})
    return LeaseNamespace.model_validate(patched)


def _order(of: LeaseNamespace) -> str:
    """Since when the stop stands, and its reason."""
    since = f" since {stamp(of.stopped_since)}" if of.stopped_since else ""
    reason = of.stop.reason if of.stop else ""
    return f"{since}: {reason or 'no reason is given'}"
