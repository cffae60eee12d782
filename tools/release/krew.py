"""The kubectl plugin of a release: an archive, and the manifest by which krew installs it.

The archive has a script for all platforms with a POSIX shell, which runs the Python command.
"""

from datetime import datetime
from pathlib import Path

import yaml

from release.manifests import write_archive

FOLDER = Path("deploy/krew")
PROGRAM = "kubectl-paramedic"
_NO_VERSION = "version=0.0.0\n"
_PLATFORMS = ("linux", "darwin")
_CAVEATS = "The plugin runs the Python command paramedic: have it, uv or pipx in PATH.\n"


def choose_version(source: Path, version: str) -> None:
    """Write the version into the script of `source`."""
    script = source / FOLDER / PROGRAM
    script.write_text(script.read_text().replace(_NO_VERSION, f"version={version}\n"))


def pack_plugin(source: Path, into: Path, time: datetime) -> None:
    """Write the script and the licence into an archive; its files are dated `time`."""
    write_archive(into, {PROGRAM: source / FOLDER / PROGRAM, "LICENSE": source / "LICENSE"}, time)


def plugin_manifest(version: str, uri: str, sha256: str) -> str:
    """The manifest for krew; `uri` is the address of the archive."""
    files = [{"from": name, "to": "."} for name in (PROGRAM, "LICENSE")]
    platforms = [
        {
            "selector": {"matchLabels": {"os": system}},
            "uri": uri,
            "sha256": sha256,
            "bin": PROGRAM,
            "files": files,
        }
        for system in _PLATFORMS
    ]
    plugin = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "paramedic"},
        "spec": {
            "version": f"v{version}",
            "shortDescription": "See and steer the remediation of nodes and machines",
            "description": "Lists incidents, explains holds, and gives orders to Paramedic.\n",
            "caveats": _CAVEATS,
            "platforms": platforms,
        },
    }
    return yaml.safe_dump(plugin, sort_keys=False)
