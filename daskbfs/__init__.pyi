__version__: str

from . import asynchronous as asynchronous
from .algorithms.bfs.api import bfs as bfs
from .algorithms.bfs.result import BFSResult as BFSResult
from .algorithms.pagerank.api import pagerank as pagerank
from .algorithms.pagerank.result import PageRankResult as PageRankResult
from .cluster.hybrid import HybridCluster as HybridCluster
from .cluster.local import local_cluster as local_cluster
from .cluster.tuning import tune as tune
from .dashboard import install_dashboard as install_dashboard
from .distribution.distributed_graph import DistributedGraph as DistributedGraph
from .distribution.distributed_graph import distribute as distribute
from .graph.generators import kronecker as kronecker
from .graph.generators import uniform as uniform
from .graph.graph import Graph as Graph
from .interop.convert import from_edges as from_edges
from .interop.convert import from_igraph as from_igraph
from .interop.convert import from_networkit as from_networkit
from .interop.convert import from_networkx as from_networkx
from .interop.convert import from_scipy as from_scipy
from .interop.convert import to_edges as to_edges
from .interop.convert import to_networkx as to_networkx
from .interop.convert import to_scipy as to_scipy
from .io import read_graph as read_graph
from .io import write_graph as write_graph
from .validation.validate import ValidationError as ValidationError
from .validation.validate import validate as validate
