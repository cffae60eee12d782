"""The alerts of deploy/components: on our own series, and on those of kube-state-metrics."""

from pathlib import Path
from typing import Any

import yaml

from devcluster.manifests import ROOT

COMPONENTS = ROOT / "deploy" / "components"
FILE = COMPONENTS / "prometheus" / "alerts.yaml"
OF_KUBE_STATE_METRICS = COMPONENTS / "kube-state-metrics" / "alerts.yaml"


def rules(*files: Path) -> list[dict[str, Any]]:
    """The rules of these files, by default of all."""
    read = [yaml.safe_load(file.read_text()) for file in files or (FILE, OF_KUBE_STATE_METRICS)]
    return [rule for found in read for group in found["spec"]["groups"] for rule in group["rules"]]


def alerts() -> list[str]:
    """The expressions of the alerts on our own series."""
    return [rule["expr"] for rule in rules(FILE)]
