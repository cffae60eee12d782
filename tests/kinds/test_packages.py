"""The wheel contains every folder: one that pyproject.toml forgets is missing only in an image.

Tools for development, benchmarks and releases run from a checkout and are in no wheel; import-linter knows
them, too.
"""

import tomllib
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parents[2]


def import_linter() -> ConfigParser:
    settings = ConfigParser()
    settings.read(ROOT / ".importlinter")
    return settings


def test_every_package_that_operates_is_in_the_wheel() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    there = {found.parent.name for found in ROOT.glob("[!.]*/__init__.py")} - {"tests"}

    packages = {name for name in wheel["only-include"] if not name.startswith("deploy/")}  # the roles
    assert packages == there
    inside = {*there, "deploy"} - {"paramedic"}
    assert wheel["sources"] == {name: f"paramedic/packages/{name}" for name in inside}


def test_import_linter_knows_every_package_but_the_tests() -> None:
    listed = set(import_linter()["importlinter"]["root_packages"].split())

    packages = {
        found.parent.name for top in (ROOT, ROOT / "tools") for found in top.glob("[!.]*/__init__.py")
    }
    assert listed == packages - {"tests"}


def test_kit_is_kept_from_every_module_beside_it() -> None:
    forbidden = set(import_linter()["importlinter:contract:kit"]["forbidden_modules"].split())

    modules = {f"workflows.{file.stem}" for file in (ROOT / "workflows").glob("[!_]*.py")} - {"workflows.kit"}
    assert forbidden == {"health", *modules}
