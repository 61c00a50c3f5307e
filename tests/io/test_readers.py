from __future__ import annotations

import gzip
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskbfs
from daskbfs.graph.build import build_graph
from daskbfs.io import converter, metis, text
from daskbfs.io.export import exported_arcs
from daskbfs.io.location import Location
from daskbfs.io.spec import open_origin
from daskbfs.progress import silent
from tests.support.checks import check_rows
from tests.support.samples import MTX, TRIANGLE, written


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "0 1\n1 2\n2 0\n"),
        ("a.txt", "# FromNodeId\tToNodeId\n0\t1\n1\t2\n2\t0"),
        ("a.txt", "0 1\r\n1 2\r\n\r\n2 0\r\n"),
        ("a.txt", "% konect\n  0   1 \n\n1 2 17 2008\n2 0\n\n"),
        ("a.tsv", "0\t1\t0.5\n1\t2\t0.5\n2\t0\t-1e9\n"),
        ("a.el", "0 1\n1 2\n2 0\n"),
        ("a.wel", "0 1 3\n1 2 4\n2 0 5\n"),
        ("a.txt.gz", "# x\n0 1\n1 2\n2 0\n"),
        ("a.el.gz", "0 1\n1 2\n2 0\n"),
        ("a.TXT.GZ", "0 1\n1 2\n2 0\n"),
        ("a.txt", "# c\r0 1\r1 2\r\r2 0\r"),
        ("a.txt", "0 1\r\n1 2\r2 0\n"),
        ("a.txt", "0 1 north\n1 2 Nancy\n2 0 nano 1\n"),
        ("a.txt", "0 1 n\n1 2 -na\n2 0 na"),
    ],
)
def test_edge_lists(tmp_path, name, content):
    graph = daskbfs.read_graph(written(tmp_path, name, content))
    check_rows(graph, TRIANGLE)
    assert graph.name == name


