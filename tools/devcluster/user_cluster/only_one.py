"""Lets one demo at a time run in a cluster, by a Lease in the namespace of the demo.

The clocks of two machines are not compared. This module watches an existing Lease for some seconds: without a
renewal its demo was killed, and the Lease is replaced.
"""

import asyncio
import getpass
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

from devcluster.errors import DevclusterError
from devcluster.polling import until
from devcluster.progress import print_progress
from devcluster.user_cluster.names import LABELS, NAMESPACE, is_labelled
from devcluster.user_cluster.set_up import namespace
from kube.client import Client
from kube.errors import AlreadyExists, Conflict, KubernetesError, NotFound
from kube.resource import LEASES, NAMESPACES, Object
from objects.timestamps import micro_time

NAME = NAMESPACE
RENEWAL = timedelta(seconds=2)
SILENCE = timedelta(seconds=10)
"""A Lease that is not renewed for so long is of a demo that was killed."""
GONE_WITHIN = timedelta(seconds=90)
"""The limit for the end of a namespace that an earlier demo deleted."""
_log = logging.getLogger(__name__)


class AnotherDemoError(DevclusterError):
    """Another demo runs in the cluster, or the namespace of the demo belongs to others."""


async def take_turn(client: Client, silence: timedelta = SILENCE) -> None:
    """Take the Lease, in a new namespace if there is none.

    The clean-up deletes the namespace with the Lease. Raises AnotherDemoError, NotReadyError and
    KubernetesError.
    """

    async def has_namespace() -> bool:
        return await _has_namespace(client)

    sentence = f"the namespace {NAMESPACE} of an earlier demo is still being deleted"
    await until(has_namespace, within=GONE_WITHIN, otherwise=sentence, every=timedelta(seconds=1))
    await _take(client, silence)


@asynccontextmanager
async def keeping_turn(client: Client, every: timedelta = RENEWAL) -> AsyncIterator[None]:
    """Renew the Lease while the block runs."""
    renewing = asyncio.create_task(_renew(client, every))
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])


def holder() -> str:
    """The person and the process that run this demo."""
    try:
        person = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in many containers
        person = str(os.getuid())
    return f"{person}@{socket.gethostname()}, pid {os.getpid()}"


async def _has_namespace(client: Client) -> bool:
    """True if the namespace of the demo exists and does not end."""
    try:
        metadata = (await client.create(NAMESPACES, namespace()))["metadata"]
    except AlreadyExists:
        try:
            metadata = (await client.get(NAMESPACES, NAMESPACE))["metadata"]
        except NotFound:
            return False
    if not is_labelled(metadata):
        raise AnotherDemoError(f"The namespace {NAMESPACE} exists without the label of the demo: delete it.")
    return "deletionTimestamp" not in metadata


async def _take(client: Client, silence: timedelta) -> None:
    while True:
        try:
            await client.create(LEASES, _lease(), NAMESPACE)
        except AlreadyExists:
            await _remove_if_silent(client, silence)
            continue
        return


async def _remove_if_silent(client: Client, silence: timedelta) -> None:
    with suppress(NotFound, Conflict):
        found = await client.get(LEASES, NAME, NAMESPACE)
        print_progress(f"another demo was here: watching for {silence.total_seconds():g} s whether it runs")
        await asyncio.sleep(silence.total_seconds())
        now = await client.get(LEASES, NAME, NAMESPACE)
        if now["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            raise AnotherDemoError(f"A demo of {found['spec'].get('holderIdentity')} runs in this cluster.")
        version = found["metadata"]["resourceVersion"]
        await client.delete(LEASES, NAME, NAMESPACE, resource_version=version)


async def _renew(client: Client, every: timedelta) -> None:
    while True:
        await asyncio.sleep(every.total_seconds())
        try:
            patch = {"spec": {"renewTime": micro_time(datetime.now(UTC))}}
            await client.merge_patch(LEASES, NAME, patch, NAMESPACE)
        except KubernetesError as error:  # the demo itself shows a cluster that does not answer
            _log.debug("renewing the Lease again: %s", error)


def _lease() -> Object:
    now = micro_time(datetime.now(UTC))
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": dict(LABELS)},
        "spec": {
            "holderIdentity": holder(),
            "leaseDurationSeconds": int(SILENCE.total_seconds()),
            "acquireTime": now,
            "renewTime": now,
        },
    }
