"""Files of every format: what is written reads back, and what is damaged is refused."""

from __future__ import annotations

import bz2
import contextlib
import functools
import gzip
import http.server
import io
import itertools
import json
import lzma
import pickle
import threading
import time
import zipfile
import zlib
from pathlib import Path

import fsspec
import numpy as np
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from daskbfs import names
from daskbfs.cli import options as common
from daskbfs.graph.build import build_graph
from daskbfs.io import FORMATS, converter, formats, native
from daskbfs.io.spec import open_origin
from daskbfs.progress import silent
from tests.support.checks import check_rows
from tests.support.samples import KONECT, TRIANGLE, written

WRITTEN = {
    "dbfs": ".dbfs", "edge-list": ".el", "matrix-market": ".mtx", "dimacs": ".gr",
    "metis": ".graph", "csv": ".csv", "parquet": ".parquet", "npz": ".npz", "gap": ".sg",
    "graph500": ".g500", "graph500-unpacked": ".g500u",
}  # fmt: skip
TELL_DIRECTIONS = ("dbfs", "gap")
PACKERS = {".gz": None, ".bz2": bz2.decompress, ".xz": lzma.decompress, ".zst": zstd.decompress}


def random_edges(seed=0, n=300, m=1500):
    edges = np.random.default_rng(seed).integers(0, n, size=(m, 2))
    return np.append(edges, [[n - 1, 0]], axis=0)