ONE_BASED = [(1, 2), (2, 3), (3, 1)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.gr", "c hello\np sp 4 3\na 1 2 7\na 2 3 7\nc x\na 3 1 7\n"),
        ("a.gr.gz", "p sp 4 3\na 1 2 7\na 2 3 7\na 3 1 7\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n% c\n4 4 3\n1 2\n2 3\n3 1\n"),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real symmetric\n4 4 3\n2 1 1\n3 2 .5\n3 1 1e3\n",
        ),
        ("a.graph", "4 3\n2 3\n1 3\n2 1\n\n"),
        ("a.graph", "% c\n4 3\n2 3\n% in between\n1 3\n2 1"),
        ("a.graph", "4 3 1\n2 9 3 9\n1 9 3 9\n2 9 1 9\n\n"),
        ("a.graph", "4 3 011 2\n5 6 2 9 3 9\n5 6 1 9 3 9\n5 6 2 9 1 9\n5 6\n"),
        ("a.graph.gz", "4 3 10\n5 2 3\n5 1 3\n5 2 1\n5\n"),
        ("a.gr", "c hello\rp sp 4 3\ra 1 2 7\ra 2 3 7\rc x\ra 3 1 7\r"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\r4 4 3\r1 2\r2 3\r3 1\r"),
        ("a.graph", "4 3\r2 3\r1 3\r2 1\r\r"),
        ("a.graph", "% c\r\n4 3\r\n2 3\r\n% in between\r\n1 3\r\n2 1\r\n\r\n"),
    ],
)
def test_formats_that_count_from_one_keep_their_ids(tmp_path, name, content):
    graph = daskbfs.read_graph(written(tmp_path, name, content))
    check_rows(graph, ONE_BASED)
    assert graph.vertices.tolist() == [1, 2, 3, 4]
    result = daskbfs.bfs(graph, 1)
    assert result.parent.tolist() == [1, 1, 1, -1]
    with pytest.raises(ValueError, match="source 0 is not in the graph: vertices are 1 to 4"):
        daskbfs.bfs(graph, 0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", ["g.sg", "g.el", "g.txt.gz", "g.g500", "g.g500u"])
def test_what_is_written_reads_back(tmp_path, name, directed, seed):
    edges = np.random.default_rng(seed).integers(0, 500, size=(2000, 2))
    edges = np.append(edges, [[499, 0]], axis=0)
    graph = daskbfs.from_edges(edges, directed=directed)
    daskbfs.write_graph(graph, tmp_path / name)
    again = daskbfs.read_graph(
        tmp_path / name, directed=True if name != "g.sg" and directed else None
    )
    assert again.directed == directed
    assert again.n_vertices == graph.n_vertices
    check_rows(again, edges)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_graph500_files_have_the_bytes_of_the_reference_code(tmp_path):
    edges = [(0, 5), (5, 5), (0, 5), (2**40 + 3, 1)]
    graph = daskbfs.from_edges(edges)
    daskbfs.write_graph(graph, tmp_path / "g.g500")
    packed = np.fromfile(tmp_path / "g.g500", "<u4").reshape(-1, 3).tolist()
    assert packed == [[0, 5, 0], [1, 3, 256 << 16]]
    daskbfs.write_graph(graph, tmp_path / "g.g500u")
    assert np.fromfile(tmp_path / "g.g500u", "<i8").tolist() == [0, 5, 1, 2**40 + 3]
    for name in ("g.g500", "g.g500u"):
        again = daskbfs.read_graph(tmp_path / name)
        assert again.vertices.tolist() == [0, 1, 5, 2**40 + 3]
        assert again.n_edges == 2


def test_graph500_files_keep_the_input_edges_of_whatever_is_converted(tmp_path):
    text = written(tmp_path, "a.gr", "p sp 4 4\na 1 2 7\na 2 1 7\na 3 3 1\na 2 1 7\n")
    converter(tmp_path / "a.g500")(open_origin(text), silent)
    edges = np.fromfile(tmp_path / "a.g500", "<u4").reshape(-1, 3)
    assert edges[:, :2].tolist() == [[1, 2], [2, 1], [3, 3], [2, 1]]
    again = daskbfs.read_graph(tmp_path / "a.g500")
    assert (again.n_input_edges, again.n_edges) == (4, 1)


@pytest.mark.parametrize("name", ["b.g500", "b.g500u"])
def test_whatever_can_be_read_becomes_a_graph500_file(tmp_path, name):
    daskbfs.write_graph(daskbfs.from_edges(TRIANGLE), tmp_path / "a.sg")
    for source in (tmp_path / "a.sg", written(tmp_path, "a.txt", "0 1\n1 2\n2 0\n")):
        told = converter(tmp_path / name)(open_origin(source), silent)
        assert told.endswith(": 3 edges")
        check_rows(daskbfs.read_graph(tmp_path / name), TRIANGLE)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.g500", b"x" * 25, "25 bytes, which is no multiple of an edge's 12: .* or unpacked"),
        ("a.g500u", b"x" * 24, "24 bytes, which is no multiple of an edge's 16: .* or packed"),
        ("a.g500", b"\xff" * 12, "vertex id -1"),
        ("a.g500u", b"\xff" * 16, "vertex id -1"),
        ("a.g500.gz", b"", "graph500 files are read where they lie"),
    ],
)
def test_damaged_graph500_files(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        daskbfs.read_graph(written(tmp_path, name, content))


def test_ids_that_do_not_fit_a_packed_edge_leave_no_file(tmp_path):
    with pytest.raises(ValueError, match=r"vertex 2\d+ does not fit the 48 bits .* \(\.g500u\)"):
        daskbfs.write_graph(daskbfs.from_edges([(0, 2**61)]), tmp_path / "g.g500")
    assert not list(tmp_path.iterdir())


def test_a_gap_file_has_the_bytes_that_gap_writes(tmp_path):
    daskbfs.write_graph(daskbfs.from_edges([(0, 2), (2, 1)]), tmp_path / "g.sg")
    raw = (tmp_path / "g.sg").read_bytes()
    assert raw[0] == 0
    assert np.frombuffer(raw, np.int64, 6, 1).tolist() == [4, 3, 0, 1, 2, 4]
    assert np.frombuffer(raw, np.int32, 4, 49).tolist() == [2, 2, 0, 1]
    daskbfs.write_graph(daskbfs.from_edges([(0, 2), (2, 1)], directed=True), tmp_path / "d.sg")
    raw = (tmp_path / "d.sg").read_bytes()
    assert raw[0] == 1
    assert np.frombuffer(raw, np.int64, 6, 1).tolist() == [2, 3, 0, 1, 1, 2]
    assert np.frombuffer(raw, np.int32, 2, 49).tolist() == [2, 1]
    assert np.frombuffer(raw, np.int64, 4, 57).tolist() == [0, 0, 1, 2]
    assert np.frombuffer(raw, np.int32, 2, 89).tolist() == [2, 0]


@pytest.mark.parametrize("name", ["g.el.gz", "g.txt.gz", "g.EL.GZ"])
def test_text_is_gzipped_when_the_name_says_so(tmp_path, name):
    daskbfs.write_graph(daskbfs.from_edges([(0, 2), (2, 1)]), tmp_path / name)
    assert gzip.decompress((tmp_path / name).read_bytes()) == b"0 2\n1 2\n"


def test_gap_files_are_not_gzipped(tmp_path):
    graph = daskbfs.from_edges([(0, 1)])
    daskbfs.write_graph(graph, tmp_path / "g.sg")
    zipped = written(tmp_path, "g.sg.gz", (tmp_path / "g.sg").read_bytes())
    with pytest.raises(ValueError, match=r"g.sg.gz: gap files are .* decompress it first"):
        daskbfs.read_graph(zipped)
    with pytest.raises(ValueError, match=r"h.sg.gz: gap files are .* leave '.gz' off"):
        daskbfs.write_graph(graph, tmp_path / "h.sg.gz")
    with pytest.raises(ValueError, match=r"h.gz: gap files are read where they lie"):
        daskbfs.write_graph(graph, tmp_path / "h.gz", format="gap")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.sg", "g.sg.gz"]


def test_vertices_beyond_int32_are_exported_whole():
    graph = daskbfs.from_edges([(0, 1)])
    graph.original_index[:2] += np.uint32(3 * 10**9)
    ((_, tails),) = exported_arcs(graph, graph.out, silent)
    assert tails.tolist() == [3 * 10**9 + 1, 3 * 10**9]


def test_undirected_files_read_as_directed_have_arcs_both_ways(tmp_path):
    daskbfs.write_graph(daskbfs.from_edges(TRIANGLE), tmp_path / "g.sg")
    symmetric = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 2\n3 1\n"
    paths = [
        tmp_path / "g.sg",
        written(tmp_path, "a.mtx", symmetric),
        written(tmp_path, "a.graph", "3 3\n2 3\n1 3\n2 1\n"),
    ]
    for path in paths:
        assert daskbfs.read_graph(path, directed=True).n_arcs == 6
        assert daskbfs.read_graph(path).n_input_edges == 3
    general = symmetric.replace("symmetric", "general")
    assert daskbfs.read_graph(written(tmp_path, "b.mtx", general), directed=True).n_arcs == 3


def test_sparse_ids_survive_an_edge_list_but_not_a_gap_file(tmp_path):
    graph = daskbfs.read_graph(written(tmp_path, "a.txt", f"5 {10**18}\n{10**18} 7\n"))
    daskbfs.write_graph(graph, tmp_path / "b.el")
    assert (tmp_path / "b.el").read_text() == f"5 {10**18}\n7 {10**18}\n"
    with pytest.raises(ValueError, match=r"has sparse vertex ids.*write an edge list"):
        daskbfs.write_graph(graph, tmp_path / "b.sg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.el"]


@given(
    edges=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=60),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    gap=st.sampled_from([" ", "\t", "   ", ",", " \t"]),
    piece=st.sampled_from([7, 40, 2**24]),
)
def test_edge_lists_parse_the_same_in_pieces_of_any_size(
    tmp_path_factory, edges, ending, gap, piece
):
    path = tmp_path_factory.mktemp("pieces") / "a.txt"
    path.write_bytes(("# c" + ending + "".join(f"{u}{gap}{v}{ending}" for u, v in edges)).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_READ_BYTES", piece)
        stream = text.TextEdges(Location.of(path), comments=b"#")
        parsed = [(int(u), int(v)) for h, t in stream.blocks() for u, v in zip(h, t, strict=True)]
    assert parsed == edges


@given(
    rows=st.lists(st.lists(st.integers(1, 40), max_size=5), min_size=40, max_size=40),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
    piece=st.sampled_from([1, 7, 40, 2**24]),
)
def test_metis_rows_are_the_same_in_pieces_of_any_size(tmp_path_factory, rows, ending, piece):
    path = tmp_path_factory.mktemp("pieces") / "a.graph"
    edges = {(min(u, v), max(u, v)) for u, row in enumerate(rows, 1) for v in row if u != v}
    both = [sorted(sum(e) - u for e in edges if u in e) for u in range(1, 41)]
    lines = [f"40 {len(edges)}", "% c", *(" ".join(map(str, row)) for row in both)]
    path.write_bytes("".join(line + ending for line in lines).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_READ_BYTES", piece)
        stream, _ = metis.open_edges(Location.of(path))
        parsed = {
            (int(v) + 1, int(u) + 1) for b in stream.blocks() for u, v in zip(*b, strict=True)
        }
    assert parsed == edges


def gap_bytes(directed, *rows):
    """Bytes of a GAP file of so many rows; without the inverse."""
    tails = [v for row in rows for v in row]
    numbers = [len(tails), len(rows), *np.cumsum([0, *map(len, rows)])]
    return (
        bytes([directed])
        + np.array(numbers, np.int64).tobytes()
        + np.array(tails, np.int32).tobytes()
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([1], []), "a.sg .* 1 arcs upwards and 0 downwards are not the same edges"),
        (([1], [], [], [2]), "a.sg .* each edge must be there both ways"),
        (([1, 1], [0, 2], [0]), "a.sg .* each edge must be there both ways"),
        (([2], [0]), "a.sg: vertex 0 has the neighbour 2: vertices are 0 to 1"),
        (([1], [-1]), "a.sg: vertex 1 has the neighbour -1: vertices are 0 to 1"),
    ],
)
def test_an_asymmetric_undirected_gap_file_is_refused(tmp_path, rows, message):
    path = written(tmp_path, "a.sg", gap_bytes(False, *rows))
    for directed in (None, True):
        with pytest.raises(ValueError, match=message):
            daskbfs.read_graph(path, directed=directed)


