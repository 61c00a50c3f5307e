"""GPU kernels on the host: the device code that a GPU would get, compiled for this CPU.

numba-cuda turns a kernel into LLVM IR for NVVM. The same IR, with its target, thread indices and
barriers replaced, is compiled by llvmlite and run thread by thread; kernels that have barriers run
each thread as a greenlet, which rests at the barrier until all have come. That shows that a kernel
computes the right thing. It says nothing of how fast, or in which order, a GPU would do it.
"""

from __future__ import annotations

import ctypes
import functools
import random
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from greenlet import getcurrent, greenlet
from numba import types
from numba.cuda.compiler import _compile_pyfunc_with_fixup  # private: the version is pinned

_INDICES = [f"{what}.{axis}" for what in ("tid", "ctaid", "ntid", "nctaid") for axis in "xyz"]
_CAPABILITY = (8, 0)
_BARRIER = "daskbfs_barrier"


def launch(kernel: Any, n_blocks: int, n_threads: int, *arguments: Any) -> None:
    """Run a kernel over a grid; the arrays among its arguments are numpy's."""
    signature = types.void(*[numba.typeof(argument) for argument in arguments])
    compiled = _compile(kernel, signature, _host_threads)
    compiled.run(n_blocks, n_threads, arguments)


_host_threads = 1


def set_host_threads(n: int) -> None:
    """Let several threads share the blocks of a grid: what is not atomic then shows, sometimes."""
    global _host_threads
    _host_threads = n


def device_code(kernel: Any, signature: Any) -> tuple[str, list[str]]:
    """The entry point of a kernel, and its IR as numba-cuda gives it to NVVM."""
    library, _ = _compile_pyfunc_with_fixup(
        kernel.py_func,
        signature,
        debug=False,
        lineinfo=False,
        device=False,
        fastmath=False,
        cc=_CAPABILITY,
        opt=True,
        abi="numba",
        abi_info=None,
        forceinline=False,
        launch_bounds=None,
        lto=False,
    )
    return library._entry_name, list(library.llvm_strs)


_compiling = threading.Lock()


def _compile(kernel: Any, signature: Any, copies: int) -> EmulatedKernel:
    with _compiling:
        return _compiled_once(kernel, signature, copies)


@functools.cache
def _compiled_once(kernel: Any, signature: Any, copies: int) -> EmulatedKernel:
    return EmulatedKernel(kernel, signature, copies)


class EmulatedKernel:
    """A kernel for arguments of certain types; one copy of its code for each host thread."""

    def __init__(self, kernel: Any, signature: Any, copies: int = 1) -> None:
        self.entry, code = device_code(kernel, signature)
        self.parameters = _parameters(self.entry, code)
        self.has_barriers = any("nvvm.barrier0" in text for text in code)
        self._copies = [_Copy(self, code) for _ in range(1 if self.has_barriers else copies)]
        self._running = threading.Lock()  # a copy knows one thread index at a time

    def run(self, n_blocks: int, n_threads: int, arguments: tuple[Any, ...]) -> None:
        """Run all threads of a grid."""
        packed = self._pack(arguments)
        with self._running:
            if self.has_barriers:
                self._copies[0].run_with_barriers(packed, n_blocks, n_threads)
                return
            n = len(self._copies)
            cuts = [n_blocks * i // n for i in range(n + 1)]
            if n == 1:
                self._copies[0].run(packed, n_blocks, n_threads, 0, n_blocks)
                return
            with ThreadPoolExecutor(n) as pool:
                for i, copy in enumerate(self._copies):
                    pool.submit(copy.run, packed, n_blocks, n_threads, cuts[i], cuts[i + 1])

    def _pack(self, arguments: tuple[Any, ...]) -> Any:
        fields: list[int] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):  # meminfo, parent, items, item size, data, ...
                size, stride, at = argument.size, argument.strides[0], argument.ctypes.data
                fields += [0, 0, size, argument.itemsize, at, size, stride]
            elif isinstance(argument, float):
                fields.append(int(np.float64(argument).view(np.uint64)))
            else:
                fields.append(int(argument) & (2**64 - 1))
        if len(fields) != len(self.parameters):
            raise TypeError(f"{self.entry} takes {len(self.parameters)} fields, not {len(fields)}")
        return (ctypes.c_uint64 * len(fields))(*fields)


