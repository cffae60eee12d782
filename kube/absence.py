"""Absence: an object does not exist, as reported by an API server that serves its kind.

A plain 404 proves less: a load balancer without a backend also answers 404. If a missing object allows
actions, such an answer must not count as absence (rule 3).
"""

from collections.abc import Awaitable
from typing import TypeVar

from kube.errors import KindUnknown, NotFound

Found = TypeVar("Found")


async def none_if_absent(reading: Awaitable[Found]) -> Found | None:
    """The result of `reading`; None if the object does not exist.

    Raises KubernetesError as `reading` does; also KindUnknown, which does not prove absence.
    """
    try:
        return await reading
    except KindUnknown:
        raise
    except NotFound:
        return None
