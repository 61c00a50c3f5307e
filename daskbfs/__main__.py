"""``python -m daskbfs`` is the command ``daskbfs``."""

from daskbfs.cli import main

main(prog_name="daskbfs")
