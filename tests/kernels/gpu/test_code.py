"""The code that GPUs would get: every kernel compiles and assembles, and keeps to its registers.

That needs no GPU, and shows nothing about one: neither answers nor speed.
"""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass

import numba
import pytest
from cuda.bindings import nvjitlink
from numba import cuda, types

from daskbfs.kernels.gpu import bfs as gpu
from daskbfs.kernels.gpu import components as gpu_components
from daskbfs.kernels.gpu import emulator
from daskbfs.kernels.gpu import pagerank as gpu_pagerank
from daskbfs.partition.layout import lay_out
from daskbfs.partition.numbering import number
from tests.support.in_process import EMULATED, connected, ranked, search, search_mirrored

ARCHITECTURES = ((8, 0), (9, 0), (10, 0), (12, 0))

IDS = WORDS = types.uint32[::1]
COUNTS = PLACES = types.int64[::1]
FLAGS = types.int8[::1]
SCALAR = types.int64
INDPTR = "indptr"
PASSED_ON = "passed on"
KINDS = {
    INDPTR: {"uint32": types.uint32[::1], "int64": types.int64[::1]},
    PASSED_ON: {"float32": types.float32[::1], "float64": types.float64[::1]},
}
"""What indptr can be, wide where a partition has 2**32 arcs or more, and what ranks pass on."""
FLOAT, FLOATS = types.float64, types.float64[::1]

SIGNATURES = {
    "expand_rows": (
        INDPTR, IDS, SCALAR, IDS, SCALAR, IDS, IDS, WORDS, IDS, SCALAR, SCALAR, SCALAR, WORDS,
        COUNTS,
    ),
    "test_hubs": (IDS, IDS, IDS, WORDS, WORDS, WORDS, COUNTS),
    "search_rows": (
        INDPTR, IDS, SCALAR, IDS, IDS, WORDS, WORDS, WORDS, SCALAR, SCALAR, SCALAR, COUNTS,
    ),
    "scan_words": (WORDS, types.float32[::1], PLACES, COUNTS, types.float64[::1]),
    "write_vertices": (WORDS, PLACES, PLACES, IDS),
    "mark_vertices": (IDS, WORDS),
    "enter_rows": (WORDS, WORDS, IDS, COUNTS),
    "enter_vertices": (IDS, SCALAR, WORDS, IDS, COUNTS),
    "forget_rows": (IDS, WORDS),
    "adopt_parents": (IDS, IDS, SCALAR, IDS, COUNTS),
    "find_work": (WORDS, WORDS, PLACES, FLAGS),
    "search_rows_cached": (
        INDPTR, IDS, SCALAR, IDS, IDS, WORDS, WORDS, WORDS, SCALAR, SCALAR, SCALAR, COUNTS,
    ),
    "pull_rows": (INDPTR, IDS, SCALAR, PASSED_ON, SCALAR, SCALAR, SCALAR, FLOATS),
    "settle_ranks": (
        FLOATS, SCALAR, SCALAR, SCALAR, IDS, FLOAT, FLOAT, FLOATS, FLOATS, PASSED_ON, COUNTS,
    ),
    "hook_vertices": (IDS, IDS, SCALAR, IDS),
    "compress_vertices": (SCALAR, SCALAR, IDS),
    "link_arcs": (
        INDPTR, IDS, SCALAR, IDS, SCALAR, SCALAR, SCALAR, SCALAR, SCALAR, SCALAR, IDS, COUNTS,
    ),
}  # fmt: skip

MODULES = (gpu, gpu_pagerank, gpu_components)
KERNELS = {kernel.py_func.__name__: kernel for module in MODULES for kernel in module.KERNELS}
VARIANTS = [
    (name, kinds)
    for name, arguments in SIGNATURES.items()
    for kinds in itertools.product(*(KINDS[a] for a in arguments if a in KINDS))
]


@dataclass(frozen=True, slots=True)
class Assembled:
    """A kernel's machine code, and what the assembler tells of it."""

    cubin: bytes
    registers: int
    stack_bytes: int
    spilled_bytes: int


def arguments_of(name, kinds):
    chosen = iter(kinds)
    return tuple(KINDS[a][next(chosen)] if a in KINDS else a for a in SIGNATURES[name])


@functools.cache
def ptx_of(name, kinds, capability):
    """A kernel's PTX for GPUs of a compute capability."""
    ptx, _ = cuda.compile(
        KERNELS[name].py_func,
        types.void(*arguments_of(name, kinds)),
        cc=capability,
        device=False,
        abi="numba",
        output="ptx",
    )
    return ptx


@functools.cache
def assembled(name, kinds, capability):
    """A kernel's machine code for GPUs of a compute capability."""
    ptx = ptx_of(name, kinds, capability).encode()
    linker = nvjitlink.create(2, [f"-arch={architecture(capability)}", "-verbose"])
    try:
        nvjitlink.add_data(linker, nvjitlink.InputType.PTX, ptx, len(ptx), name)
        nvjitlink.complete(linker)
        log = bytearray(nvjitlink.get_info_log_size(linker))
        nvjitlink.get_info_log(linker, log)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(linker))
        nvjitlink.get_linked_cubin(linker, cubin)
    finally:
        nvjitlink.destroy(linker)
    return Assembled(bytes(cubin), *told(log.decode(), architecture(capability)))


