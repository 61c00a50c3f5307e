"""Numbers out of text: lines of unsigned integers, parsed from bytes.

The buffer holds whole lines, which end in LF, CRLF or a lone CR; behind the last one stands one
more LF, so that numbers end before the buffer does. A line whose first visible character is a
comment sign is skipped, and so is an empty one.
"""

from __future__ import annotations

import numpy as np

from daskbfs.kernels.compile import inlined, kernel
from daskbfs.kernels.thread_pool import in_parallel

NEWLINE, RETURN, SPACE, TAB, COMMA = ord("\n"), ord("\r"), ord(" "), ord("\t"), ord(",")
ZERO, NINE, MINUS, PLUS = ord("0"), ord("9"), ord("-"), ord("+")
LOWER_N, LOWER_A = ord("n"), ord("a")
LOWER_BIT = 32  # what sets small letters off from capitals

FINE = 0
NOT_A_NUMBER = 1
TOO_FEW_COLUMNS = 2
TOO_LARGE = 3
NEGATIVE = 4
NAN_WEIGHT = 5
BEYOND = 6
TOO_LONG = 7

_LARGEST = 2**63 - 1
_SAFE_DIGITS = 18
_ZERO = np.uint8(ZERO)


@inlined
def _is_space(c):
    return c == SPACE or c == TAB or c == COMMA


@inlined
def _is_end(c):
    return c == NEWLINE or c == RETURN


@inlined
def _skip_spaces(text, at, end):
    while at < end and _is_space(text[at]):
        at += 1
    return at


@inlined
def _no_digit(text, at, end):
    """What is wrong where a number should begin, but no digit stands."""
    if at >= end or _is_end(text[at]):
        return TOO_FEW_COLUMNS
    return NEGATIVE if text[at] == MINUS else NOT_A_NUMBER


@inlined
def _fits(text, begin, end):
    """Whether digits are a number up to 2**63 - 1; leading zeros do not count."""
    value = np.uint64(0)
    n_digits = 0
    for at in range(begin, end):
        digit = np.uint64(text[at] - _ZERO)
        value = value * np.uint64(10) + digit
        n_digits += n_digits > 0 or digit > 0
    return n_digits < 20 and value <= np.uint64(_LARGEST)


@inlined
def _integer(text, at, end):
    """An integer at ``at``: its value, where it ends, and what is wrong with it."""
    value = np.int64(0)
    begin = at
    digit = np.uint8(text[at] - _ZERO)  # whatever is no digit is large
    while digit <= 9:
        value = value * 10 + np.int64(digit)
        at += 1
        digit = np.uint8(text[at] - _ZERO)
    if at - begin > _SAFE_DIGITS and not _fits(text, begin, at):
        return np.int64(0), at, TOO_LARGE
    if at == begin:
        return np.int64(0), at, _no_digit(text, at, end)
    if at < end and not _is_space(text[at]) and not _is_end(text[at]):
        return np.int64(0), at, NOT_A_NUMBER
    return value, at, FINE


@inlined
def _next_line(text, at, end):
    """Where the line after that at ``at`` begins."""
    while at < end and text[at] != NEWLINE:
        at += 1
        if text[at - 1] == RETURN:
            return at + 1 if at < end and text[at] == NEWLINE else at
    return at + 1


@inlined
def _is_nan(text, at, end):
    """Whether the word at ``at`` is nan, in capitals or not, signed or not."""
    if at < end and (text[at] == MINUS or text[at] == PLUS):
        at += 1
    if (
        at + 3 > end
        or (text[at] | LOWER_BIT) != LOWER_N
        or (text[at + 1] | LOWER_BIT) != LOWER_A
        or (text[at + 2] | LOWER_BIT) != LOWER_N
    ):
        return False
    at += 3
    return at == end or _is_space(text[at]) or _is_end(text[at])


@inlined
def _is_comment(text, at, end, comments):
    """Whether the line at ``at``, a visible character, is empty or a comment."""
    if at >= end or _is_end(text[at]):
        return True
    for k in range(comments.size):
        if text[at] == comments[k]:
            return True
    return False