def test_symmetry_is_told_over_many_blocks(tmp_path, monkeypatch):
    edges = np.random.default_rng(1).integers(0, 90, size=(500, 2))
    daskbfs.write_graph(daskbfs.from_edges(edges), tmp_path / "g.sg")
    monkeypatch.setattr("daskbfs.io.gap.BLOCK_EDGES", 70)
    check_rows(daskbfs.read_graph(tmp_path / "g.sg"), edges)


def test_duplicates_and_loops_of_an_undirected_gap_file_are_fine(tmp_path):
    path = written(tmp_path, "a.sg", gap_bytes(False, [0, 1, 1], [0, 0]))
    graph = daskbfs.read_graph(path)
    assert (graph.n_edges, graph.n_input_edges) == (1, 3)


def test_a_gap_file_with_ids_out_of_range_is_refused(tmp_path):
    raw = gap_bytes(True, [9], []) + gap_bytes(True, [], [0])[17:]
    with pytest.raises(ValueError, match="vertex 9 is out of range"):
        daskbfs.read_graph(written(tmp_path, "a.sg", raw))


@pytest.mark.parametrize("cut", [5, 30, -5])
def test_a_truncated_gzip_file_is_refused(tmp_path, cut):
    path = written(tmp_path, "a.txt.gz", "".join(f"{i} {i * 7919 % 1000}\n" for i in range(1000)))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"a.txt.gz is damaged or cut short"):
        daskbfs.read_graph(path)
    path.write_bytes(b"not gzip at all")
    with pytest.raises(ValueError, match=r"a.txt.gz is damaged"):
        daskbfs.read_graph(path)


