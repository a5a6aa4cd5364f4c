"""The task schedulers: in turns, and where the most is to be gained."""

from __future__ import annotations

import random
from collections import defaultdict

from relax_mlir.meta_schedule.runner import RunnerResult
from relax_mlir.meta_schedule.task_scheduler.task_scheduler import TaskScheduler

__all__ = ["GradientBased", "RoundRobin"]


class RoundRobin(TaskScheduler):
    """Gives each task a batch of trials in turn."""

    def __init__(self) -> None:
        super().__init__()
        self._last = -1

    def next_task_id(self) -> int:
        number = len(self.tasks)
        for step in range(1, number + 1):
            task_id = (self._last + step) % number
            self.touch_task(task_id)
            task = self.tasks[task_id]
            if task.is_terminated:
                continue
            if task.running is not None:
                self.join_running_task(task_id)
            self._last = task_id
            return task_id
        return -1


class GradientBased(TaskScheduler):
    """After a round of all tasks, gives the next batch to the task that promises to make the whole
    program faster: by what its last `window_size` batches gained, weighted with `alpha`, and by
    what it takes, with 1 - `alpha`."""

    def __init__(self, *, alpha: float = 0.2, window_size: int = 3, seed: int = -1) -> None:
        super().__init__()
        self.alpha = alpha
        self.window_size = window_size
        self._random = random.Random(None if seed == -1 else seed)
        self._rounds = 0
        self._best: dict[int, list[float]] = defaultdict(list)

    def next_task_id(self) -> int:
        if self._rounds < len(self.tasks):
            self._rounds += 1
            return self._rounds - 1
        for task_id, task in enumerate(self.tasks):
            if task.running is not None:
                self.join_running_task(task_id)
        alive = [n for n, task in enumerate(self.tasks) if not task.is_terminated]
        if not alive:
            return -1
        gains = {n: self._gain(n) for n in alive}
        most = max(gains.values())
        return self._random.choice([n for n in alive if gains[n] == most])

    def _gain(self, task_id: int) -> float:
        history = self._best[task_id]
        if not history or history[-1] == float("inf"):
            return float("-inf")  # nothing of the task runs
        best, window = history[-1], self.window_size
        gained = (history[-1 - window] - best) / window if len(history) > window else 0.0
        expected = best / len(history)
        gain = self.alpha * gained + (1 - self.alpha) * expected
        return gain * self.tasks[task_id].task_weight

    def join_running_task(self, task_id: int) -> list[RunnerResult]:
        results = super().join_running_task(task_id)
        self._best[task_id].append(self.tasks[task_id].best_secs)
        return results
