"""Breadth-first search across CPUs and GPUs, on Dask.

>>> import daskbfs
>>> graph = daskbfs.kronecker(scale=10)
>>> result = daskbfs.bfs(graph, source=int(graph.random_sources(1)[0]))
>>> result.reached > 100
True

The public names are listed in ``__init__.pyi``; each is loaded when it is first asked for, since
numba and Dask take their time.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
