"""Systems side by side: ours, those of the papers, installed packages, other programs."""
