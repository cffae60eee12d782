"""The relapse of a check in the observations of its incidents."""

import pytest

from detector.answers.observation_builder import ObservationBuilder
from detector.context.sources_of_checks import CheckFreshness
from detector.state.check_state import CheckRecord
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from tests.support.state.small_cluster import CHECK, SmallCluster, incident_of
from tests.support.values.builders import NOW, check_object

FRESH = CheckFreshness()


@pytest.mark.rule("rule 64")
@pytest.mark.parametrize(("annotations", "seconds"), [({}, 0), ({"paramedic.dev/relapse": "30m"}, 1800)])
def test_incident_of_an_unhealthy_target_learns_the_relapse_of_its_check(
    annotations: dict[str, str], seconds: float
) -> None:
    one = SmallCluster()
    body = check_object(minHealthy=0) | {"status": {}}
    body["metadata"]["annotations"] = annotations
    one.cluster_state.check_changed(NODE_HEALTH_CHECK, CHECK, CheckRecord.model_validate(body))
    one.unhealthy("node-1")
    builder = ObservationBuilder(
        cluster_state=one.cluster_state, incident=incident_of("node-1"), freshness=FRESH, now=NOW
    )
    assert builder.observation().relapse_seconds == seconds
