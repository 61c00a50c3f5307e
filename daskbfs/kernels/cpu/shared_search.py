"""A search's steps over memory that several processes share: one bitmap, one queue, one ``parent``.

Vertices are global ids. A vertex is visited when its bit in ``visited`` is set; ``parent`` is valid
only then. The steps of :mod:`daskbfs.kernels.cpu.bfs` do most of the work, since a bit that is
won by an atomic operation is won among processes too; here is what they lack. Vertices that are
found top-down are appended to one queue, whose end all processes push on: the frontier is its tail.

``top_down_together`` runs level after level in one call, and meets the other processes in between
(:mod:`daskbfs.kernels.meeting`): a level of a road network takes microseconds.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import EMPTY, ONE, atomic_add, atomic_or
from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.cpu.clock import seconds_now
from daskbfs.kernels.cpu.lookups import bit_of_word, name_of
from daskbfs.kernels.cpu.outbox import OUTBOX_ROWS, append
from daskbfs.kernels.meeting import MET, line_of, say, wait_for_all

_1 = np.uint32(1)
LEVEL, WAITS, BEGIN, END, TURN, IS_OVER = range(6)
"""Places in the progress of ``top_down_together``."""
N_PROGRESS = 6


@kernel
def pick_own(queue, first, rows):
    """Write the vertices of a queue that are own rows, from vertex ``first`` on; returns how many.

    ``rows`` has a place for each own row.
    """
    n = 0
    for i in range(queue.size):
        row = queue[i] - first  # wraps around for ids below: far too large
        if row < rows.size:
            rows[n] = row
            n += 1
    return n


@kernel
def mark_own(queue, first, words):
    """Make the words of own rows hold just the vertices of a queue that are such."""
    words[:] = EMPTY
    n_rows = np.uint32(words.size * 64)
    for i in range(queue.size):
        row = queue[i] - first  # wraps around for ids below: far too large
        if row < n_rows:
            words[row >> np.uint32(6)] |= ONE << np.uint64(row & np.uint32(63))


@kernel
def append_found(found, n, queue, end):
    """Append the first ``n`` vertices found to the queue that all push on."""
    append(queue, end, found, np.uint64(n))


@kernel
def publish(found, found_by, parent, visited, queue, end, mean_degree, degree):
    """Visit vertices that were found elsewhere, as on a device, and that no process has visited.

    Returns how many these are, and about how many arcs leave them; ``found`` begins with them.
    """
    n = 0
    arcs = 0.0
    for i in range(found.size):
        u = found[i]
        w = u >> np.uint32(6)
        bit = bit_of_word(u)
        if atomic_or(visited, w, bit) & bit == EMPTY:
            parent[u] = found_by[i]
            queue[np.uint64(atomic_add(end, 0, 1))] = u
            found[n] = u
            arcs += degree[u] if degree.size > 0 else mean_degree[w]
            n += 1
    return n, arcs


@inlined
def _search_own(
    begin, end_, indptr, indices, vertex, mean_degree, degree, own_first, n_own, parent, visited,
    queue, end, outbox,
):  # fmt: skip
    """One level over own rows; returns vertices found, arcs that leave them, arcs examined."""
    n_found, examined = 0, EMPTY
    arcs = 0.0
    kept = EMPTY
    for i in range(begin, end_):
        row = queue[i] - own_first  # wraps around for ids below: far too large
        if row >= n_own:
            continue
        first, last = np.uint64(indptr[row]), np.uint64(indptr[row + _1])
        examined += last - first
        parent_vertex = name_of(vertex, row)
        for e in range(first, last):
            u = indices[e]
            w = u >> np.uint32(6)
            bit = bit_of_word(u)
            if visited[w] & bit == EMPTY and atomic_or(visited, w, bit) & bit == EMPTY:
                parent[u] = parent_vertex
                arcs += degree[u] if degree.size > 0 else mean_degree[w]
                outbox[kept] = u
                kept += ONE
                n_found += 1
                if kept == OUTBOX_ROWS:
                    append(queue, end, outbox, kept)
                    kept = EMPTY
    append(queue, end, outbox, kept)
    return n_found, arcs, np.int64(examined)


@kernel
def top_down_together(
    indptr, indices, vertex, mean_degree, degree, own_first, n_own, parent, visited, queue, end,
    place, participant, n_participants, n_spins, patience_seconds, deadline, most_arcs, progress,
    arcs, sizes, scout_counts, examined, seconds,
):  # fmt: skip
    """Search top-down from the frontier, level by level, with all processes that share the search.

    Ends where the next frontier is empty or has ``most_arcs`` arcs or more, where the first
    participant has passed its deadline, or where ``sizes`` is full; and with another value than MET
    where others do not come for so long: call it again then. ``progress`` tells where it is;
    ``sizes`` and ``scout_counts`` get the vertices of each frontier and the arcs that leave it,
    ``examined`` and ``seconds`` what each participant had to do.
    """
    outbox, said = np.empty(OUTBOX_ROWS, np.uint32), np.zeros(5)
    values = place.view(np.float64)
    own_first = np.uint32(own_first)
    n_own = np.uint32(n_own)
    while True:
        level = progress[LEVEL]
        if progress[WAITS] == 0:
            before = seconds_now()
            n_found, scouted, looked_at = _search_own(
                np.uint64(progress[BEGIN]), np.uint64(progress[END]), indptr, indices, vertex,
                mean_degree, degree, own_first, n_own, parent, visited, queue, end, outbox,
            )  # fmt: skip
            now = seconds_now()
            said[0] = 1.0 if now >= deadline else 0.0
            said[1], said[2] = now - before, looked_at
            said[3], said[4] = n_found, scouted
            progress[TURN] += 1
            say(place, progress[TURN], participant, n_participants, said)
            progress[WAITS] = 1
        ended = wait_for_all(place, progress[TURN], n_participants, n_spins, patience_seconds)
        if ended != MET:
            return ended
        progress[WAITS] = 0
        sizes[level], scout_counts[level] = progress[END] - progress[BEGIN], arcs[0]
        n_found, scouted = 0.0, 0.0
        for p in range(n_participants):
            line = line_of(progress[TURN], p, n_participants) + 1
            if p == 0:
                progress[IS_OVER] = np.int64(values[line])
            seconds[level, p] = values[line + 1]
            examined[level, p] = np.int64(values[line + 2])
            n_found += values[line + 3]
            scouted += values[line + 4]
        progress[BEGIN] = progress[END]
        progress[END] += np.int64(n_found)
        arcs[0] = scouted
        progress[LEVEL] = level + 1
        last = n_found == 0 or scouted >= most_arcs or level + 1 == sizes.size
        if last or progress[IS_OVER] != 0:
            return MET
