"""Components that add kinds of checks, as kustomize builds them: together they give the union."""

from itertools import permutations
from pathlib import Path

import pytest
import yaml

from health.kinds.clusterapi.kind import CLUSTER_API_MACHINE_HEALTH_CHECK
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.resource import Object
from runtime.settings import Settings
from tests.deploy.containers import containers
from tests.deploy.overlays import DEPLOY, OVERLAYS, combined

ALL = {NODE_HEALTH_CHECK, MACHINE_HEALTH_CHECK, CLUSTER_API_MACHINE_HEALTH_CHECK}
COMPONENTS = ("openshift-machines", "cluster-api")


def handled(objects: tuple[Object, ...]) -> list[set[object]]:
    """The kinds that each of our processes handles."""
    return [
        set(Settings.from_environment(container.environment).check_kinds)
        for container in containers(objects)
        if container.name in ("detector", "worker")
    ]


@pytest.mark.parametrize("components", list(permutations(COMPONENTS)), ids=" before ".join)
def test_both_components_handle_the_kinds_of_both_in_either_order(
    components: tuple[str, ...], tmp_path: Path
) -> None:
    assert handled(combined(tmp_path, "temporal-dev", *components)) == [ALL, ALL]


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_overlay_takes_both_components(name: str, tmp_path: Path) -> None:
    overlay = yaml.safe_load((DEPLOY / "overlays" / name / "kustomization.yaml").read_text())
    used = [Path(component).name for component in overlay["components"]]
    more = [component for component in COMPONENTS if component not in used]
    assert handled(combined(tmp_path, *[one for one in used if one != "image"], *more)) == [ALL, ALL]
