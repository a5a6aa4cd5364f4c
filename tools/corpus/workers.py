"""A pool of processes in which a program that hangs or crashes costs only itself."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from tools.corpus.check import Outcome, check


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    key: str | None = None
    since: float = 0.0


def run(
    tasks: Iterable[tuple[str, str, Mapping[str, Any]]],
    repositories: Mapping[str, str],
    *,
    workers: int,
    timeout_s: float,
) -> Iterator[tuple[str, Outcome]]:
    """(key, outcome) of each task (key, text, record), as they finish."""
    pending = iter(tasks)
    pool = [_start(repositories) for _ in range(workers)]
    busy = [w for w in pool if _give(w, pending)]
    try:
        while busy:
            ready = wait([w.pipe for w in busy], timeout=1.0)
            for worker in list(busy):
                outcome = _collect(worker, worker.pipe in ready, timeout_s)
                if outcome is None:
                    continue
                key = worker.key
                assert key is not None
                yield key, outcome
                if outcome.stage in ("crash", "timeout"):
                    worker.process.kill()
                    worker.process.join()
                    fresh = _start(repositories)
                    worker.process, worker.pipe = fresh.process, fresh.pipe
                if not _give(worker, pending):
                    busy.remove(worker)
    finally:
        for worker in pool:
            worker.process.kill()


def _start(repositories: Mapping[str, str]) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, dict(repositories)), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _give(worker: _Worker, pending: Iterator[Any]) -> bool:
    task = next(pending, None)
    if task is None:
        return False
    worker.key, worker.since = task[0], time.monotonic()
    worker.pipe.send(task)
    return True


def _collect(worker: _Worker, ready: bool, timeout_s: float) -> Outcome | None:
    if ready:
        try:
            return worker.pipe.recv()
        except (EOFError, ConnectionResetError):
            worker.process.join(timeout=5)
            return Outcome("crash", f"the process ended with {worker.process.exitcode}")
    if time.monotonic() - worker.since > timeout_s:
        return Outcome("timeout", f"longer than {timeout_s} s")
    return None


def _serve(pipe: Connection, repositories: Mapping[str, str]) -> None:
    while True:
        _, text, record = pipe.recv()
        try:
            outcome = check(text, record, repositories)
        except RecursionError as error:
            outcome = Outcome("internal", f"RecursionError: {error}")
        except Exception as error:
            trace = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{trace.filename.rpartition('/')[2]}:{trace.name}"
            outcome = Outcome("internal", f"{type(error).__name__} in {place}: {error}")
        pipe.send(outcome)
