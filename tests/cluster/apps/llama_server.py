#!/usr/bin/python3
"""llama.cpp's own HTTP server (PyPI package xllamacpp) under the flags and variables of the stand-alone llama-server.

In a container this is the first process, for which the kernel ignores SIGTERM unless it is handled. It is handled so:
the process ends at once with 143 and cuts every stream, as any program does that knows no SIGTERM. (The stand-alone
llama-server cuts its streams too, but 31 s later or never: docs/testing.md.)

SIGUSR1 makes it a dead engine: the process lives, nothing listens any more, all connections are gone.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import types

import xllamacpp


def _arguments() -> argparse.Namespace:
    environ = os.environ
    parser = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False)
    parser.add_argument("-m", "--model", default=environ.get("LLAMA_ARG_MODEL"))
    parser.add_argument("--host", default=environ.get("LLAMA_ARG_HOST", "127.0.0.1"))
    parser.add_argument("--port", type=int, default=int(environ.get("LLAMA_ARG_PORT", "8080")))
    parser.add_argument("--metrics", action="store_true", default="LLAMA_ARG_ENDPOINT_METRICS" in environ)
    parser.add_argument("-np", "--parallel", type=int, default=int(environ.get("LLAMA_ARG_N_PARALLEL", "2")))
    parser.add_argument("-c", "--ctx-size", type=int, default=int(environ.get("LLAMA_ARG_CTX_SIZE", "8192")))
    parser.add_argument("-t", "--threads", type=int, default=int(environ.get("LLAMA_ARG_THREADS", "1")))
    parser.add_argument("--api-key", default=environ.get("LLAMA_API_KEY", ""))
    return parser.parse_args()


def _parameters(arguments: argparse.Namespace) -> xllamacpp.CommonParams:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = arguments.model
    parameters.hostnames = [arguments.host]
    parameters.port = arguments.port
    parameters.endpoint_metrics = arguments.metrics
    parameters.n_parallel = arguments.parallel
    parameters.n_ctx = arguments.ctx_size
    parameters.warmup = False
    parameters.ui = False
    parameters.cpuparams.n_threads = arguments.threads
    if arguments.api_key:
        parameters.api_keys = [arguments.api_key]
    return parameters


def _stop(number: int, _frame: types.FrameType | None) -> None:
    os._exit(128 + number)


def _die(_number: int, _frame: types.FrameType | None) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    wait = "import signal; signal.sigwait({signal.SIGTERM})"
    os.execv(sys.executable, [sys.executable, "-c", wait])  # noqa: S606 (no shell is wanted)


def main() -> None:
    """Serve until a signal ends the process."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    signal.signal(signal.SIGUSR1, _die)
    server = xllamacpp.Server(_parameters(_arguments()))
    print(f"listening on {server.listening_address}", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
