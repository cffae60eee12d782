"""NodeHealthCheck as one of the kinds of health check."""

from health.check_kind import CheckKind
from health.nodehealthcheck.check import API_VERSION, KIND, NodeHealthCheck
from health.nodehealthcheck.events import announcements
from health.nodehealthcheck.loss_events import request_lost
from health.nodehealthcheck.request_owner import is_unsigned_for, owner_of
from health.nodehealthcheck.status import status_patch

NODE_HEALTH_CHECK = CheckKind(
    kind=KIND,
    api_version=API_VERSION,
    plural="nodehealthchecks",
    is_namespaced=False,
    target_kind="Node",
    parse=NodeHealthCheck.parse,
    status_patch=status_patch,
    announcements=announcements,
    request_lost=request_lost,
    component="NodeHealthCheck",
    owner_of=owner_of,
    is_unsigned_for=is_unsigned_for,
)
