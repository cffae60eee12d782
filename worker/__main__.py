"""`python -m worker`: the worker process."""

import sys

from runtime.process import run_process
from worker.worker import run

if __name__ == "__main__":
    sys.exit(run_process(run))
