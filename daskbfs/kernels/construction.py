"""Kernel 1's loops: from blocks of edges to sorted rows without self-loops and duplicates.

``count_degrees`` takes the first pass over the edges; when vertices are numbered by decreasing
degree, ``relabel`` and ``scatter`` take the second; ``sort_rows`` ends the work in place.

Rows fall into buckets of geometrically growing width (the first rows are alone in theirs):
where hubs come first, buckets hold arcs of about the same order. A block's arcs are first dealt
into buckets, then written bucket by bucket, each by one thread: no atomics, and few cache misses.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.bitmap import atomic_add, leading_zeros, shared_counter
from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.thread_pool import in_parallel, part_of
from daskbfs.kernels.vertex_numbers import NONE

N_BUCKETS = 896  # of the largest row number, plus one
_FRACTION_BITS = 5
_FRACTIONS = 1 << _FRACTION_BITS
_SHORT_ROW = 40  # insertion sort up to here, radix sort beyond,
_DIGIT_BITS = 8
_LONG_ROW = 2048  # with wide digits where clearing their counts is cheap against the row
_LONG_DIGIT_BITS = 12


@inlined
def _bucket(row):
    """Bucket of a row: its leading bits, as in a floating-point number."""
    if row < _FRACTIONS:
        return np.int64(row)
    exponent = 63 - np.int64(leading_zeros(np.uint64(row)))
    fraction = (np.int64(row) >> (exponent - _FRACTION_BITS)) & (_FRACTIONS - 1)
    return _FRACTIONS * (exponent - _FRACTION_BITS + 1) + fraction


@inlined
def _first_row(bucket):
    """First row of a bucket."""
    if bucket < _FRACTIONS:
        return np.int64(bucket)
    shift = bucket // _FRACTIONS - 1
    return (_FRACTIONS + bucket % _FRACTIONS) << shift


@inlined
def _count_degrees(part, n_parts, heads, tails, out_degree, in_degree, loops):
    first, last = part_of(heads.size, part, n_parts)
    one = np.uint32(1)
    for i in range(first, last):
        head, tail = heads[i], tails[i]
        if head == tail:
            atomic_add(loops, head, one)
        else:
            atomic_add(out_degree, head, one)
            atomic_add(in_degree, tail, one)


@kernel
def count_degrees(heads, tails, out_degree, in_degree, loops, n_threads):
    """Add a block of edges to the degrees; for an undirected graph both are one array."""
    in_parallel(_count_degrees, n_threads, (heads, tails, out_degree, in_degree, loops))


@kernel
def number_by_degree(degree, original_index, order, isolated):
    """Number vertices by decreasing degree, ties by index; isolated ones get ``isolated``.

    Fills ``original_index`` for the vertices that have a degree, and ``order``.
    """
    largest = np.uint32(0)
    for v in range(degree.size):
        largest = max(largest, degree[v])
    start = np.zeros(np.int64(largest) + 1, np.int64)
    for v in range(degree.size):
        start[degree[v]] += 1
    total = 0
    for d in range(np.int64(largest), 0, -1):
        total, start[d] = total + start[d], total
    for v in range(degree.size):
        d = degree[v]
        if d == 0:
            order[v] = isolated
        else:
            place = start[d]
            start[d] = place + 1
            order[v] = place
            original_index[place] = v


@inlined
def _relabel(part, n_parts, heads, tails, order, rows, neighbours):
    first, last = part_of(heads.size, part, n_parts)
    for i in range(first, last):
        head, tail = heads[i], tails[i]
        if head == tail:
            rows[i] = NONE
            neighbours[i] = NONE
        else:
            rows[i] = order[head]
            neighbours[i] = order[tail]


@kernel
def relabel(heads, tails, order, rows, neighbours, n_threads):
    """A block's vertices as their orders; self-loops become NONE."""
    in_parallel(_relabel, n_threads, (heads, tails, order, rows, neighbours))


@inlined
def _select(part, n_parts, rows, neighbours, place, some_places, some_neighbours, end):
    last_place = np.uint32(place.size - 1)
    first, last = part_of(rows.size, part, n_parts)
    k = np.uint64(first)
    for i in range(np.uint64(first), np.uint64(last)):
        there = place[min(rows[i], last_place)]
        some_places[k] = there
        some_neighbours[k] = neighbours[i]
        k += np.uint64(there != NONE)  # without a branch: it could not be predicted
    end[part] = k


@kernel
def select(rows, neighbours, place, some_places, some_neighbours, end, n_threads):
    """Keep the arcs of rows that have a place; thread t's stand from its part on up to ``end[t]``.

    ``place`` has one entry more than there are rows, where self-loops (NONE) look.
    """
    arguments = (rows, neighbours, place, some_places, some_neighbours, end)
    in_parallel(_select, n_threads, arguments)


@inlined
def _rename(part, n_parts, indices, names):
    first, last = part_of(indices.size, part, n_parts)
    for i in range(first, last):
        indices[i] = names[indices[i]]


@kernel
def rename(indices, names, n_threads):
    """Give each neighbour its new name, in place."""
    in_parallel(_rename, n_threads, (indices, names))


@inlined
def _count_buckets(part, n_parts, rows, begin):
    count = begin[part]
    count[:] = 0
    first, last = part_of(rows.size, part, n_parts)
    for i in range(first, last):
        row = rows[i]
        if row != NONE:
            count[_bucket(row)] += 1


@inlined
def _deal_arcs(part, n_parts, rows, neighbours, arcs, begin):
    place = begin[part].copy()
    first, last = part_of(rows.size, part, n_parts)
    for i in range(first, last):
        row = rows[i]
        if row != NONE:
            b = _bucket(row)
            k = place[b]
            arcs[k] = (np.uint64(row) << np.uint64(32)) | np.uint64(neighbours[i])
            place[b] = k + 1