def told(log, architecture):
    """Registers, stack and spills, from the assembler's log: of one kernel, on one architecture."""
    (registers,) = re.findall(r"ptxas info .*Used (\d+) registers", log)
    (frame,) = re.findall(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log
    )
    assert f"for '{architecture}'" in log
    stack_bytes, stored, loaded = map(int, frame)
    return int(registers), stack_bytes, stored + loaded


def architecture(capability):
    return f"sm_{capability[0]}{capability[1]}"


def instructions(ptx):
    """What the lines of PTX do, without what they do it to."""
    return re.findall(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.:]*)\s", ptx, flags=re.M)


def atomics(name, kinds, capability):
    """The atomic instructions of a kernel."""
    found = instructions(ptx_of(name, kinds, capability))
    return [word for word in found if word.startswith(("atom.", "red."))]


def stored_unions(ptx):
    """Registers that unite two words and go to memory: what an atomic should have done."""
    unions = re.findall(r"\bor\.b32\s+(%r\d+),", ptx)
    stored = re.findall(r"\bst\.[\w.]+\s+\[[^\]]*\], (%r\d+);", ptx)
    return set(unions) & set(stored)


def test_all_kernels_are_compiled_here():
    assert list(SIGNATURES) == list(KERNELS)


@pytest.mark.slow
def test_searches_start_kernels_with_these_types(kron12, monkeypatch):
    started = set()
    launch = emulator.launch

    def noted(kernel, n_blocks, n_threads, *arguments):
        started.add((kernel.py_func.__name__, tuple(map(numba.typeof, arguments))))
        launch(kernel, n_blocks, n_threads, *arguments)

    monkeypatch.setattr(emulator, "launch", noted)
    source = int(kron12.random_sources(1)[0])
    whole = number(kron12, lay_out(kron12, 1)).__sizeof__() + kron12.out.nbytes
    search(kron12, source, [EMULATED, EMULATED])
    search(kron12, source, [EMULATED], limit=int(0.75 * whole))
    search_mirrored(kron12, source, [EMULATED] * 2)
    ranked(kron12, [EMULATED], iterations=2, tolerance=None)
    ranked(kron12, [EMULATED] * 2, wishes={0: 1.0})
    connected(kron12, [EMULATED] * 2)
    assert {name for name, _ in started} >= set(SIGNATURES)
    assert started <= {(name, arguments_of(name, kinds)) for name, kinds in VARIANTS}


@pytest.mark.slow
@pytest.mark.parametrize("capability", ARCHITECTURES, ids=architecture)
@pytest.mark.parametrize(
    ("name", "kinds"), VARIANTS, ids=lambda p: p if isinstance(p, str) else "-".join(p)
)
def test_kernels_assemble_without_spilling_registers(name, kinds, capability):
    code = assembled(name, kinds, capability)
    assert code.cubin.startswith(b"\x7fELF")
    assert name.encode() in code.cubin
    assert code.spilled_bytes == 0
    assert code.stack_bytes == 0


@pytest.mark.parametrize("capability", ARCHITECTURES, ids=architecture)
@pytest.mark.parametrize(
    "name", ["expand_rows", "test_hubs", "search_rows", "mark_vertices", "enter_vertices"]
)
def test_bits_that_threads_share_are_set_by_atomic_instructions(name, capability):
    for kinds in [k for n, k in VARIANTS if n == name]:
        assert any(".or." in word for word in atomics(name, kinds, capability))
        assert stored_unions(ptx_of(name, kinds, capability)) == set()


@pytest.mark.parametrize("capability", ARCHITECTURES, ids=architecture)
def test_trees_are_hooked_by_an_atomic_minimum(capability):
    for kinds in [k for n, k in VARIANTS if n == "link_arcs"]:
        assert any(".min.u32" in word for word in atomics("link_arcs", kinds, capability))


@pytest.mark.parametrize("capability", ARCHITECTURES, ids=architecture)
def test_no_atomic_instruction_is_on_floating_point_numbers_or_a_loop(capability):
    used = {word for variant in VARIANTS for word in atomics(*variant, capability)}
    assert not [word for word in used if re.search(r"\.(b?f\d+\w*|cas)\b", word)]


@pytest.mark.parametrize("capability", ARCHITECTURES, ids=architecture)
def test_only_a_scan_and_a_cache_wait_at_barriers(capability):
    waiting = {
        name
        for name, kinds in VARIANTS
        if any(w.startswith("bar") for w in instructions(ptx_of(name, kinds, capability)))
    }
    assert waiting == {"scan_words", "search_rows_cached"}
    assert "bar.sync" in ptx_of("scan_words", (), capability)


def test_registers_of_all_kernels(capsys):
    columns = "".join(f"{architecture(capability):>8}" for capability in ARCHITECTURES)
    rows = [f"{'registers of a thread':26}{columns}"]
    for name, kinds in VARIANTS:
        used = [assembled(name, kinds, capability).registers for capability in ARCHITECTURES]
        title = ", ".join([name, *kinds])
        rows.append(f"{title:26}" + "".join(f"{n:8}" for n in used))
        assert max(used) <= 255  # what a thread can have
    with capsys.disabled():
        print("\n" + "\n".join(rows))
