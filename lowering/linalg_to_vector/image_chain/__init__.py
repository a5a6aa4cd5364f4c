"""Chains of image operations, computed a few rows at a time.

A chain is what a function computes whose operations make an image (channels last) row by row, slide
a window over it, and go on row by row:

    image = relu6(x @ w + bias)              every row of it from the same row of x
    moved = relu6(depthwise(pad(image)))     rows y * stride - low ... of the image
    out   = moved @ v + bias + x             every row from the same row

`matching.py` says what is one, `cost.py` which chains are worth it and how many rows a block has,
`tiling.py` writes the loop over blocks: the image is a buffer of a block's rows that stays in the
second-level cache, and what two blocks share of it moves to the buffer's front between them.
"""
