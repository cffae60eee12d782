#!/bin/sh
# The environment of the image: the programs of one wheel and its locked dependencies, and nothing else.
#
#   build.sh WHEEL DIRECTORY
#
# Each dependency must be what requirements.lock says, byte by byte. Whatever pip is told by the environment
# or its configuration holds: an index of your own, or a folder of wheels where there is no network.
set -eu

wheel=$1
directory=$2
here=$(dirname "$0")

python3 -m venv --without-pip "$directory"
set -- --python "$directory/bin/python" install --disable-pip-version-check --no-cache-dir --no-compile --no-deps
python3 -m pip "$@" --require-hashes --only-binary :all: --requirement "$here/requirements.lock"
python3 -m pip "$@" --no-index "$wheel"
# Nobody else lives here: `python -m detector` and a debugger find our packages, too.
for packages in "$directory"/lib/python3.*/site-packages; do
    echo paramedic/packages >"$packages/paramedic.pth"
done