class _Copy:
    """One copy of a kernel's code, with thread indices of its own."""

    def __init__(self, kernel: EmulatedKernel, code: list[str]) -> None:
        _prepare_llvm()
        target = llvm.Target.from_default_triple().create_target_machine(
            opt=3,
            jit=True,
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten(),
        )
        head = f'target triple = "{llvm.get_default_triple()}"\n'
        head += f'target datalayout = "{target.target_data}"\n'
        module = llvm.parse_assembly(head + _driver(kernel))
        for text in code:
            module.link_in(llvm.parse_assembly(head + _for_host(text)))
        module.verify()
        passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(3))
        passes.getModulePassManager().run(module, passes)
        self._engine = llvm.create_mcjit_compiler(module, target)
        self._engine.finalize_object()
        address = self._engine.get_function_address
        many = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_uint32] * 4)  # without the GIL
        self._run_blocks = many(address("run_blocks"))
        self._run_thread = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(address("run_thread"))
        self._index = {
            name: ctypes.c_uint32.from_address(self._engine.get_global_value_address(name))
            for name in _INDICES
        }

    def run(self, packed: Any, n_blocks: int, n_threads: int, first: int, last: int) -> None:
        """Run some blocks, one thread after the other."""
        self._run_blocks(ctypes.addressof(packed), n_blocks, n_threads, first, last)

    def run_with_barriers(self, packed: Any, n_blocks: int, n_threads: int) -> None:
        """Run all blocks; the threads of each take turns, in an order that changes."""
        self._index["nctaid.x"].value, self._index["ntid.x"].value = n_blocks, n_threads
        shuffle = random.Random(n_blocks).shuffle
        for block in range(n_blocks):
            self._index["ctaid.x"].value = block
            _resting.scheduler = getcurrent()
            waiting = [(t, greenlet(self._run_thread)) for t in range(n_threads)]
            while waiting:
                shuffle(waiting)
                for t, thread in waiting:
                    self._index["tid.x"].value = t
                    thread.switch(ctypes.addressof(packed))
                waiting = [(t, thread) for t, thread in waiting if not thread.dead]


_resting = threading.local()


def _rest() -> None:
    """What a thread does at a barrier: let the others come."""
    _resting.scheduler.switch()


_rest_callback = ctypes.PYFUNCTYPE(None)(_rest)


@functools.cache
def _prepare_llvm() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.add_symbol(_BARRIER, ctypes.cast(_rest_callback, ctypes.c_void_p).value)


def _parameters(entry: str, code: list[str]) -> list[str]:
    """The types of a kernel's parameters, in IR."""
    for text in code:
        found = re.search(
            rf'define [^@\n]*@"?{re.escape(entry)}"?\((.*?)\)\s*(?:#\d+|\{{|\n)', text
        )
        if found:
            return [word.rsplit("%", 1)[0].strip() for word in found.group(1).split(",")]
    raise RuntimeError(f"no kernel {entry} in its own code")


def _for_host(text: str) -> str:
    """Device IR with whatever a host lacks replaced."""
    text = re.sub(r"^target (triple|datalayout) = .*\n", "", text, flags=re.M)
    text = re.sub(r"^!nvvm.*\n", "", text, flags=re.M)
    text = text.replace("llvm.nvvm.", "device.")
    text = re.sub(r"addrspacecast (.*?) addrspace\(3\)\*", r"bitcast \1*", text)
    text = text.replace(" addrspace(3)", "")
    for name in _INDICES:
        register = f"device.read.ptx.sreg.{name}"
        text = text.replace(
            f'declare i32 @"{register}"()',
            f'@"{name}" = external global i32\n'
            f'define internal i32 @"{register}"() alwaysinline {{\n'
            f'  %value = load i32, i32* @"{name}"\n  ret i32 %value\n}}',
        )
    text = text.replace(
        'declare void @"device.barrier0"()',
        f"declare void @{_BARRIER}()\n"
        'define internal void @"device.barrier0"() alwaysinline {\n'
        f"  call void @{_BARRIER}()\n  ret void\n}}",
    )
    if missing := re.findall(r'declare [^\n]*@"?((?:device\.|__nv)[\w.]+)', text):
        raise RuntimeError(f"the emulator knows no {', '.join(missing)}: do without it")
    return text


def _driver(kernel: EmulatedKernel) -> str:
    """IR that calls a kernel: for all threads of some blocks, or for one thread."""
    loads = "".join(
        f"  %slot{i} = getelementptr i64, i64* %packed, i64 {i}\n"
        f"  %typed{i} = bitcast i64* %slot{i} to {kind}*\n"
        f"  %value{i} = load {kind}, {kind}* %typed{i}\n"
        for i, kind in enumerate(kernel.parameters)
    )
    kinds = ", ".join(kernel.parameters)
    values = ", ".join(f"{kind} %value{i}" for i, kind in enumerate(kernel.parameters))
    call = f'  call void @"{kernel.entry}"({values})\n'
    indices = "".join(f'@"{name}" = global i32 {int(name.startswith("n"))}\n' for name in _INDICES)
    return f"""{indices}
declare void @"{kernel.entry}"({kinds})

define void @run_thread(i64* %packed) {{
{loads}{call}  ret void
}}

define void @run_blocks(i64* %packed, i32 %blocks, i32 %threads, i32 %first, i32 %last) {{
entry:
{loads}  store i32 %blocks, i32* @"nctaid.x"
  store i32 %threads, i32* @"ntid.x"
  br label %next_block
next_block:
  %block = phi i32 [%first, %entry], [%block_after, %block_done]
  %more_blocks = icmp ult i32 %block, %last
  br i1 %more_blocks, label %begin_block, label %done
begin_block:
  store i32 %block, i32* @"ctaid.x"
  br label %next_thread
next_thread:
  %thread = phi i32 [0, %begin_block], [%thread_after, %run]
  %more_threads = icmp ult i32 %thread, %threads
  br i1 %more_threads, label %run, label %block_done
run:
  store i32 %thread, i32* @"tid.x"
{call}  %thread_after = add i32 %thread, 1
  br label %next_thread
block_done:
  %block_after = add i32 %block, 1
  br label %next_block
done:
  ret void
}}
"""
