"""Compiled loops: arrays in, counts out.

Kernels are called with arrays one by one, however many: numba takes 0.7 to 1 µs for eight arrays,
and 2.4 to 3 µs for a NamedTuple of them, whose type it looks up in Python at each call.

In a hot loop:

- Indices are unsigned (``np.uint64``): a signed one costs a wrap-around test, and the vectorizer.
  Mixing int64 and uint64 makes float64.
- A counter that threads share comes from ``shared_counter()``: numba folds reads of a local
  ``np.zeros`` whose writes it cannot see.
- Threads claim pieces of work from an atomic counter: rows are sorted by degree, so equal shares
  are never equal work.
- A choice between loaded values in a bottom-up step is written so that LLVM needs no branch.
- What is passed to ``in_parallel`` must not be freed before the parts have run: it keeps its tuple
  of arguments until then. A part cannot raise: one that fails makes the kernel raise MemoryError.
- Results and scratch arrays are used again once nothing refers to them
  (:class:`daskbfs.kernels.buffers.Recycler`): fresh memory costs a page fault every few kilobytes.
"""
