from __future__ import annotations

import contextlib
import importlib
import sys
import time

import numpy as np
import psutil
import pytest

from daskbfs import from_edges, validate
from daskbfs.bench.systems.baselines import Edges
from daskbfs.bench.systems.baselines.command import Command, written_files
from daskbfs.bench.systems.baselines.peers import PEERS, Peer
from daskbfs.graph.generators import random_origin
from daskbfs.io import read_graph
from tests.support.naive import levels


def edges_of(pairs, n_vertices):
    heads, tails = np.array(pairs, np.uint32).T
    return Edges(heads.copy(), tails.copy(), n_vertices)


def kronecker():
    """With duplicates, self-loops and isolated vertices, also at the end."""
    blocks = [np.stack(block, 1) for block in random_origin("kron", 8, 8, 3).stream.blocks()]
    return edges_of([*np.concatenate(blocks), (5, 5), (5, 6), (6, 5), (5, 6)], 300)


GRAPHS = {
    "kronecker": kronecker(),
    "path": edges_of([(v, v + 1) for v in range(39)], 40),
    "two components": edges_of([(0, 1), (1, 2), (2, 0), (4, 5), (5, 6)], 8),
    "one edge": edges_of([(1, 0)], 2),
}


ON_CPUS = [peer for peer in PEERS if peer.device == "cpu"]


def naive_levels(edges, source):
    level = np.full(edges.n_vertices, -1)
    for vertex, found in levels(zip(edges.heads, edges.tails, strict=True), source).items():
        level[vertex] = found
    return level


def sources_of(edges):
    return {0, int(edges.heads[-1]), edges.n_vertices - 1}


@pytest.mark.parametrize("edges", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("peer", ON_CPUS, ids=lambda peer: peer.name)
def test_every_peer_finds_a_tree_of_shortest_paths(peer, edges):
    assert peer.installed()
    check(peer, edges)


@pytest.mark.gpu
@pytest.mark.parametrize("edges", GRAPHS.values(), ids=GRAPHS)
def test_cugraph_finds_a_tree_of_shortest_paths(edges):
    (peer,) = (peer for peer in PEERS if peer.device == "gpu")
    if not peer.installed():
        pytest.skip("cuGraph is not installed: it needs a real GPU")
    check(peer, edges)


def check(peer, edges):
    made = peer.kernel1(edges)
    graph = from_edges((edges.heads, edges.tails), n_vertices=edges.n_vertices)
    for source in sources_of(edges):
        parent = peer.kernel2(made, source)
        assert parent.dtype == np.int64
        assert parent[source] == source
        np.testing.assert_array_equal(parent >= 0, naive_levels(edges, source) >= 0)
        assert parent.min() >= -1
        validate(graph, source, parent, naive_levels(edges, source))


def test_a_search_does_not_change_what_the_next_one_finds():
    edges = GRAPHS["kronecker"]
    for peer in ON_CPUS:
        made = peer.kernel1(edges)
        first = peer.kernel2(made, 5)
        peer.kernel2(made, edges.n_vertices - 1)
        np.testing.assert_array_equal(peer.kernel2(made, 5) >= 0, first >= 0)


def test_peers_tell_their_versions_and_whether_they_are_installed():
    known = {peer.name: peer for peer in PEERS}
    assert list(known) == ["scipy", "networkx", "networkit", "igraph", "graphblas", "cugraph"]
    for peer in ON_CPUS:
        assert peer.version() == importlib.import_module(peer.modules[0]).__version__
    absent = Peer("other", ("no_such_package",), ("no-such-package",), None, None)
    assert not absent.installed()
    assert absent.version() == "of unknown version"


GAP = """\
import sys, time, pathlib
file, source, trials = sys.argv[1:4]
assert pathlib.Path(file).stat().st_size
{before}
print("Read Time:           0.00814")
print("Build Time:          0.00475") if file.endswith(".el") else None
print("Graph has 4096 nodes and 48386 undirected edges for degree: 11")
for trial in range(int(trials)):
    print(f"Trial Time:          0.0{{int(source)}}598")
    print("Verification:          ", {verdict})
    print("Verification Time:   0.00001")
print("Average Time:        0.01598")
"""


@pytest.fixture
def program(tmp_path):
    """A command whose program prints what GAP prints, or fails in some way."""

    def make(before="", verdict="'PASS'", text=GAP, arguments="{graph} {source} {trials}"):
        file = tmp_path / "bfs program.py"
        file.write_text(text.format(before=before, verdict=verdict))
        return Command.parse(f"gap='{sys.executable}' '{file}' {arguments}")

    return make


def run(command, source=1, **options):
    with written_files(GRAPHS["kronecker"], [command]) as files:
        return command.run(files, source, **options)


def test_a_program_that_prints_as_gap_does_is_understood(program):
    found = run(program(), source=2, trials=3)
    assert found.source == 2
    assert found.trial_seconds == (0.02598,) * 3
    assert found.kernel1_seconds is None
    assert found.validated is True
    found = run(program(arguments="{edges} {source} 1"))
    assert found.trial_seconds == (0.01598,)
    assert found.kernel1_seconds == 0.00475


@pytest.mark.parametrize("verdict", ["'FAIL'", "'PASS' if trial else 'FAIL'"])
def test_one_failed_verification_is_enough(program, verdict):
    assert run(program(verdict=verdict), trials=3).validated is False


def test_without_verification_nobody_knows(program):
    silent = GAP.replace("Verification: ", "Nothing: ")
    assert run(program(text=silent)).validated is None


def test_files_hold_the_graph_and_the_input_edges_and_then_are_gone():
    edges = GRAPHS["kronecker"]
    both = Command.parse("both=x {graph} {edges} {source}")
    with written_files(edges, [both]) as files:
        graph = read_graph(files["graph"])
        assert not graph.directed
        assert graph.n_vertices == edges.n_vertices
        assert graph.n_edges == from_edges((edges.heads, edges.tails)).n_edges
        np.testing.assert_array_equal(
            np.loadtxt(files["edges"], np.uint32), np.stack([edges.heads, edges.tails], 1)
        )
    assert not files["graph"].parent.exists()
    with written_files(edges, [Command.parse("one=x {graph} {source}")]) as files:
        assert list(files) == ["graph"]


def test_peak_memory_is_the_programs_own(program):
    ours = bytearray(200 * 2**20)
    ours[:: 2**12] = b"x" * len(ours[:: 2**12])
    peak = run(program(before="held = bytearray(b'x') * 2**26; time.sleep(0.2)")).peak_bytes
    assert 2**26 < peak < 2**27


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("print('so far'); sys.exit('no such graph')", "exit code 1.*: no such graph"),
        ("print('odd file'); sys.exit(3)", "exit code 3.*: odd file"),
        ("sys.exit(0)", "printed no 'Trial Time:'.*: nothing"),
        ("import os; os.kill(os.getpid(), 11)", "signal SIGSEGV"),
    ],
)
def test_a_program_that_fails_is_told_with_its_last_words(program, before, said):
    with pytest.raises(RuntimeError, match=rf"peer gap: .*bfs program.py.* {said}"):
        run(program(before=before))


