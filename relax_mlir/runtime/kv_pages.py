"""Memory of key and value caches in pages, which sequences share after a fork.

A sequence is a list of slots, one a token: slot `p * page_size + i` is row i of page p.  Tokens can
therefore be dropped anywhere (sliding windows, rejected drafts), and a fork shares what is there.
A sequence writes only into pages that no other uses, so that nothing is ever copied.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

__all__ = ["PagePool", "Sequence"]


@dataclass
class Sequence:
    """The tokens of one sequence: their slots in order."""

    slots: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    window: int = 0
    """With a window, tokens behind `sink` that fall out of it are dropped; 0 keeps all."""
    sink: int = 0
    draft: np.ndarray | None = None
    """For a tree of tokens that are not accepted yet: the parent of each, -1 for a root."""

    def __len__(self) -> int:
        return len(self.slots)


class PagePool:
    """Pages of rows; `users[p]` is how many sequences have tokens in page p.

    The lowest free pages are taken first, so that a sequence mostly lies in pages in a row, which
    attention reads in place.
    """

    def __init__(self, pages: int, page_size: int) -> None:
        self.page_size = page_size
        self.users = np.zeros(pages, np.int64)
        self._free = list(range(pages))

    @property
    def available(self) -> int:
        """Pages that no sequence uses."""
        return len(self._free)

    def append(self, sequence: Sequence, count: int) -> np.ndarray:
        """Slots for `count` more tokens; raises ValueError and takes none where pages miss."""
        room = self._room(sequence)
        start = int(sequence.slots[-1]) + 1 if room else 0
        taken = np.arange(start, start + min(room, count))
        missing = -(-(count - len(taken)) // self.page_size)
        if missing > len(self._free):
            raise ValueError(
                f"the cache is full: {count} tokens need {missing} more pages of "
                f"{self.page_size}, {len(self._free)} are free"
            )
        pages = [heapq.heappop(self._free) for _ in range(missing)]
        self.users[pages] = 1
        rows = [np.arange(page * self.page_size, (page + 1) * self.page_size) for page in pages]
        added = np.concatenate([taken, *rows])[:count].astype(np.int64)
        sequence.slots = np.concatenate([sequence.slots, added])
        return added

    def _room(self, sequence: Sequence) -> int:
        """Rows behind the last token that only this sequence can use."""
        if not len(sequence):
            return 0
        last = int(sequence.slots[-1])
        return 0 if self.users[last // self.page_size] > 1 else -(last + 1) % self.page_size

    def keep(self, sequence: Sequence, kept: np.ndarray) -> None:
        """Leave a sequence the tokens at positions `kept`; pages that it leaves are given back."""
        before = self._pages(sequence)
        sequence.slots = sequence.slots[kept]
        self._release(np.setdiff1d(before, self._pages(sequence)))

    def fork(self, parent: Sequence, length: int) -> Sequence:
        """A new sequence that begins with the first tokens of another."""
        child = Sequence(parent.slots[:length].copy(), parent.window, parent.sink)
        self.users[self._pages(child)] += 1
        return child

    def _pages(self, sequence: Sequence) -> np.ndarray:
        return np.unique(sequence.slots // self.page_size)

    def _release(self, pages: np.ndarray) -> None:
        self.users[pages] -= 1
        for page in pages[self.users[pages] == 0].tolist():
            heapq.heappush(self._free, page)
