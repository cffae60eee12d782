"""The alerts of deploy/components/prometheus."""

from typing import Any

import yaml

from devcluster.manifests import ROOT

FILE = ROOT / "deploy" / "components" / "prometheus" / "alerts.yaml"


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(FILE.read_text())["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> list[str]:
    return [rule["expr"] for rule in rules()]
