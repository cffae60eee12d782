"""Annotations of requests: which ones are wanted, and the requests as they look once these are written. Pure.

They have the format of remediators and the NodeHealthCheck operator. A request that is over gets an
annotation that asks its remediator to stop, unless it succeeded (NHC 2.4/6, NHC 2.5). A request whose target
is healthy again says since when, while a healthyDelay keeps it; the annotation is removed when the target
fails again (NHC 2.6, rule 19). A request older than 48 hours is flagged once (NHC 2.1/17, rule 23). An
incident writes its name on a request that it adopts, because activities change no other request (rule 52).
The incident remembers its writes, because the detector's state may be slightly older.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from health.model.moves import AnnotationPatch
from health.model.remediation_request import GREW_OLD, GREW_OLD_FLAG, HEALTHY_DELAY, TIMED_OUT
from health.model.request_snapshot import RequestSnapshot
from objects.timestamps import as_time, stamp

WRITTEN = frozenset({TIMED_OUT, HEALTHY_DELAY, GREW_OLD})
"""All annotations written after the creation of a request, except that of the incident that adopts it."""
OLD = timedelta(hours=48)
CLOCK_SKEW = timedelta(minutes=1)
"""How far a timestamp may be ahead of our clock."""


def adopted(request: RequestSnapshot) -> AnnotationPatch | None:
    """The annotation of the incident, for a request that another operator made."""
    if not request.is_unsigned or request.is_being_deleted:
        return None
    return AnnotationPatch(request=request.reference, adopts=True)


def timed_out(request: RequestSnapshot, now: datetime) -> AnnotationPatch | None:
    """The annotation that asks the remediator of a request that is over to stop."""
    if request.timed_out_at is not None or request.succeeded:
        return None
    return AnnotationPatch(request=request.reference, annotations={TIMED_OUT: stamp(now)})


def healthy(request: RequestSnapshot, now: datetime) -> AnnotationPatch | None:
    """The time since when the target is healthy; a timestamp far in the future is replaced."""
    if request.healthy_since is not None and request.healthy_since <= now + CLOCK_SKEW:
        return None
    return AnnotationPatch(request=request.reference, annotations={HEALTHY_DELAY: stamp(now)})


def unhealthy(request: RequestSnapshot) -> AnnotationPatch | None:
    """The removal of that timestamp after the target failed again."""
    if request.healthy_since is None:
        return None
    return AnnotationPatch(request=request.reference, annotations={HEALTHY_DELAY: None})


def old(request: RequestSnapshot, now: datetime) -> AnnotationPatch | None:
    """The flag for a request older than 48 hours."""
    if request.is_flagged_as_old or now < request.created + OLD:
        return None
    return AnnotationPatch(request=request.reference, annotations={GREW_OLD: GREW_OLD_FLAG})


def grows_old_at(request: RequestSnapshot, now: datetime) -> datetime | None:
    """When a request is to be flagged; None: it is flagged, or the time has passed."""
    grows_old = request.created + OLD
    return None if request.is_flagged_as_old or now >= grows_old else grows_old


def merged(known: Iterable[AnnotationPatch], new: Iterable[AnnotationPatch]) -> tuple[AnnotationPatch, ...]:
    """All patches so far, merged into one patch per request."""
    patches = {patch.request.uid: patch for patch in known}
    for patch in new:
        before = patches.get(patch.request.uid)
        annotations = {**(before.annotations if before else {}), **patch.annotations}
        adopts = patch.adopts or (before is not None and before.adopts)
        patches[patch.request.uid] = AnnotationPatch(
            request=patch.request, annotations=annotations, adopts=adopts
        )
    return tuple(patches.values())


def patched(
    requests: Iterable[RequestSnapshot], patches: Iterable[AnnotationPatch]
) -> tuple[RequestSnapshot, ...]:
    """The requests as they look once `patches` are written."""
    return tuple(_patched(request, patches) for request in requests)


def _patched(request: RequestSnapshot, patches: Iterable[AnnotationPatch]) -> RequestSnapshot:
    changes: dict[str, object] = {}
    for patch in patches:
        if patch.request.uid == request.uid:
            changes |= dict(_fields(patch))
    if changes.get("healthy_since") and _is_stamped_by_another(request):
        del changes["healthy_since"]
    return request.model_copy(update=changes) if changes else request


def _is_stamped_by_another(request: RequestSnapshot) -> bool:
    """True if the timestamp is not ours: ours is readable and no older than the request."""
    return request.healthy_since is not None and request.healthy_since < request.created


def _fields(patch: AnnotationPatch) -> Iterator[tuple[str, object]]:
    if patch.adopts:
        yield "is_unsigned", False
    for name, text in patch.annotations.items():
        if name == TIMED_OUT:
            yield "timed_out_at", as_time(text)
        if name == HEALTHY_DELAY:
            yield "healthy_since", as_time(text)
        if name == GREW_OLD:
            yield "is_flagged_as_old", text == GREW_OLD_FLAG