@pytest.mark.parametrize("cut", [5, 30, 4000])
@pytest.mark.parametrize(
    ("name", "begin"), [("a.mtx.gz", MTX + "%"), ("a.gr.gz", "c "), ("a.graph.gz", "%")]
)
def test_a_gzip_file_cut_in_its_header_is_refused(tmp_path, name, begin, cut):
    noise = np.random.default_rng(1).integers(0, 10**18, 2000)
    path = written(tmp_path, name, begin + " ".join(map(str, noise)))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=f"{name} is damaged or cut short"):
        daskbfs.read_graph(path)
    path.write_bytes(b"not gzip at all")
    with pytest.raises(ValueError, match=f"{name} is damaged"):
        daskbfs.read_graph(path)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(ValueError, match=r"a.txt is not a regular file"):
        daskbfs.read_graph(tmp_path / "a.txt")


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no.txt does not exist"):
        daskbfs.read_graph(tmp_path / "no.txt")
    (tmp_path / "d.txt").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        daskbfs.read_graph(tmp_path / "d.txt")


def test_the_format_can_be_told(tmp_path):
    path = written(tmp_path, "edges", "0 1\n")
    assert daskbfs.read_graph(path, format="edge-list").n_edges == 1
    with pytest.raises(ValueError, match="format 'x' is unknown: choose one of edge-list"):
        daskbfs.read_graph(path, format="x")
    with pytest.raises(ValueError, match=r"known are .txt"):
        daskbfs.write_graph(daskbfs.from_edges([(0, 1)]), tmp_path / "a.wsg")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = written(tmp_path, "a.sg", b"old")

    def interrupted(phase, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        daskbfs.write_graph(daskbfs.from_edges([(0, 1)]), path, progress=interrupted)
    assert path.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.sg"]


def test_a_file_can_only_be_written_where_one_can_stand(tmp_path):
    graph = daskbfs.from_edges([(0, 1)])
    with pytest.raises(FileNotFoundError, match=r"no/a.el: the folder .*no does not exist"):
        daskbfs.write_graph(graph, tmp_path / "no" / "a.el")
    (tmp_path / "d.el").mkdir()
    os.mkfifo(tmp_path / "p.el")
    for name in ("d.el", "p.el"):
        with pytest.raises(ValueError, match=f"{name} is there and is not a regular file"):
            daskbfs.write_graph(graph, tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.el", "p.el"]


def test_an_empty_edge_list_is_an_empty_graph(tmp_path):
    graph = daskbfs.read_graph(written(tmp_path, "a.txt", "# nothing\n"))
    assert (graph.n_vertices, graph.n_edges) == (0, 0)


def test_real_graphs_have_the_counts_of_their_index(data):
    lines = (data / "INDEX.tsv").read_text().splitlines()
    columns = lines[0].split("\t")
    where = columns.index("undirected_simple_edges")
    for line in lines[1:]:
        fields = line.split("\t")
        assert daskbfs.read_graph(data / fields[0]).n_edges == int(fields[where]), fields[0]


def test_real_graphs_read_as_directed_still_search_right(data):
    graph = daskbfs.read_graph(data / "wiki-Vote.txt.gz", directed=True)
    assert graph.n_edges == 103_689
    for source in graph.random_sources(5):
        levels = [daskbfs.bfs(graph, source, direction=d).level for d in ("top_down", "bottom_up")]
        assert np.array_equal(*levels)


def test_graphs_by_a_word(tmp_path):
    assert build_graph(open_origin("kron:6")).name == "kron:6"
    assert build_graph(open_origin("uniform:6", edgefactor=4)).n_input_edges == 256
    assert build_graph(open_origin(str(written(tmp_path, "a.txt", "0 1\n")))).n_edges == 1
    with pytest.raises(ValueError, match="after 'kron:' comes a scale"):
        open_origin("kron:x")
    with pytest.raises(ValueError, match="'kron:6' is undirected"):
        open_origin("kron:6", directed=True)
    path = str(written(tmp_path, "edges", "1 2\n"))
    assert build_graph(open_origin(path, format="edge-list")).n_edges == 1
    with pytest.raises(ValueError, match="'kron:6' is generated: only files have a format"):
        open_origin("kron:6", format="edge-list")
    with pytest.raises(TypeError, match=r"weights cannot be given: .* directed, format, columns"):
        open_origin("kron:6", weights=None)


def test_a_matrix_of_no_vertices_may_have_comments(tmp_path):
    path = tmp_path / "none.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n0 0 0\n% nothing\n")
    assert daskbfs.read_graph(path).n_vertices == 0
