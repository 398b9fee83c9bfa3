"""The local model's own process: serves a file of weights on loopback, and tells where. Run by its path.

It imports nothing of bakeoff, so that it starts as fast as the weights are read.
"""

from __future__ import annotations

import json
import signal
import sys


def main(weights: str, parallel: int, context: int) -> None:
    """Serve until killed; the first line of output is JSON with the address."""
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = weights
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = parallel
    params.n_ctx = context
    # Two threads wait for one another at every layer, which collapses as soon as something else runs.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.verbosity = -1
    server = Server(params)
    print(json.dumps({"url": server.listening_address}), flush=True)  # noqa: T201 - that is how it tells
    while True:
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