def same_rows(one, other):
    """Two graphs with the same arrays, so that searches are the same to the bit."""
    for name in ("order", "original_index", "input_degree", "hub_vertex"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for way in ("out", "into"):
        for name in ("indptr", "indices", "hub", "mean_degree"):
            mine, its = (getattr(getattr(graph, way), name) for graph in (one, other))
            assert mine.dtype == its.dtype
            assert np.array_equal(mine, its), (way, name)


def test_the_command_line_names_the_formats_that_there_are():
    assert tuple(FORMATS) == names.FORMATS
    assert tuple(one.name for one in FORMATS.values() if one.can_write) == common.WRITTEN_FORMATS
    assert set(WRITTEN) == set(common.WRITTEN_FORMATS)


@pytest.mark.parametrize(
    ("name", "directed"),
    [
        ("metis", False),
        *itertools.product([one for one in WRITTEN if one != "metis"], (False, True)),
    ],
)
def test_what_is_written_in_any_format_reads_back(tmp_path, name, directed):
    edges = random_edges()
    graph = daskbfs.from_edges(edges, directed=directed)
    path = tmp_path / f"g{WRITTEN[name]}"
    daskbfs.write_graph(graph, path)
    wanted = True if directed and name not in TELL_DIRECTIONS else None
    again = daskbfs.read_graph(path, directed=wanted)
    assert again.directed == directed
    first = int(again.vertices[0])
    assert first == (1 if name in ("matrix-market", "dimacs", "metis") else 0)
    check_rows(again, edges + first)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_streams_tell_of_themselves_on_every_machine(tmp_path):
    for name, suffix in WRITTEN.items():
        path = tmp_path / f"g{suffix}"
        daskbfs.write_graph(daskbfs.from_edges(TRIANGLE), path)
        here = open_origin(path).stream
        for stream in (here, pickle.loads(pickle.dumps(here))):
            slow = name in ("edge-list", "matrix-market", "dimacs", "metis", "csv", "npz")
            assert (stream.slow, stream.seconds) == (slow, None), name
            assert stream.first_id == (name in ("matrix-market", "dimacs", "metis")), name


def test_a_directed_graph_is_no_metis_file(tmp_path):
    graph = daskbfs.from_edges([(0, 1)], directed=True)
    with pytest.raises(ValueError, match=r"edges is directed: METIS graphs are not"):
        daskbfs.write_graph(graph, tmp_path / "g.graph")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("suffix", [".el", ".mtx", ".gr", ".graph", ".csv"])
def test_text_is_packed_as_its_name_says(tmp_path, suffix, packing):
    edges = random_edges(1)
    path = tmp_path / f"g{suffix}{packing}"
    daskbfs.write_graph(daskbfs.from_edges(edges), path)
    again = daskbfs.read_graph(path)
    check_rows(again, edges + int(again.vertices[0]))
    if PACKERS[packing]:
        daskbfs.write_graph(daskbfs.from_edges(edges), tmp_path / f"g{suffix}")
        assert PACKERS[packing](path.read_bytes()) == (tmp_path / f"g{suffix}").read_bytes()
    raw = path.read_bytes()
    for damaged in (raw[: len(raw) // 2], raw[:3], b"not packed at all"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"g{suffix}{packing} is damaged or cut short"):
            daskbfs.read_graph(path)


def test_packed_text_without_its_suffix_is_known(tmp_path):
    for packing, pack in ((".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstd.compress)):
        path = written(tmp_path, "a.txt", pack(b"0 1\n"))
        with pytest.raises(
            ValueError, match=rf"a.txt is compressed: let its name end in '{packing}"
        ):
            daskbfs.read_graph(path)


def test_empty_graphs_and_isolated_vertices_survive(tmp_path):
    for name, suffix in WRITTEN.items():
        path = tmp_path / f"none{suffix}"
        daskbfs.write_graph(daskbfs.from_edges([]), path)
        assert daskbfs.read_graph(path).n_edges == 0, name
        path = tmp_path / f"lonely{suffix}"
        daskbfs.write_graph(daskbfs.from_edges([(0, 1)], n_vertices=5), path)
        again = daskbfs.read_graph(path)
        listed = "edges" in name or name in ("edge-list", "csv", "parquet", "graph500")
        listed = listed or name == "graph500-unpacked"
        assert again.n_vertices == (2 if listed else 5), name


def test_sparse_ids_go_where_ids_are_kept(tmp_path):
    graph = daskbfs.from_edges([(7_000_000_001, 42), (42, 99)])
    for name, suffix in WRITTEN.items():
        path = tmp_path / f"g{suffix}"
        if name in ("matrix-market", "dimacs", "metis", "npz", "gap"):
            with pytest.raises(ValueError, match=r"sparse vertex ids, up to 7000000001: the"):
                daskbfs.write_graph(graph, path)
            assert not path.exists()
        else:
            daskbfs.write_graph(graph, path)
            assert daskbfs.read_graph(path).vertices.tolist() == [42, 99, 7_000_000_001], name


@pytest.mark.parametrize("directed", [False, True])
def test_others_read_what_we_write(tmp_path, directed):
    edges = random_edges(2)
    graph = daskbfs.from_edges(edges, directed=directed)
    expected = daskbfs.to_scipy(graph)
    daskbfs.write_graph(graph, tmp_path / "g.mtx")
    daskbfs.write_graph(graph, tmp_path / "g.npz")
    for matrix in (scipy.io.mmread(tmp_path / "g.mtx"), scipy.sparse.load_npz(tmp_path / "g.npz")):
        assert (matrix.astype(bool) != expected.astype(bool)).nnz == 0
    daskbfs.write_graph(graph, tmp_path / "g.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "g.parquet")
    assert table.column_names == ["source", "target"]
    assert table.num_rows == graph.n_edges


@pytest.mark.parametrize("kind", ["coo", "csr", "csc"])
def test_matrices_that_scipy_saved(tmp_path, kind):
    matrix = scipy.sparse.random_array((40, 40), density=0.1, rng=1).asformat(kind)
    scipy.sparse.save_npz(tmp_path / "m.npz", matrix)
    edges = np.stack(matrix.tocoo().coords, axis=1)
    for directed in (False, True):
        graph = daskbfs.read_graph(tmp_path / "m.npz", directed=directed)
        assert graph.n_vertices == 40
        check_rows(graph, edges)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<i8", "<u4", ">i4"])
def test_arrays_that_numpy_saved(tmp_path, dtype, order):
    edges = random_edges(3)
    np.save(tmp_path / "e.npy", np.asarray(edges, dtype, order=order))
    check_rows(daskbfs.read_graph(tmp_path / "e.npy"), edges)
    np.savez(tmp_path / "e.npz", edges=np.asarray(edges, dtype))
    check_rows(daskbfs.read_graph(tmp_path / "e.npz"), edges)


def test_pickled_objects_are_never_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (print, ("executed",))

    for name, save in (("a.npy", np.save), ("a.npz", lambda f, a: np.savez(f, edges=a))):
        save(tmp_path / name, np.array([[Bomb(), Bomb()]], dtype=object))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), pytest.raises(ValueError, match=name):
            daskbfs.read_graph(tmp_path / name)
        assert not printed.getvalue()


@pytest.mark.parametrize(
    ("content", "edges", "directed", "vertices"),
    [
        (KONECT + "% 3 4 4\n1 2\n2 3\n3 1\n", [(1, 2), (2, 3), (3, 1)], False, 4),
        (KONECT + "1 2\n2 3 5 1200\n3 1\n", [(1, 2), (2, 3), (3, 1)], False, 3),
        ("% asym weighted\n1 2 7\n2\t1 8\n", [(1, 2), (2, 1)], True, 2),
        ("% bip unweighted\n% 3 2 3\n1 1\n1 3\n2 2\n", [(1, 3), (1, 5), (2, 4)], False, 5),
        ("% bip unweighted\n1 1\n1 3\n2 2\n", [(1, 3), (1, 5), (2, 4)], False, 5),
    ],
)
def test_konect(tmp_path, content, edges, directed, vertices):
    graph = daskbfs.read_graph(written(tmp_path, "out.network", content))
    assert (graph.directed, graph.n_vertices) == (directed, vertices)
    check_rows(graph, edges)
    again = daskbfs.read_graph(written(tmp_path, "out.network.gz", content))
    same_rows(graph, again)


@pytest.mark.parametrize(
    "heading", ["source,target,weight", "weight,SRC,dst", "u;v;x", "from\tto\tw"]
)
def test_tables_whose_headings_tell(tmp_path, heading):
    separator = next(mark for mark in ",;\t" if mark in heading)
    place = 1 if heading.startswith("weight") else 0
    rows = [[u, v] for u, v in TRIANGLE]
    for row in rows:
        row.insert(0 if place else 2, 9)
    text = "\n".join(separator.join(map(str, row)) for row in rows)
    path = written(tmp_path, "a.csv", f"{heading}\n{text}\n")
    check_rows(daskbfs.read_graph(path), TRIANGLE)


def test_tables_whose_columns_are_named(tmp_path):
    text = "follower,since,followed\n0,3,1\n1,3,2\n2,3,0\n"
    path = written(tmp_path, "a.csv", text)
    check_rows(daskbfs.read_graph(path, columns=("follower", "followed")), TRIANGLE)
    with pytest.raises(ValueError, match=r"a.csv has the columns 'follower', 'since', 'followed'"):
        daskbfs.read_graph(path)
    with pytest.raises(ValueError, match=r"a.csv has no column 'x': it has 'follower'"):
        daskbfs.read_graph(path, columns=("follower", "x"))
    with pytest.raises(ValueError, match=r"columns \('follower',\) are not two"):
        daskbfs.read_graph(path, columns=("follower",))
    with pytest.raises(ValueError, match=r"are for tables: a.txt is edge-list"):
        daskbfs.read_graph(written(tmp_path, "a.txt", "0 1\n"), columns=("a", "b"))


@pytest.mark.parametrize(
    "text",
    [
        "# who calls whom\n\nsource, target\n0, 1\n1, 2\n2, 0\n",
        '"source","a, b","target"\n0,9,1\n1,9,2\n2,9,0\n',
        'source,"x\ty",target\n0,9,1\n1,9,2\n2,9,0\n',
        "\ufeffsource,target\r\n0,1\r\n1,2\r\n2,0\r\n",
        "e,E\n0,1\n1,2\n2,0\n",
    ],
)
def test_headings_as_people_write_them(tmp_path, text):
    check_rows(daskbfs.read_graph(written(tmp_path, "a.csv", text)), TRIANGLE)


def test_two_columns_of_one_name_are_refused(tmp_path):
    text = "source,source\n0,1\n"
    with pytest.raises(ValueError, match=r"a.csv: columns 'source' and 'source' are not two"):
        daskbfs.read_graph(written(tmp_path, "a.csv", text))
    path = written(tmp_path, "a.csv", "source,target\n0,1\n")
    with pytest.raises(ValueError, match=r"a.csv: columns 'source' and 'source' are not two"):
        daskbfs.read_graph(path, columns=("source", "source"))


def test_a_csv_file_without_a_heading(tmp_path):
    check_rows(daskbfs.read_graph(written(tmp_path, "a.csv", "0,1\n1,2\n2,0\n")), TRIANGLE)
    check_rows(
        daskbfs.read_graph(written(tmp_path, "a.csv", "0,1,.5\n1,2,1e3\n2,0,-1\n")), TRIANGLE
    )


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    import dask.dataframe
    import pandas

    edges = random_edges(4)
    frame = pandas.DataFrame(edges, columns=["src", "dst"])
    dask.dataframe.from_pandas(frame, npartitions=3).to_parquet(tmp_path / "edges.parquet")
    (tmp_path / "edges.parquet" / "_SUCCESS").touch()
    assert (tmp_path / "edges.parquet").is_dir()
    check_rows(daskbfs.read_graph(tmp_path / "edges.parquet"), edges)


def parquet(folder, name, **columns):
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / name)
    return folder / name


def test_a_table_must_hold_integers(tmp_path):
    with pytest.raises(TypeError, match=r"a.parquet: column 'u' has the type string: vertex ids"):
        daskbfs.read_graph(parquet(tmp_path, "a.parquet", u=["x"], v=[1]))
    with pytest.raises(ValueError, match=r"a.parquet: column 'v' has no value in row 1, from 0 on"):
        daskbfs.read_graph(parquet(tmp_path, "a.parquet", u=[0, 1], v=[1, None]))
    with pytest.raises(ValueError, match=r"vertex id -3"):
        daskbfs.read_graph(parquet(tmp_path, "a.parquet", u=[0, -3], v=[1, 2]))


def weighted_gap_bytes(*rows):
    """Bytes of an undirected .wsg file of so many rows."""
    arcs = [(v, 5) for row in rows for v in row]
    numbers = [len(arcs), len(rows), *np.cumsum([0, *map(len, rows)])]
    return bytes(1) + np.array(numbers, "<i8").tobytes() + np.array(arcs, "<i4").tobytes()


def test_weighted_gap_files_lose_their_weights(tmp_path):
    path = written(tmp_path, "g.wsg", weighted_gap_bytes([1, 2], [0, 2], [1, 0]))
    check_rows(daskbfs.read_graph(path), TRIANGLE)
    with pytest.raises(ValueError, match=r"g.sg has .* or has weights \(.wsg\)"):
        daskbfs.read_graph(written(tmp_path, "g.sg", path.read_bytes()))
    daskbfs.write_graph(daskbfs.from_edges(TRIANGLE), path.with_suffix(".sg"))
    with pytest.raises(ValueError, match=r"h.wsg has .* or has no weights \(.sg\)"):
        daskbfs.read_graph(written(tmp_path, "h.wsg", path.with_suffix(".sg").read_bytes()))


def npy(shape, dtype="<i8", size=0):
    """A .npy file whose header promises what its bytes do not hold."""
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(size)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy((10**15, 2)), "10{15} edges take .*: it is damaged or cut short"),
        (npy((4, 2), size=63), "4 edges take .*: it is damaged"),
        (npy((4, 3), size=96), r"shape \(4, 3\): edges are integers of shape \(m, 2\)"),
        (npy((4, 2), "<f8", 64), r"an array of float64"),
        (npy((-4, 2)), "a.npy"),
        (npy((4, 2), "|O", 64), "a.npy"),
        (npy("__import__('os')"), "a.npy cannot be read"),
    ],
)
def test_headers_that_lie(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        daskbfs.read_graph(written(tmp_path, "a.npy", content))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"data": np.ones(3)}, "a.npz holds data: neither a matrix of scipy"),
        ({"edges": np.ones((3, 3), int)}, r"edges of shape \(3, 3\) are none"),
        ({"edges": np.ones((3, 2))}, "vertex ids have dtype float64"),
        (
            {
                "format": b"csr",
                "shape": (3, 3),
                "indptr": np.array([0, 2**62, 2**63 + 5, 2], np.uint64),
                "indices": [1, 2],
            },
            "indptr must rise from 0 to 2",  # differences of which would wrap
        ),
        (
            {"format": b"csr", "shape": (2, 2), "indptr": [0, 1, 1], "indices": [[1]]},
            r"a.npz: indices of shape \(1, 1\) has not one dimension",
        ),
        ({"format": b"csr", "shape": (2.5, 2.5)}, r"a matrix of shape \(2.5, 2.5\)"),
        ({"format": b"bsr", "shape": (2, 2)}, "in the format 'bsr': save it as csr first"),
        ({"format": b"csr", "shape": (2, 3)}, r"a matrix of shape \(2, 3\): a graph's is square"),
        (
            {"format": b"csr", "shape": (2, 2), "indptr": [0, 1, 9], "indices": [1]},
            "indptr must rise from 0 to 1",
        ),
        (
            {"format": b"csr", "shape": (2, 2), "indptr": [0, 1, 1], "indices": [7]},
            "a.npz: vertex 7 is out of range",
        ),
        (
            {"format": b"coo", "shape": (2, 2), "row": [0, 1], "col": [1]},
            "heads have 2 entries and tails 1",
        ),
    ],
)
def test_npz_files_that_are_no_graph(tmp_path, members, message):
    np.savez(tmp_path / "a.npz", **{name: np.asarray(value) for name, value in members.items()})
    with pytest.raises((ValueError, TypeError), match=message):
        daskbfs.read_graph(tmp_path / "a.npz")