def test_a_program_that_hangs_is_killed_with_its_children(program, tmp_path):
    pid = tmp_path / "pid"
    hang = (
        "import subprocess; child = subprocess.Popen(['sleep', '60']); "
        f"pathlib.Path({str(pid)!r}).write_text(str(child.pid)); child.wait()"
    )
    begin, before = time.perf_counter(), psutil.Process().children()
    with pytest.raises(RuntimeError, match=r"was killed after 1\.5 seconds"):
        run(program(before=hang), timeout_seconds=1.5)
    assert time.perf_counter() - begin < 20
    assert set(psutil.Process().children()) <= set(before)
    assert is_gone(int(pid.read_text()))


def is_gone(pid):
    """Whether a process is dead, or will be soon."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for _ in range(100):
            if process.status() == psutil.STATUS_ZOMBIE:
                break
            time.sleep(0.05)
        else:
            return False
    return True


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(RuntimeError, match=r"peer gap: \./no-such-bfs is no program"):
        run(Command.parse("gap=./no-such-bfs {graph} {source}"))


def test_a_file_that_is_no_program_is_named(tmp_path):
    file = tmp_path / "bfs"
    file.write_text("no program")
    file.chmod(0o755)
    with pytest.raises(RuntimeError, match=r"peer gap: .*bfs .* cannot be started .*Exec format"):
        run(Command.parse(f"gap={file} {{graph}} {{source}}"))


def test_words_are_not_read_by_a_shell(program):
    arguments = "{graph} {source} 1 '$HOME; exit 4' '{{}}'"
    assert run(program(arguments=arguments)).validated


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("./bfs", "'./bfs' has no name or no command"),
        ("=./bfs {graph} {source}", "has no name or no command"),
        ("gap=", "has no name or no command"),
        ("gap=./bfs '{graph} {source}", "cannot be read .No closing quotation."),
        ("gap=./bfs {grpah} {source}", "{grpah} is not known"),
        ("gap=./bfs {graph}", "is not told what to search"),
        ("gap=./bfs {source}", "is not told what to search"),
    ],
)
def test_a_malformed_command_is_refused_with_an_example(text, said):
    with pytest.raises(ValueError, match=rf"{said}.*write NAME=CMD .*for example 'gap=") as told:
        Command.parse(text)
    assert repr(text) in str(told.value)
