"""The experiments of the papers, and a page about them."""