@pytest.mark.parametrize("suffix", [s for s in WRITTEN.values() if s not in (".g500", ".g500u")])
@given(seed=st.integers(0, 2**32 - 1))
def test_no_damage_is_more_than_an_error(tmp_path_factory, suffix, seed):
    """Bytes flipped, cut off or put in: a graph or a plain error, never a crash."""
    rng = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("damage")
    path = folder / f"g{suffix}"
    daskbfs.write_graph(daskbfs.from_edges(random_edges(5, 30, 60)), path)
    raw = bytearray(path.read_bytes())
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, len(raw)))
        way = rng.integers(0, 3)
        if way == 0:
            raw[at] ^= 1 << int(rng.integers(0, 8))
        elif way == 1:
            del raw[at : at + int(rng.integers(1, 20))]
        else:
            raw[at:at] = rng.bytes(3)
        if not raw:
            break
    path.write_bytes(raw)
    with contextlib.suppress(ValueError, MemoryError, TypeError):
        graph = daskbfs.read_graph(path)
        if graph.n_rows:
            source = int(graph.random_sources(1)[0])
            daskbfs.validate(graph, source, daskbfs.bfs(graph, source).parent)


# the native format


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("ids", ["dense", "one-based", "sparse"])
def test_a_stored_graph_is_the_same_to_the_bit(tmp_path, ids, directed):
    edges = random_edges(6)
    if ids == "one-based":
        daskbfs.write_graph(daskbfs.from_edges(edges, directed=directed), tmp_path / "g.mtx")
        graph = daskbfs.read_graph(tmp_path / "g.mtx", directed=directed)
    else:
        graph = daskbfs.from_edges(edges * (10**9 if ids == "sparse" else 1), directed=directed)
    daskbfs.write_graph(graph, tmp_path / "g.dbfs")
    again = daskbfs.read_graph(tmp_path / "g.dbfs")
    same_rows(graph, again)
    assert again.directed == directed
    assert np.array_equal(again.vertices, graph.vertices)
    assert again.n_input_edges == graph.n_input_edges
    source = int(graph.random_sources(1)[0])
    mine, its = (daskbfs.bfs(one, source) for one in (graph, again))
    assert np.array_equal(mine.parent, its.parent)
    assert mine.edges == its.edges
    other = daskbfs.read_graph(tmp_path / "g.dbfs", directed=not directed)
    assert other.directed is not directed
    assert other.n_edges == (graph.n_edges * 2 if not directed else len({
        frozenset(edge) for edge in edges.tolist() if edge[0] != edge[1]
    }))  # fmt: skip


