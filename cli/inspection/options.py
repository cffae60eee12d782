"""The options that choose the cluster of a command which reads the cluster itself."""

from typing import Annotated

import typer

from cli.shared.parameters import filled
from runtime.settings import CHECK_KINDS_VARIABLE, CLUSTER_VARIABLE

OfContext = Annotated[
    str | None, typer.Option("--context", parser=filled, metavar="NAME", help="A context of the kubeconfig.")
]
OfCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        parser=filled,
        metavar="CLUSTER",
        help=f"The name of the cluster, as {CLUSTER_VARIABLE}; by default that of the only installation.",
    ),
]
CheckKinds = Annotated[
    str | None,
    typer.Option(
        "--check-kinds",
        parser=filled,
        metavar="NAMES",
        help=f"The kinds that are handled, as {CHECK_KINDS_VARIABLE}.",
    ),
]
