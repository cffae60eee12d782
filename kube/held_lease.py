"""Takes, renews and releases Leases: the requests around the rules of kube/lease.py.

A Lease prevents two controllers from acting on one target. Every step may be repeated, and every write is
conditional on the version that was read, or that we wrote. The namespace is created by the installation; our
processes have no right to create it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kube.client import Client
from kube.errors import AlreadyExists, LeaseTaken, Malformed, NotFound, none_if_absent
from kube.lease import (
    SLACK,
    LeaseHolder,
    LeaseRecord,
    expiry,
    for_target,
    holder_is_valid,
    needs_renewal,
    new_lease,
    renewed,
    taken_over,
    written_duration,
)
from kube.resource import LEASES, Object
from kube.retry_on_conflict import retry_on_conflict
from objects.metadata import OwnerReference

_ATTEMPTS = 3  # a Lease that changes three times in a row has another holder
_MOST_KNOWN = 1_000
"""The versions of Leases that are remembered, in a few kilobytes each; others are read."""


@dataclass(frozen=True)
class LeaseHeld:
    """A Lease that we hold, with the time of its acquisition."""

    name: str
    acquired: datetime
    """The NodeHealthCheck operator counts from this time until a remediation is overdue."""


class HeldLeases:
    """The Leases in one namespace that we hold or want."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._known: dict[str, LeaseRecord] = {}
        """The latest versions that we wrote, the oldest first."""

    async def obtain(
        self,
        name: str,
        holder: LeaseHolder,
        duration: timedelta,
        now: datetime,
        owner: OwnerReference | None = None,
    ) -> LeaseHeld:
        """Hold the Lease for `duration` and a minute; it is renewed if we hold it already.

        Raises LeaseTaken: another holder has it, or this one has it for an earlier target of the same name.
        Raises KubernetesError: as the client does.
        """
        identity, lasting = holder.identity, written_duration(duration)

        async def obtain_once() -> LeaseHeld:
            body = new_lease(name, self._namespace, identity, duration=lasting, now=now, owner=owner)
            try:
                created = await self._client.create(LEASES, for_target(body, holder), self._namespace)
            except AlreadyExists:
                lease = await self._get(name)
            else:
                return self._written(created)
            if holder.holds(lease):
                if lease.lock == holder.lock and not needs_renewal(lease, lasting, now):
                    return _held(lease)
                patch = renewed(lease, lasting, now)
            elif holder_is_valid(lease, now):
                raise LeaseTaken(holder.holder_of(lease), path=LEASES.path(self._namespace, name))
            else:
                patch = taken_over(lease, identity, lasting, now, owner)
            return await self._patch(name, for_target(patch, holder, lease))

        return await retry_on_conflict(obtain_once, _ATTEMPTS, may_vanish=True)

    async def renew(
        self,
        name: str,
        holder: LeaseHolder,
        duration: timedelta,
        now: datetime,
        lock_holder: LeaseHolder | None = None,
    ) -> LeaseHeld | None:
        """Keep the Lease, and the lock that it names, for at least `duration` from now.

        None: it is gone or no longer ours.
        """

        async def renew_once() -> LeaseHeld | None:
            lease = await self._find(name)
            if lease is None or not holder.holds(lease):
                return None
            if lease.lock and lock_holder is not None:
                await self.renew(lease.lock, lock_holder, duration, now)
            # A renewal at half of the duration always writes; a retry of it does not.
            if not needs_renewal(lease, max(duration, duration * 0.75 + SLACK), now):
                return _held(lease)
            return await self._patch(name, renewed(lease, written_duration(duration), now))

        return await retry_on_conflict(renew_once, _ATTEMPTS, may_vanish=True)

    async def is_held(self, name: str, holder: LeaseHolder) -> bool:
        """True if `holder` has the Lease, expired or not."""
        lease = await self._find(name)
        return lease is not None and _is_held(lease, holder)

    async def shorten(self, name: str, holder: LeaseHolder, duration: timedelta, now: datetime) -> None:
        """Let the Lease expire after `duration` from now, if `holder` has it."""

        async def shorten_once() -> None:
            lease = await self._find(name)
            if lease is not None and _is_held(lease, holder):
                await self._patch(name, renewed(lease, duration, now))

        await retry_on_conflict(shorten_once, _ATTEMPTS, may_vanish=True)

    async def release(
        self, name: str, holder: LeaseHolder, release_lock: Callable[[str], Awaitable[None]] | None = None
    ) -> bool:
        """Delete the Lease if `holder` has it, after `release_lock` of the lock that it names.

        False: `holder` did not have it. A Lease without the uid of its target may name the Node as its owner.
        A Lease that is as we wrote it needs no read: the API server compares its version. If it is another
        or gone, it is read.
        """

        async def release_once() -> bool:
            known = self._known.pop(name, None)
            is_known = known is not None and _is_held(known, holder)
            lease = known if is_known else await self._find(name)
            if lease is None or not _is_held(lease, holder):
                return False
            if lease.lock and release_lock is not None:
                await release_lock(lease.lock)
            stored = lease.metadata
            try:
                await self._client.delete(
                    LEASES, name, self._namespace, uid=stored.uid, resource_version=stored.resource_version
                )
            except NotFound:
                if is_known:
                    raise
            return True

        return await retry_on_conflict(release_once, _ATTEMPTS, may_vanish=True)

    async def _get(self, name: str) -> LeaseRecord:
        return LeaseRecord.read(await self._client.get(LEASES, name, self._namespace))

    async def _find(self, name: str) -> LeaseRecord | None:
        return await none_if_absent(self._get(name))

    async def _patch(self, name: str, body: Object) -> LeaseHeld:
        # An operator made a Lease that we adopt or take over, and a person may remove a label.
        body["metadata"]["labels"] = dict(self._client.labels)
        return self._written(await self._client.merge_patch(LEASES, name, body, self._namespace))

    def _written(self, answer: Object) -> LeaseHeld:
        """The Lease in the answer to our write, whose version is remembered."""
        lease = LeaseRecord.read(answer)
        self._known.pop(lease.metadata.name, None)
        self._known[lease.metadata.name] = lease
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return _held(lease)


def _held(lease: LeaseRecord) -> LeaseHeld:
    acquired = lease.spec.acquire_time or lease.spec.renew_time
    if expiry(lease) is None or acquired is None:
        path = LEASES.path(lease.metadata.namespace, lease.metadata.name)
        raise Malformed(f"The Lease {path} came back without its times.", path=path)
    return LeaseHeld(lease.metadata.name, acquired)


def _is_held(lease: LeaseRecord, holder: LeaseHolder) -> bool:
    owners = {owner.uid for owner in lease.metadata.owner_references}
    is_of_another = bool(owners and holder.target_uid) and holder.target_uid not in owners
    return holder.holds(lease) and not is_of_another
