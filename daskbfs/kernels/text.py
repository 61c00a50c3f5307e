"""Numbers out of text: lines of unsigned integers, parsed from bytes.

The buffer holds whole lines; the last one may lack its end, which is LF, CRLF or a lone CR. A line
whose first visible character is a comment sign is skipped, and so is an empty one.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from daskbfs.kernels.compiling import inlined, kernel, parallel_kernel

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

_LARGEST = 2**63 - 1


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
def _integer(text, at, end):
    """An integer at ``at``: its value, where it ends, and what is wrong with it."""
    value = np.int64(0)
    begin = at
    while at < end and ZERO <= text[at] <= NINE:
        digit = np.int64(text[at]) - ZERO
        if value > (_LARGEST - digit) // 10:
            return np.int64(0), at, TOO_LARGE
        value = value * 10 + digit
        at += 1
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
def _parse_lines(text, begin, end, comments, tag, base, heads, tails, place):
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
            if at < end and text[at] != NEWLINE:
                at = _skip_spaces(text, at, end)
                if _is_nan(text, at, end):
                    return n, NAN_WEIGHT, line
            heads[n] = head - base
            tails[n] = tail - base
            n += 1
        at = _next_line(text, at, end)
    return n, FINE, np.int64(-1)


@parallel_kernel
def parse_edges(text, cuts, comments, tag, base, heads, tails, places, counts, errors, lines):
    """Parse each part of a text, from ``cuts[i]`` to ``cuts[i + 1]``, into its own place.

    ``tag`` is the character that edge lines begin with, 0 for none; ``base`` the smallest id.
    """
    for i in prange(cuts.size - 1):
        n, error, line = _parse_lines(
            text, cuts[i], cuts[i + 1], comments, tag, base, heads, tails, places[i]
        )
        counts[i] = n - places[i]
        errors[i] = error
        lines[i] = line


@kernel
def parse_integers(text, comments, numbers, rows, first_row):
    """All integers of a text, and the row that each stands in; empty lines are rows, comments not.

    Returns how many integers there are, the next row, an error and its place.
    """
    at = 0
    end = text.size
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


@kernel
def format_edges(heads, tails, text):
    """Write edges as lines of two integers; returns how many bytes."""
    at = 0
    for i in range(heads.size):
        at = _write_integer(text, at, heads[i])
        text[at] = SPACE
        at = _write_integer(text, at + 1, tails[i])
        text[at] = NEWLINE
        at += 1
    return at
