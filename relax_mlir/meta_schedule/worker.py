"""Processes that build and measure candidates: what hangs or crashes there takes nothing else down.

A worker is `python -m relax_mlir.meta_schedule.worker FD`; over the socket it gets the name of a
function of `TASKS` with its arguments and answers `(True, result)` or `(False, message)`.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.runtime import empty

__all__ = ["Worker", "WorkerError", "borrowed", "close_idle"]

TASKS = {
    "build": "relax_mlir.meta_schedule.builder.local_builder:build_artifact",
    "run": "relax_mlir.meta_schedule.runner.local_runner:run_artifact",
}
"""What a worker does, by name: "module:function"."""

_START_SECONDS = 120
_ROOT = Path(__file__).resolve().parents[2]


class WorkerError(Error, RuntimeError):
    """A task that failed in a worker: an exception there, a crash, or no answer in time."""


class Worker:
    """One process, started when it is first needed and again after it was lost."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def call(self, task: str, arguments: Sequence[Any], timeout_sec: float) -> Any:
        """The result of a task.

        Raises WorkerError with what went wrong; a process that does not answer in time is killed.
        """
        try:
            connection = self._started()
            connection.send((task, tuple(arguments), timeout_sec))
            if not connection.poll(timeout_sec):
                self.close()
                raise WorkerError(f"Timeout, killed after {timeout_sec} seconds")
            done, value = connection.recv()
        except (EOFError, ConnectionError):
            raise WorkerError(f"the process {self._how_it_ended()}") from None
        if not done:
            raise WorkerError(str(value))
        return value

    def _started(self) -> Connection:
        if self._connection is not None and self._process is not None:
            if self._process.poll() is None:
                return self._connection
            self.close()
        ours, theirs = Pipe()
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            # Candidates are compiled once; the cache on disk would only fill up with them.
            "RELAX_MLIR_CACHE": "0",
            "RELAX_MLIR_COMPILE_THREADS": "1",  # there are several of these processes
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        theirs.close()
        self._connection = ours
        # Importing does not count for the first task.
        if not ours.poll(_START_SECONDS):
            self.close()
            raise WorkerError(f"a process for tuning did not start in {_START_SECONDS} seconds")
        ours.recv()
        return ours

    def _how_it_ended(self) -> str:
        process = self._process
        self.close()
        code = process.returncode if process is not None else None
        if code is not None and code < 0:
            return f"crashed: {signal.Signals(-code).name}"
        return f"ended with exit status {code}"

    def close(self) -> None:
        """End the process; the next task starts another one."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            try:
                self._process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._connection = self._process = None


_idle: list[Worker] = []
"""Workers that wait for tasks, as long as this process runs: starting one takes a second."""


@contextmanager
def borrowed() -> Iterator[Worker]:
    """A worker that nobody else uses until the context is left."""
    worker = _idle.pop() if _idle else Worker()
    try:
        yield worker
    finally:
        _idle.append(worker)


@atexit.register
def close_idle() -> None:
    """End the processes that wait for tasks."""
    while _idle:
        _idle.pop().close()


def _function(task: str) -> Callable[..., Any]:
    module, _, name = TASKS[task].partition(":")
    return getattr(import_module(module), name)


def _serve(connection: Connection) -> None:
    """Answer tasks until the other side is gone."""
    for task in TASKS:
        _function(task)
    empty((1,), "float32")  # loads the runtime's libraries
    connection.send("started")
    while True:
        try:
            task, arguments, timeout_sec = connection.recv()
        except (EOFError, ConnectionError):
            return
        # If the one who asked is killed, nobody else would end a task that hangs.
        signal.setitimer(signal.ITIMER_REAL, timeout_sec + 5)
        try:
            answer = True, _function(task)(*arguments)
        except Exception as error:
            answer = False, "".join(traceback.format_exception_only(type(error), error)).strip()
        signal.setitimer(signal.ITIMER_REAL, 0)
        connection.send(answer)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
