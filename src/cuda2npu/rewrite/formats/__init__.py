"""Files that aren't Python: shell scripts, configurations, notebooks, CUDA sources."""
