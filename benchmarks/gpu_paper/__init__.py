"""What kernels can be expected to take on a GPU, from their code alone.

`device` has the limits of a device, `work` counts what a kernel moves and computes, `instructions`
reads what the assembler made of it, `estimate` puts them together.
"""
