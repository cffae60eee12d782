"""The worker's version, from two variables."""

import importlib.metadata

import pytest
from temporalio.common import VersioningBehavior

from runtime.settings import SettingsError
from worker.worker import LONGEST_NAME, worker_version

NAME, BUILD = "TEMPORAL_DEPLOYMENT_NAME", "TEMPORAL_WORKER_BUILD_ID"


@pytest.mark.parametrize("environment", [{}, {NAME: "", BUILD: ""}])
def test_worker_is_unversioned_by_default_and_reports_its_release(environment: dict[str, str]) -> None:
    config = worker_version(environment)
    assert not config.use_worker_versioning
    assert config.default_versioning_behavior is VersioningBehavior.UNSPECIFIED
    assert config.version.build_id == importlib.metadata.version("paramedic")


def test_worker_reports_its_build_without_versioning() -> None:
    config = worker_version({BUILD: "0.1.0-rc1"})
    assert (config.use_worker_versioning, config.version.build_id) == (False, "0.1.0-rc1")


@pytest.mark.parametrize("name", ["paramedic-prod", "paramedic-system/paramedic-worker"])
def test_deployment_and_build_pin_workflows(name: str) -> None:
    config = worker_version({NAME: name, BUILD: "sha256-0123.4"})
    assert config.use_worker_versioning
    assert config.default_versioning_behavior is VersioningBehavior.PINNED
    assert (config.version.deployment_name, config.version.build_id) == (name, "sha256-0123.4")


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({NAME: "paramedic"}, f"{BUILD}: must be set beside {NAME}"),
        ({NAME: "a.b", BUILD: "1"}, f"{NAME}: must not begin with __, nor contain"),
        ({NAME: "a:b", BUILD: "1"}, "(found 'a:b')"),
        ({NAME: "__a", BUILD: "1"}, NAME),
        ({NAME: "a b", BUILD: "1"}, NAME),
        ({NAME: "a" * (LONGEST_NAME + 1), BUILD: "1"}, f"at most {LONGEST_NAME} characters"),
        ({BUILD: "a:b"}, f"{BUILD}: must not contain : or blanks"),
        ({NAME: "a", BUILD: " "}, BUILD),
    ],
)
def test_name_that_temporal_would_refuse_is_refused(environment: dict[str, str], words: str) -> None:
    with pytest.raises(SettingsError) as refused:
        worker_version(environment)
    assert words in str(refused.value)
