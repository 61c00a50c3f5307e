"""Graph algorithms on the engine, a folder each."""
