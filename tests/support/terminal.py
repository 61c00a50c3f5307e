"""Commands in a terminal, and what stays on its screen."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


def in_a_terminal(words, columns, folder):
    """What a command of ours writes to a terminal of so many columns."""
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        [BIN / "daskbfs", *words], stdout=follower, stderr=follower, cwd=folder, env=environment
    )
    os.close(follower)
    written = b""
    try:
        while data := os.read(leader, 65536):
            written += data
    except OSError:  # Linux says so when the other end is closed
        pass
    os.close(leader)
    assert process.wait(timeout=60) == 0, written.decode()
    return written.decode()


def screen(text):
    """What stays of text with carriage returns, cursor moves and erasures."""
    lines, row, column = [""], 0, 0
    for token in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if token == "\r":
            column = 0
        elif token == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif token.startswith("\x1b["):
            if token.endswith("K"):
                lines[row] = lines[row][:column] if token != "\x1b[2K" else ""
            elif token.endswith("A"):
                row -= int(token[2:-1] or 1)
        else:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + token + line[column + len(token) :]
            column += len(token)
    return [line.rstrip() for line in lines]
