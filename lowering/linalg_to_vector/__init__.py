"""From linalg on memrefs to vectorized loops for the CPU.

`linalg-fuse-elementwise` removes temporaries, `linalg-to-vector` lowers each operation by the first
strategy of `strategies.py` that fits its loop nest.
"""
