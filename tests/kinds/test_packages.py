"""What is installed is what is there: a folder that pyproject.toml forgets is missing only in an image.

The bench runs from a checkout, and is not installed; import-linter knows it all the same.
"""

import tomllib
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
FROM_A_CHECKOUT = {"bench", "tests"}


def import_linter() -> ConfigParser:
    settings = ConfigParser()
    settings.read(ROOT / ".importlinter")
    return settings


def test_every_package_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    places = (found.parent.relative_to(ROOT) for found in ROOT.glob("[!.]*/**/__init__.py"))
    packages = {".".join(place.parts) for place in places if place.parts[0] not in FROM_A_CHECKOUT}

    assert set(settings["tool"]["setuptools"]["packages"]) == packages


def test_import_linter_knows_every_package_but_the_tests() -> None:
    listed = set(import_linter()["importlinter"]["root_packages"].split())

    assert listed == {found.parent.name for found in ROOT.glob("[!.]*/__init__.py")} - {"tests"}


def test_kit_is_kept_from_every_module_beside_it() -> None:
    forbidden = set(import_linter()["importlinter:contract:kit"]["forbidden_modules"].split())

    modules = {f"workflows.{file.stem}" for file in (ROOT / "workflows").glob("[!_]*.py")}
    assert forbidden == {"health", *modules}
