"""`python -m devcluster.user_cluster`: Temporal, our processes and the simulation of a demo, on this machine.

They reach the cluster with the rights of the kubeconfig. DIR/dev.json exists while everything is ready.
SIGTERM and SIGINT end it.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from devcluster.dev import DevSettings, UserCluster, run
from devcluster.errors import DevclusterError
from devcluster.user_cluster.cluster import VARIABLES
from kube.errors import KubernetesError


def main() -> None:
    """Run until a signal, on the main thread; exits with one sentence on an error."""
    parser = argparse.ArgumentParser(prog="user_cluster", description="What the demo runs on this machine.")
    parser.add_argument("--dir", type=Path, required=True, help="directory for data and logs")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="kubeconfig of the demo's account")
    options = parser.parse_args()
    try:
        asyncio.run(run(DevSettings(directory=options.dir), UserCluster(options.kubeconfig, VARIABLES)))
    except (DevclusterError, KubernetesError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