def test_a_stored_graph_is_mapped_and_opens_in_milliseconds(tmp_path):
    graph = daskbfs.kronecker(16)
    daskbfs.write_graph(graph, tmp_path / "g.dbfs")
    daskbfs.read_graph(tmp_path / "g.dbfs")  # kernels are loaded
    again, seconds = None, []
    for _ in range(5):
        start = time.perf_counter()
        again = daskbfs.read_graph(tmp_path / "g.dbfs")
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.05
    base = again.out.indices
    while getattr(base, "base", None) is not None and not isinstance(base, np.memmap):
        base = base.base
    assert "mmap" in type(base).__name__ + type(getattr(base, "base", None)).__name__
    again.out.indices[0] = 7  # private: a mistake of ours would not reach the file
    same_rows(daskbfs.read_graph(tmp_path / "g.dbfs"), graph)


def test_workers_map_a_stored_graph(tmp_path, on_the_cluster):
    graph = daskbfs.kronecker(12)
    daskbfs.write_graph(graph, tmp_path / "g.dbfs")
    source = int(graph.random_sources(1)[0])
    expected = daskbfs.bfs(graph, source, driver="direct")

    def mapped_files(path):
        return Path("/proc/self/maps").read_text().count(path)

    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        for n_partitions in (1, 2):
            placed = daskbfs.distribute(tmp_path / "g.dbfs", client, n_partitions=n_partitions)
            result = daskbfs.bfs(placed, source)
            assert np.array_equal(result.level, expected.level)
            daskbfs.validate(graph, source, result.parent)
            daskbfs.validate(placed.graph, source, result.parent)
            if n_partitions == 1:  # nothing was copied: the rows are those of the file
                (holder,) = placed.where()
                found = client.run(mapped_files, str(tmp_path / "g.dbfs"), workers=[holder])
                assert found[holder] > 0
            placed.release()


