"""Logs of tuning, in files of the working directory."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

__all__ = ["get_logger", "get_loggers_from_work_dir"]

_NAME = "relax_mlir.meta_schedule"
_FORMAT = "%(asctime)s [%(levelname)s] %(message)s"


def get_logger(name: str) -> logging.Logger:
    """The logger of that name."""
    return logging.getLogger(name)


class _AppendHandler(logging.Handler):
    """Opens its file for each message, so that none stays open after tuning."""

    def __init__(self, path: str) -> None:
        super().__init__(logging.DEBUG)
        self.path = path
        self.setFormatter(logging.Formatter(_FORMAT, "%Y-%m-%d %H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(self.format(record) + "\n")


def get_loggers_from_work_dir(work_dir: str, task_names: Sequence[str]) -> list[logging.Logger]:
    """A logger for each task; each writes to a file of its own in `<work_dir>/logs`."""
    digits = len(str(max(len(task_names) - 1, 0)))
    return [
        _logger(work_dir, f"task_{number:0{digits}d}_{name[:100]}")
        for number, name in enumerate(task_names)
    ]


def scheduler_logger(work_dir: str) -> logging.Logger:
    """The logger of a run: which task when, and the table of tasks."""
    return _logger(work_dir, "task_scheduler")


def _logger(work_dir: str, name: str) -> logging.Logger:
    """A logger of one run: what others configure for the package's logger holds for it too."""
    folder = os.path.join(work_dir, "logs")
    os.makedirs(folder, exist_ok=True)
    logger = logging.Logger(f"{_NAME}.{name}", logging.DEBUG)
    logger.parent = logging.getLogger(_NAME)
    logger.addHandler(_AppendHandler(os.path.join(folder, f"{_NAME}.{name}.log")))
    return logger