@inlined
def _parse_lines(text, begin, end, comments, tag, base, top, heads, tails, place):
    """Parse edges to ``place`` and beyond; returns where they end, an error, its place."""
    at = begin
    n = place
    while at < end:
        at = _skip_spaces(text, at, end)
        line = at
        if not _is_comment(text, at, end, comments):
            if tag != 0:
                if text[at] != tag:
                    return n, NOT_A_NUMBER, line
                at = _skip_spaces(text, at + 1, end)
            head, at, error = _integer(text, at, end)
            if error != FINE:
                return n, error, line
            at = _skip_spaces(text, at, end)
            tail, at, error = _integer(text, at, end)
            if error != FINE:
                return n, error, line
            if head < base or tail < base:
                return n, NEGATIVE, line
            if head > top or tail > top:
                return n, BEYOND, line
            if at < end and text[at] != NEWLINE:
                at = _skip_spaces(text, at, end)
                if _is_nan(text, at, end):
                    return n, NAN_WEIGHT, line
            heads[n] = head - base
            tails[n] = tail - base
            n += 1
        at = _next_line(text, at, end)
    return n, FINE, np.int64(-1)


@inlined
def _parse_part(
    part, n_parts, text, cuts, comments, tag, base, top, heads, tails, places, counts, errors, lines
):
    n, error, line = _parse_lines(
        text, cuts[part], cuts[part + 1], comments, tag, base, top, heads, tails, places[part]
    )
    counts[part] = n - places[part]
    errors[part] = error
    lines[part] = line


@kernel
def parse_edges(text, cuts, comments, tag, base, top, heads, tails, places, counts, errors, lines):
    """Parse each part of a text, from ``cuts[i]`` to ``cuts[i + 1]``, into its own place.

    ``tag`` is the character that edge lines begin with, 0 for none; ids are ``base`` to ``top``.
    """
    arguments = (text, cuts, comments, tag, base, top, heads, tails, places, counts, errors, lines)
    in_parallel(_parse_part, cuts.size - 1, arguments)


@kernel
def parse_integers(text, end, comments, numbers, rows, first_row):
    """All integers of a text, and the row that each stands in; empty lines are rows, comments not.

    Returns how many integers there are, the next row, an error and its place.
    """
    at = 0
    n = 0
    row = first_row
    while at < end:
        at = _skip_spaces(text, at, end)
        line = at
        if (at < end and _is_end(text[at])) or not _is_comment(text, at, end, comments):
            while at < end and not _is_end(text[at]):
                value, at, error = _integer(text, at, end)
                if error != FINE:
                    return n, row, error, line
                numbers[n] = value
                rows[n] = row
                n += 1
                at = _skip_spaces(text, at, end)
            row += 1
        at = _next_line(text, at, end)
    return n, row, FINE, np.int64(-1)


@inlined
def _write_integer(text, at, value):
    digits = 1
    rest = value
    while rest >= 10:
        rest //= 10
        digits += 1
    for k in range(at + digits - 1, at - 1, -1):
        text[k] = ZERO + value % 10
        value //= 10
    return at + digits


@inlined
def _write_bytes(text, at, these):
    for k in range(these.size):
        text[at + k] = these[k]
    return at + these.size


@kernel
def format_edges(heads, tails, base, before, between, after, text):
    """Write edges as lines; ids count from ``base`` on. Returns how many bytes."""
    at = 0
    for i in range(heads.size):
        at = _write_bytes(text, at, before)
        at = _write_integer(text, at, heads[i] + base)
        at = _write_bytes(text, at, between)
        at = _write_integer(text, at, tails[i] + base)
        at = _write_bytes(text, at, after)
    return at


@kernel
def format_rows(degree, neighbours, base, text):
    """Write the neighbours of each vertex on a line of its own; returns how many bytes."""
    at = 0
    e = 0
    for i in range(degree.size):
        for k in range(degree[i]):
            if k:
                text[at] = SPACE
                at += 1
            at = _write_integer(text, at, neighbours[e] + base)
            e += 1
        text[at] = NEWLINE
        at += 1
    return at