@pytest.mark.parametrize("part", range(0, 100, 4))
def test_every_part_of_a_stored_graph_is_checked(tmp_path, part):
    daskbfs.write_graph(daskbfs.kronecker(6), tmp_path / "g.dbfs")
    raw = bytearray((tmp_path / "g.dbfs").read_bytes())
    raw[len(raw) * part // 100] ^= 4
    (tmp_path / "g.dbfs").write_bytes(raw)
    with pytest.raises(ValueError, match=r"g.dbfs (is no .dbfs|has version|is damaged)"):
        daskbfs.read_graph(tmp_path / "g.dbfs")


def forge(path, array, value):
    """A stored graph with another array, and the sums that belong to it."""
    raw = bytearray(path.read_bytes())
    magic, version, length, _ = native._HEAD.unpack(raw[: native._HEAD.size])
    end = native._HEAD.size + length
    header = json.loads(raw[native._HEAD.size : end])
    kind, n, begin = header["arrays"][array]
    numbers = np.frombuffer(raw, kind, n, begin)
    numbers[n // 2] = value
    header["checksum"] = int(native.checksum(np.frombuffer(raw, np.uint64, offset=end), 0, 1))
    text = json.dumps(header).ljust(length).encode()
    raw[:end] = native._HEAD.pack(magic, version, length, zlib.crc32(text)) + text
    path.write_bytes(raw)


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("out.indices", 0xF0000000),
        ("out.indptr", 2**31),
        ("out.hub", 2**31),
        ("order", 2**31),
        ("original_index", 2**31),
        ("hub_vertex", 2**31),
        ("ids", 0),
    ],
)
def test_a_forged_graph_does_not_lead_kernels_astray(tmp_path, array, value):
    path = tmp_path / "g.dbfs"
    edges = random_edges(9) * (10**9 if array == "ids" else 1)
    daskbfs.write_graph(daskbfs.from_edges(edges), path)
    forge(path, "input_degree", 3)  # harmless, so the sums are right
    daskbfs.read_graph(path)
    forge(path, array, value)
    with pytest.raises(ValueError, match=r"g.dbfs is damaged: (its (rows|vertex ids)|\S+ leads)"):
        daskbfs.read_graph(path)


