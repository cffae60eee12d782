"""The Worker Versioning of a worker, by two variables of its environment.

The names are those that the Temporal Worker Controller sets. Without a deployment name the worker is
unversioned, but still reports its build, so that `paramedic doctor` sees two builds on one queue.

Workflows are pinned: an incident ends on the build that began it, so neither a roll-out nor a roll-back gives
a history to code that did not write it (ADR 46). The behaviour is the worker's default and not that of the
workflow's definition: a definition with one makes each task of an unversioned worker time out.
"""

import importlib.metadata
import re
from collections.abc import Mapping

from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import WorkerDeploymentConfig

from runtime.settings import SettingsError

DEPLOYMENT_VARIABLE = "TEMPORAL_DEPLOYMENT_NAME"
BUILD_VARIABLE = "TEMPORAL_WORKER_BUILD_ID"
UNVERSIONED = "paramedic"
"""The deployment name that Temporal requires with a build that is only reported."""
LONGEST = 200
_NAME = re.compile(rf"(?!__)[^\s.:]{{1,{LONGEST}}}")
_BUILD = re.compile(rf"[^\s:]{{1,{LONGEST}}}")


def worker_version(environment: Mapping[str, str]) -> WorkerDeploymentConfig:
    """The version of a worker in that environment.

    Raises:
        SettingsError: a name is invalid, or a deployment has no build id.

    """
    deployment, build = environment.get(DEPLOYMENT_VARIABLE, ""), environment.get(BUILD_VARIABLE, "")
    if deployment and not build:
        raise SettingsError(f"{BUILD_VARIABLE}: must be set beside {DEPLOYMENT_VARIABLE}")
    if deployment and not _NAME.fullmatch(deployment):
        raise _refused(DEPLOYMENT_VARIABLE, deployment, "must not begin with __, nor contain . : or blanks")
    if build and not _BUILD.fullmatch(build):
        raise _refused(BUILD_VARIABLE, build, "must not contain : or blanks")
    if not deployment:
        reported = WorkerDeploymentVersion(UNVERSIONED, build or importlib.metadata.version("paramedic"))
        return WorkerDeploymentConfig(reported, use_worker_versioning=False)
    version = WorkerDeploymentVersion(deployment, build)
    return WorkerDeploymentConfig(
        version, use_worker_versioning=True, default_versioning_behavior=VersioningBehavior.PINNED
    )


def _refused(variable: str, value: str, why: str) -> SettingsError:
    return SettingsError(f"{variable}: {why}, and have at most {LONGEST} characters (found {value!r})")
