"""The state of one attempt on one partition, which knows the level that it is ready for."""

from __future__ import annotations

from daskbfs.partition.pinned import Pinned

_BUSY = -1


class StaleState(RuntimeError):
    """A state met a level that is not its next: a task ran twice, or a worker came back."""


class LevelState(Pinned):
    """The state of one attempt on one partition; a program's state adds its arrays."""

    __slots__ = ("next_level",)

    def __init__(self) -> None:
        self.next_level = 0

    @property
    def nbytes(self) -> int:
        """Memory of its arrays."""
        return 0

    def begin_level(self, level: int) -> None:
        """Refuse other uses of the state until the level has ended: for ever, where it fails."""
        self.check_level(level)
        self.next_level = _BUSY

    def end_levels(self, following: int) -> None:
        """Be ready for the level that follows."""
        self.next_level = following

    def check_level(self, level: int) -> None:
        """Refuse a level that is not the next."""
        if self.next_level != level:
            raise StaleState(f"a state for level {self.next_level} met level {level}")