@pytest.mark.parametrize(
    "change",
    [
        {"n_long_rows": []},
        {"n_vertices": 64.0},
        {"locality": {}},
        {"locality": {"vertices": "no", "neighbours": "order"}},
        {"arrays": {}},
        {"arrays": 7},
        {"n_edges": -1},
    ],
    ids=str,
)
def test_a_header_that_makes_no_sense_is_refused(tmp_path, change):
    path = tmp_path / "g.dbfs"
    daskbfs.write_graph(daskbfs.kronecker(6), path)
    raw = bytearray(path.read_bytes())
    magic, version, length, _ = native._HEAD.unpack(raw[: native._HEAD.size])
    end = native._HEAD.size + length
    text = json.dumps(json.loads(raw[native._HEAD.size : end]) | change).ljust(length).encode()
    raw[:end] = native._HEAD.pack(magic, version, length, zlib.crc32(text)) + text
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"g.dbfs is damaged: its header"):
        daskbfs.read_graph(path)


@pytest.mark.parametrize("change", [-64, -1, 1, 64])
def test_a_stored_graph_has_its_size(tmp_path, change):
    daskbfs.write_graph(daskbfs.kronecker(6), tmp_path / "g.dbfs")
    raw = (tmp_path / "g.dbfs").read_bytes()
    (tmp_path / "g.dbfs").write_bytes(raw[:change] if change < 0 else raw + bytes(change))
    with pytest.raises(ValueError, match=r"g.dbfs has \d+ bytes and should have \d+"):
        daskbfs.read_graph(tmp_path / "g.dbfs")