@inlined
def _write_buckets(part, n_parts, arcs, begin, total, cursor, indices, claimed):
    n_arcs = indices.size
    b = atomic_add(claimed, 0, 1)
    while b < N_BUCKETS:
        end = begin[0, b + 1] if b + 1 < N_BUCKETS else total
        for k in range(begin[0, b], end):
            row = arcs[k] >> np.uint64(32)
            place_in_row = cursor[row]
            cursor[row] = place_in_row + 1
            if place_in_row < n_arcs:  # a stream that changed has too many: noticed later
                indices[place_in_row] = np.uint32(arcs[k])
        b = atomic_add(claimed, 0, 1)


@kernel
def scatter(rows, neighbours, arcs, begin, cursor, indices, n_threads):
    """Append each neighbour to its row: ``cursor[row]`` is where, and moves on.

    ``arcs`` (uint64) and ``begin`` (int64, threads x buckets) are scratch.
    """
    in_parallel(_count_buckets, n_threads, (rows, begin))
    total = 0
    for b in range(N_BUCKETS):
        for t in range(n_threads):
            total, begin[t, b] = total + begin[t, b], total
    in_parallel(_deal_arcs, n_threads, (rows, neighbours, arcs, begin))
    claimed = shared_counter()
    in_parallel(_write_buckets, n_threads, (arcs, begin, total, cursor, indices, claimed))


@inlined
def _insertion_sort(items, begin, end):
    for i in range(begin + 1, end):
        item = items[i]
        k = i - 1
        while k >= begin and items[k] > item:
            items[k + 1] = items[k]
            k -= 1
        items[k + 1] = item


@inlined
def _radix_sort(items, begin, end, scratch, count, digit_bits, n_digits):
    """Sort by digits, the lowest first."""
    size = end - begin
    mask = np.uint32((1 << digit_bits) - 1)
    for d in range(n_digits):
        shift = np.uint32(d * digit_bits)
        source, source_begin = (scratch, 0) if d & 1 else (items, begin)
        target, target_begin = (items, begin) if d & 1 else (scratch, 0)
        count[: 1 << digit_bits] = 0
        for k in range(source_begin, source_begin + size):
            count[(source[k] >> shift) & mask] += 1
        place = target_begin
        for c in range(1 << digit_bits):
            place, count[c] = place + count[c], place
        for k in range(source_begin, source_begin + size):
            item = source[k]
            c = (item >> shift) & mask
            k_target = count[c]
            count[c] = k_target + 1
            target[k_target] = item
    if n_digits & 1:
        for k in range(size):
            items[begin + k] = scratch[k]


@inlined
def _sort_buckets(part, n_parts, row_end, indices, length, bucket_end, longest, key_bits, claimed):
    n_rows = row_end.size
    few_digits = -(-key_bits // _LONG_DIGIT_BITS)
    long_digit_bits = -(-key_bits // few_digits)
    many_digits = -(-key_bits // _DIGIT_BITS)
    scratch = np.empty(longest, np.uint32)
    count = np.empty(1 << max(_DIGIT_BITS, long_digit_bits), np.int64)
    b = atomic_add(claimed, 0, 1)
    while b < N_BUCKETS:
        first, last = min(_first_row(b), n_rows), min(_first_row(b + 1), n_rows)
        begin = row_end[first - 1] if first > 0 else 0
        write = begin
        for row in range(first, last):
            end = row_end[row]
            if end - begin <= _SHORT_ROW:
                _insertion_sort(indices, begin, end)
            elif end - begin <= _LONG_ROW:
                _radix_sort(indices, begin, end, scratch, count, _DIGIT_BITS, many_digits)
            else:
                _radix_sort(indices, begin, end, scratch, count, long_digit_bits, few_digits)
            row_begin = write
            for k in range(begin, end):
                if k == begin or indices[k] != indices[write - 1]:
                    indices[write] = indices[k]
                    write += 1
            length[row] = write - row_begin
            begin = end
        bucket_end[b] = write
        b = atomic_add(claimed, 0, 1)


@kernel
def sort_rows(row_end, indices, length, bucket_end, longest, key_bits, n_threads):
    """Sort each row, drop its duplicates, and close the gaps inside each bucket.

    Row r lies at ``row_end[r - 1]`` to ``row_end[r]``. Afterwards the rows of a bucket stand one
    behind the other from where the bucket began to ``bucket_end``, each ``length[r]`` long.
    """
    claimed = shared_counter()
    arguments = (row_end, indices, length, bucket_end, longest, key_bits, claimed)
    in_parallel(_sort_buckets, n_threads, arguments)


@kernel
def bucket_rows(n_rows, first_row):
    """First row of each bucket, and the end."""
    for b in range(first_row.size):
        first_row[b] = min(_first_row(b), n_rows)


@kernel
def describe_rows(indptr, indices, hub, mean_degree, no_hub):
    """Fill the hub column and the mean degree of each word of rows.

    The hub of a row without neighbours is ``no_hub``, a vertex that is in no frontier.
    Returns how many rows there are up to the last with more neighbours than its hub.
    """
    n_long_rows = 0
    n_rows = indptr.size - 1
    hub[n_rows:] = no_hub
    total = np.zeros(mean_degree.size, np.float64)
    for row in range(n_rows):
        begin, end = np.int64(indptr[row]), np.int64(indptr[row + 1])
        hub[row] = indices[begin] if begin < end else no_hub
        total[row >> 6] += end - begin
        if end - begin > 1:
            n_long_rows = row + 1
    for w in range(mean_degree.size):
        mean_degree[w] = total[w] / max(1, min(64, n_rows - 64 * w))
    return n_long_rows
