"""Absence: that there is no such object, said by an API server that serves its kind.

A plain 404 says less: a load balancer with nobody behind it answers so, too. Where no object means that all
may go on, such an answer must not be taken for it (rule 3).
"""

from collections.abc import Awaitable
from typing import TypeVar

from kube.errors import KindUnknown, NotFound

Found = TypeVar("Found")


async def none_if_absent(reading: Awaitable[Found]) -> Found | None:
    """What `reading` answers; None where there is no such object.

    Raises KubernetesError: as it does; KindUnknown, too, which does not say that there is none.
    """
    try:
        return await reading
    except KindUnknown:
        raise
    except NotFound:
        return None