def test_a_stored_graph_of_another_version_says_so(tmp_path):
    daskbfs.write_graph(daskbfs.kronecker(6), tmp_path / "g.dbfs")
    raw = bytearray((tmp_path / "g.dbfs").read_bytes())
    raw[8] = 9
    (tmp_path / "g.dbfs").write_bytes(raw)
    with pytest.raises(ValueError, match=r"has version 9 .* reads 1: convert the graph again"):
        daskbfs.read_graph(tmp_path / "g.dbfs")


def test_stored_graphs_are_converted_like_any_other(tmp_path):
    text = written(tmp_path, "a.txt", "0 1\n0 1\n1 2\n2 2\n")
    for name in ("a.dbfs", "b.el", "c.dbfs", "d.g500"):
        before = {"b.el": "a.dbfs", "c.dbfs": "b.el", "d.g500": "a.dbfs"}.get(name, text)
        converter(tmp_path / name)(open_origin(tmp_path / before), silent)
    assert (tmp_path / "b.el").read_text() == "0 1\n1 2\n"
    graph = build_graph(open_origin(tmp_path / "a.dbfs"))
    assert (graph.n_input_edges, graph.n_edges) == (4, 2)
    assert (tmp_path / "d.g500").stat().st_size == 2 * 12


# elsewhere


