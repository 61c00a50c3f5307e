"""Whatever touches an edge: arrays in, counts out."""
