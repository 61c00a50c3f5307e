"""Other packages' graphs and tables, and networkx's backend."""
