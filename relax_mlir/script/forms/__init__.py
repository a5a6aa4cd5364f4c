"""What the names of `T` give: plain descriptions of loops, blocks, axes, buffers and statements.

`T.grid(8, 8)` or `T.reads(A[i])` does nothing by itself; the parser looks at the kind of form an
expression gives and does what it says.  A new construct is a form here and a row in the parser's
tables.
"""
