"""No fault of an API server loses an add, a modify or a delete."""

import dataclasses
from datetime import timedelta

import pytest

from kube.reflector import ReflectorSettings
from kube.reflector_settings import Watching
from kube.transport import Transport
from tests.kube.faults import faults
from tests.kube.faults.convergence import converge
from tests.kube.faults.faults import Fault
from tests.kube.faults.following import following
from tests.kube.faults.scripted_cluster import ScriptedCluster
from tests.kube.watched import IMPATIENT, with_silence
from tests.support.api.api_server import ApiServer

BRIEF_WATCHES = dataclasses.replace(IMPATIENT, watching=Watching(proof_every=timedelta(0)))
QUICKLY_SILENT = with_silence(timedelta(milliseconds=300))


@pytest.mark.parametrize(
    ("fault", "settings"),
    [
        pytest.param(faults.expired_in_the_stream, IMPATIENT, id="in-stream 410"),
        pytest.param(faults.expired_in_the_first_line, IMPATIENT, id="in-stream 410 on reconnect"),
        pytest.param(faults.expired_on_reconnect, IMPATIENT, id="HTTP 410 on reconnect"),
        pytest.param(faults.busy, IMPATIENT, id="429 with Retry-After"),
        pytest.param(faults.unavailable, IMPATIENT, id="503"),
        pytest.param(faults.failed_in_the_stream, IMPATIENT, id="in-stream ERROR 500"),
        pytest.param(faults.connection_reset, IMPATIENT, id="RST"),
        pytest.param(faults.line_cut, IMPATIENT, id="line cut in the middle"),
        pytest.param(faults.line_without_an_end, IMPATIENT, id="clean end in the middle of a line"),
        pytest.param(faults.connection_refused, IMPATIENT, id="refused for 4 s"),
        pytest.param(faults.end_at_the_timeout, BRIEF_WATCHES, id="clean end at the timeout"),
        pytest.param(faults.token_rotated, IMPATIENT, id="401, then a rotated token file"),
        pytest.param(faults.bookmarked_and_forgotten, IMPATIENT, id="bookmark"),
        pytest.param(faults.restored_from_a_backup, IMPATIENT, id="restored from a backup"),
        pytest.param(faults.nonsense, IMPATIENT, id="malformed line"),
        pytest.param(faults.silence, QUICKLY_SILENT, id="silence on a living connection"),
    ],
)
async def test_nothing_is_lost(
    server: ApiServer, transport: Transport, fault: Fault, settings: ReflectorSettings
) -> None:
    cluster = ScriptedCluster(server)
    async with following(transport, settings) as (reflector, told):
        await converge(cluster, reflector, told, fault(cluster))
