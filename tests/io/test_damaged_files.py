"""Files that are damaged, or break the rules of their format, are refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

import daskbfs
from tests.support.samples import KONECT, MTX, written


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "0 1\n1 x\n", r"a.txt, line 2: '1 x' is not an edge: two vertex ids"),
        ("a.txt", "0 1\n\n# c\n7\n", r"a.txt, line 4: '7' has too few columns"),
        ("a.txt", "0 1\n-1 2\n", r"line 2: '-1 2' has a vertex id below 0"),
        ("a.txt", "0 1.5\n", r"line 1: '0 1.5' is not an edge"),
        ("a.txt", f"0 {2**63}\n", r"line 1: .* has a vertex id beyond 2\*\*63 - 1"),
        ("a.txt", f"{2**64} 5\n", r"line 1: .* has a vertex id beyond 2\*\*63 - 1"),
        ("a.txt", f"00{2**65} 5\n", r"line 1: .* has a vertex id beyond 2\*\*63 - 1"),
        ("a.mtx", MTX + "9" * 5000 + " 2 1\n1 2\n", "a.mtx, line 2: sizes must be"),
        ("a.graph", f"3 2 011 {10**20}\n", "a.graph, line 1: a METIS file begins"),
        ("a.graph", "3 5\n2\n1 3\n2\n", "a.graph lists 2 edges, but its header says 5"),
        ("a.mtx", MTX + f"{10**15} {10**15} 1\n1 2\n", "a.mtx: a graph of .* is too large"),
        (
            "a.sg",
            b"\x01"
            + np.array([2, 3, 0, 2**62, -(2**63) + 5, 2], np.int64).tobytes()
            + bytes(8)
            + bytes(40),
            "a.sg: offsets must rise from 0 to 2",
        ),
        ("a.wel", "0 1 2\n1 2 nan\n", r"line 2: '1 2 nan' has the weight nan"),
        ("a.wel", "0 1 -nan\n", r"line 1: '0 1 -nan' has the weight nan"),
        ("a.wel", "0 1 +NaN 7\r\n", r"line 1: '0 1 \+NaN 7' has the weight nan"),
        ("a.wel", "0 1 2\r1 2 NAN", r"line 2: '1 2 NAN' has the weight nan"),
        ("a.gr", "p sp 3 1\na 1 2 nan\n", r"line 2: 'a 1 2 nan' has the weight nan"),
        ("a.txt", "# c\r\n0 1\r\r\n1 x\r2 3\r", r"a.txt, line 4: '1 x' is not an edge"),
        ("a.gr", "c\rp sp 3 1\rb 1 2 3\r", r"line 3: 'b 1 2 3' is not an arc"),
        ("a.txt", b"\x00\xff\x00\n", r"line 1: .* is not an edge"),
        ("a.gr", "a 1 2 3\n", r"a.gr, line 1: the first line .* must be 'p sp VERTICES ARCS'"),
        ("a.gr", "c only\n", "has no line 'p sp VERTICES ARCS'"),
        ("a.gr", "p sp 3 2\na 1 2 3\n", "holds 1 edges but its header says 2"),
        ("a.gr", "p sp 3 1\nb 1 2 3\n", r"line 2: 'b 1 2 3' is not an arc"),
        ("a.gr", "p sp 3 1\na 0 2 3\n", r"line 2: .* has a vertex id below 1"),
        ("a.gr", "p sp 3 1\na 1 4 3\n", r"a.gr, line 2: 'a 1 4 3' has a vertex id beyond 3"),
        ("a.mtx", "1 2\n", r"a.mtx, line 1: a Matrix Market file begins with"),
        ("a.mtx", MTX.replace("coordinate", "array") + "2 2\n", "'array': only coordinate"),
        ("a.mtx", MTX.replace("general", "odd") + "2 2 1\n1 2\n", "line 1: 'pattern' 'odd' is not"),
        ("a.mtx", MTX + "2 3 1\n1 2\n", "is 2 x 3: a graph's matrix is square"),
        ("a.mtx", MTX + "2 2\n1 2\n", "line 2: sizes must be 'ROWS COLUMNS ENTRIES'"),
        ("a.mtx", MTX, "ends before its sizes"),
        ("a.mtx", MTX + "2 2 5\n1 2\n", "holds 1 edges but its header says 5"),
        ("a.mtx", MTX + "2 2 1\n1 9\n", r"a.mtx, line 3: '1 9' has a vertex id beyond 2, the"),
        ("a.mtx", MTX + f"2 2 {10**15}\n1 2\n", "needs about .* are free"),
        ("a.graph", "", "is empty: a METIS file begins with"),
        ("a.graph", "x y\n", "line 1: a METIS file begins with"),
        ("a.graph", "2 1 7\n2\n1\n", "format '007' is not made of 0s and 1s"),
        ("a.graph", "2 1\n2\n3\n", "vertex 2 has the neighbour 3: vertices are 1 to 2"),
        ("a.graph", "3 1\n2\n", "has 1 lines for 3 vertices"),
        ("a.graph", "2 1\n2\n1\n1\n", "has more than 2 lines"),
        ("a.graph", "3 2\n2\n1\n2\n", "a.graph .* 1 arcs upwards and 2 downwards"),
        ("a.graph", "3 1\n2\n1 3\n2\n", "a.graph lists 2 edges, but its header says 1"),
        ("a.graph", "4 2\n2\n\n\n3\n", "a.graph .* each edge must be there both ways"),
        ("a.graph", "2 1\n9\n1\n", "vertex 1 has the neighbour 9: vertices are 1 to 2"),
        ("a.graph", "2 1\n2\n0\n", "vertex 2 has the neighbour 0: vertices are 1 to 2"),
        ("a.graph", "2 1\n2\n1 z\n", "a.graph, line 3: '1 z' is not a list of neighbours"),
        ("a.sg", b"\x00\x01", "is no GAP graph"),
        ("a.sg", b"\x07" + bytes(40), "is no GAP graph"),
        ("a.sg", b"\x00" + np.array([2, 2**40, 0], np.int64).tobytes(), "is no GAP graph"),
        ("a.sg", b"\x00" + np.array([10**6, 3, 0], np.int64).tobytes(), "cut short"),
        ("a.sg", b"\x00" + np.array([2, 2, 0, 5, 2, 1], np.int64).tobytes(), "offsets must rise"),
        ("a.xyz", "0 1\n", "a.xyz: the suffix tells no format"),
        ("a", "0 1\n", "the suffix tells no format"),
        ("out.a", "1 2\n", r"out.a, line 1: a KONECT file begins with '% sym'"),
        ("out.a", "", r"out.a, line 1: a KONECT file begins"),
        ("out.a", KONECT + "1 2\n0 1\n", r"out.a, line 3: '0 1' has a vertex id below 1"),
        ("out.a", KONECT + "1 x\n", r"out.a, line 2: '1 x' is not an edge"),
        ("out.a", KONECT + "% 1 2 2\n1 9\n", r"out.a, line 3: '1 9' has a vertex id beyond 2"),
        ("out.a", f"{KONECT}% 1 {10**15} 2\n1 2\n", r"too large: at most|needs about"),
        ("out.a", "% bip x\n% 1 1 2\n2 1\n", "vertex 2 on the left side, but its second line"),
        ("a.csv", "", r"a.csv is empty: its first line names the columns"),
        ("a.csv", "source,target\n0,1\n1,x\n", r"a.csv, line 3: .*invalid value 'x'"),
        ("a.csv", "source,target\n0,1\n1\n", r"a.csv, line 3: .*Expected 2 columns, got 1"),
        ("a.csv", "source,target\n0,\n", r"a.csv: column 'target' has no value in line 2"),
        ("a.csv", "source,target\n0,1.5\n", r"a.csv, line 2: .*invalid value '1.5'"),
        ("a.csv", f"source,target\n0,{2**63}\n", r"a.csv, line 2: .*invalid value"),
        ("a.parquet", b"PAR1 but no more", r"a.parquet: .*"),
        ("a.parquet", b"", r"a.parquet: .*"),
        ("a.npz", b"PK\x03\x04 no zip", r"a.npz is damaged or cut short"),
        ("a.npz", b"", r"a.npz is damaged or cut short"),
        ("a.npy", b"\x93NUMPY", r"a.npy .*"),
        ("a.npy", b"nothing", r"a.npy .*"),
        ("a.wsg", b"\x05" * 40, "a.wsg is no GAP graph"),
        ("a.dbfs", b"", r"a.dbfs is no .dbfs file"),
        ("a.dbfs", b"x" * 100, r"a.dbfs is no .dbfs file"),
    ],
)
def test_damaged_files_get_one_clear_error(tmp_path, name, content, message):
    path = written(tmp_path, name, content)
    with pytest.raises((ValueError, MemoryError), match=message) as caught:
        daskbfs.read_graph(path)
    assert "\n" not in str(caught.value)
