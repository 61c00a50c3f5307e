"""Tables as HTML, for notebooks and reports."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def html_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], words: Iterable[int] = ()
) -> str:
    """A table for a notebook or a report; whatever looks like HTML in it stays text."""
    left = set(words)

    def line(tag: str, row: Sequence[str]) -> str:
        cells = (
            f'<{tag} style="text-align:{"left" if i in left else "right"}">'
            f"{html.escape(str(cell))}</{tag}>"
            for i, cell in enumerate(row)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', header)}</thead><tbody>{body}</tbody></table>"