@pytest.fixture
def memory():
    """fsspec's file system in memory."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()


@pytest.mark.parametrize("suffix", [*WRITTEN.values(), ".el.zst"])
def test_files_elsewhere_are_read_and_written(memory, suffix):
    edges = random_edges(7)
    address = f"memory://graphs/g{suffix}"
    daskbfs.write_graph(daskbfs.from_edges(edges), address)
    again = daskbfs.read_graph(address)
    check_rows(again, edges + int(again.vertices[0]))
    assert again.name == f"g{suffix}"


def test_colons_in_a_name_are_no_protocol(tmp_path, monkeypatch):
    graph = daskbfs.from_edges(TRIANGLE)
    (tmp_path / "results").write_text("precious")
    monkeypatch.chdir(tmp_path)
    for name in (tmp_path / "results::march.el", "results::april.el"):
        daskbfs.write_graph(graph, name)
        check_rows(daskbfs.read_graph(name), TRIANGLE)
    assert (tmp_path / "results").read_text() == "precious"
    assert (tmp_path / "results::march.el").exists()


def test_a_file_in_an_archive_has_its_own_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("g.txt", "0 1\n1 2\n2 0\n")
    graph = daskbfs.read_graph(f"zip://g.txt::{tmp_path / 'a.zip'}")
    assert graph.name == "g.txt"
    check_rows(graph, TRIANGLE)


def test_lines_without_end_take_no_memory_without_end(tmp_path):
    endless = gzip.compress(b"1" * 2**26)
    for name in ("a.txt.gz", "a.mtx.gz", "a.gr.gz", "a.graph.gz", "out.a.gz", "a.csv.gz"):
        (tmp_path / name).write_bytes(endless)
        with pytest.raises(ValueError, match=rf"{name}, line 1: .*( KiB|16 MiB: it is no line)"):
            daskbfs.read_graph(tmp_path / name)


def test_mistakes_with_addresses(memory, tmp_path):
    with pytest.raises(TypeError, match=r"b'a.el' is no text: give a path or an address as a str"):
        daskbfs.read_graph(b"a.el")
    with pytest.raises(FileNotFoundError, match=r"memory://no.el does not exist, or cannot be"):
        daskbfs.read_graph("memory://no.el")
    with pytest.raises(ValueError, match=r"nosuch://a.el cannot be reached: .*nosuch"):
        daskbfs.read_graph("nosuch://a.el")
    with pytest.raises(ValueError, match="is on this machine: storage options are for addresses"):
        daskbfs.read_graph(written(tmp_path, "a.el", "0 1\n"), storage_options={"key": "x"})
    with memory.open("/bad.el", "wb") as file:
        file.write(b"0 1\n1 x\n")
    with pytest.raises(ValueError, match=r"bad.el, line 2: '1 x' is not an edge"):
        daskbfs.read_graph("memory://bad.el")
    with pytest.raises(RuntimeError, match="interrupted"):
        daskbfs.write_graph(daskbfs.kronecker(6), "memory://half.el", progress=_interrupt)
    assert not memory.exists("/half.el")


def _interrupt(phase, done, total):
    raise RuntimeError("interrupted")


@contextlib.contextmanager
def serve(folder):
    """A folder behind an HTTP server of this process."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
def test_workers_read_from_a_server(tmp_path, on_the_cluster):
    edges = random_edges(8)
    graph = daskbfs.from_edges(edges)
    daskbfs.write_graph(graph, tmp_path / "g.el.gz")
    with serve(tmp_path) as address:
        check_rows(daskbfs.read_graph(f"{address}/g.el.gz"), edges)
        with pytest.raises(FileNotFoundError, match=r"no.el does not exist"):
            daskbfs.read_graph(f"{address}/no.el")
        with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
            placed = daskbfs.distribute(f"{address}/g.el.gz", client, directed=True)
            assert placed.graph.directed
            result = daskbfs.bfs(placed, int(edges[0, 0]))
            daskbfs.validate(placed.graph, result.source, result.parent)


def test_reading_is_for_files():
    with pytest.raises(TypeError, match="directed say how to read a file"):
        daskbfs.distribute(daskbfs.kronecker(6), directed=True)
    with pytest.raises(ValueError, match="'kron:6' is generated: only files have a format and"):
        daskbfs.distribute("kron:6", columns=("a", "b"))


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    path = written(tmp_path, "a.csv", "0,1\n")
    with monkeypatch.context() as patch:
        patch.setitem(__import__("sys").modules, "pyarrow.csv", None)
        with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'daskbfs\[formats\]'"):
            daskbfs.read_graph(path)
    with monkeypatch.context() as patch:
        for module in ("compression.zstd", "backports.zstd"):
            patch.setitem(__import__("sys").modules, module, None)
        with pytest.raises(ImportError, match=r"\.zst files need Zstandard: pip install"):
            daskbfs.write_graph(daskbfs.from_edges([(0, 1)]), tmp_path / "a.el.zst")
    assert [found.name for found in tmp_path.iterdir()] == ["a.csv"]


def test_formats_know_their_suffixes():
    for suffix, one in formats._BY_SUFFIX.items():
        assert formats.format_of(f"x{suffix}", None) is one
        assert formats.format_of(f"X{suffix.upper()}", None) is one
    assert formats.format_of("out.dolphins", None).name == "konect"
    assert formats.format_of("out.dolphins.bz2", None).name == "konect"
