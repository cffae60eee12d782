"""Sighting: what status and Events of one check are made from, read off the picture at one moment."""

from datetime import datetime

from detector.picture import Picture
from detector.request_index import SeenRequest
from health.check_sight import CheckSight, RequestSight, TargetSight
from health.health_check import HealthCheck, InvalidCheckError
from health.references import CheckReference
from health.verdict import HEALTHY


def sighting(picture: Picture, reference: CheckReference, refusal: str, now: datetime) -> CheckSight | None:
    """The sight of a check; None if it is gone."""
    entry = picture.checks.get(reference)
    if entry is None:
        return None
    uid = entry.record.metadata.uid
    if isinstance(entry.check, InvalidCheckError):
        return CheckSight(entry.check, uid, allowance=None)
    names = entry.unhealthy | picture.requests.targets_of(reference)
    targets = {name: _target(picture, reference, entry.check, name, now) for name in sorted(names)}
    return CheckSight(entry.check, uid, picture.allowance(reference), targets, refusal)


def _target(
    picture: Picture, reference: CheckReference, check: HealthCheck, name: str, now: datetime
) -> TargetSight:
    requests = tuple(_request(entry) for entry in picture.requests.of(reference, name))
    node = picture.nodes.get(name)
    if node is None or not check.selects(node.metadata.labels):
        return TargetSight(name, "", HEALTHY, requests)
    return TargetSight(name, node.metadata.uid, check.verdict(node, now), requests)


def _request(entry: SeenRequest) -> RequestSight:
    request = entry.request
    return RequestSight(entry.reference, request.metadata.creation_timestamp, request.timed_out_at)
