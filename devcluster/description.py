"""DIR/dev.json: where everything is. It appears when everything is ready, and goes with it."""

from collections.abc import Mapping
from dataclasses import dataclass

from devcluster.control_plane import ControlPlane
from devcluster.files import write_json
from devcluster.layout import Layout
from devcluster.processes import ready_url
from devcluster.temporal import TemporalServer


@dataclass(frozen=True)
class Description:
    """What does not change while `paramedic dev` runs."""

    layout: Layout
    control_plane: ControlPlane
    temporal: TemporalServer
    cluster: str
    """The identity of the cluster, as it is in workflow ids."""

    def write(self, pids: Mapping[str, int]) -> None:
        """Replace the file, with the processes as they are now."""
        names = [name for name in ("detector", "worker") if name in pids]
        content = {
            "kubeconfig": str(self.control_plane.kubeconfig),
            "temporal_address": self.temporal.address,
            "temporal_namespace": self.temporal.namespace,
            "temporal_ui": self.temporal.ui,
            "cluster": self.cluster,
            "pids": dict(pids),
            "audit_log": str(self.control_plane.audit_log),
            "ready_urls": {name: ready_url(self.layout, name) for name in names},
        }
        write_json(self.layout.description, content)
