#!/bin/sh
# The environment of the image: the programs of one wheel and its locked dependencies, and nothing else.
#
#   build.sh WHEEL DIRECTORY
#
# Each dependency must match requirements.lock byte by byte. pip respects its environment and its
# configuration: an index of your own, or a folder of wheels where there is no network.
set -eu

wheel=$1
directory=$2
here=$(dirname "$0")

python3 -m venv --without-pip "$directory"
set -- --python "$directory/bin/python" install --disable-pip-version-check --no-cache-dir --no-compile --no-deps
python3 -m pip "$@" --require-hashes --only-binary :all: --requirement "$here/requirements.lock"
python3 -m pip "$@" --no-index "$wheel"
# The environment is only ours, so `python -m detector` and a debugger may find our packages, too.
for packages in "$directory"/lib/python3.*/site-packages; do
    echo paramedic/packages >"$packages/paramedic.pth"
done
