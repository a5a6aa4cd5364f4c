# RUN: relax-opt %s | FileCheck %s --check-prefix=MLIR
# RUN: relax-opt %s --relax-zero --emit=tvmscript | FileCheck %s
# RUN: relax-opt %s --relax-zero | relax-opt --emit=tvmscript | FileCheck %s
# RUN: relax-run %s --args arange --size n=2 | FileCheck %s --check-prefix=RESULT
# RUN: relax-run %s --args ones --size n=1 --output %t.npz \
# RUN:   && %python -c "import numpy; print(numpy.load('%t.npz')['result'])" \
# RUN:   | FileCheck %s --check-prefix=ONES
# RUN: relax-run %s --size n=2 --time --number 2 --repeat 3 | FileCheck %s --check-prefix=TIME
# RUN: not relax-run %s 2>&1 | FileCheck %s --check-prefix=SIZE
# RUN: not relax-run %s --entry other 2>&1 | FileCheck %s --check-prefix=ENTRY
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

# MLIR: func.func @main(%x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}
# MLIR: %lv = "relax.add"(%x, %b)

# CHECK: def fused_add_relu(
# CHECK: def main(
# CHECK: R.call_tir(cls.fused_add_relu, (x, b)

# RESULT: result: float32[2, 4]
# RESULT-NEXT: {{\[\[}} 0.  2.  4.  6.]
# RESULT-NEXT: [ 4.  6.  8. 10.]]
# ONES: {{\[\[}}2. 2. 2. 2.]]
# TIME: compile: {{[0-9.]+}} ms
# TIME-NEXT: call: {{[0-9.]+}} us (median of 3 x 2;
# SIZE: error: parameter 'x' has a size that depends on 'n'
# SIZE-NEXT: hint: give it by --size n=16
# ENTRY: error: there is no function 'other'; there are main


@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), b: R.Tensor((4,), "float32")):
        with R.dataflow():
            lv = R.add(x, b)
            gv = R.nn.relu(lv)
            R.output(gv)
        return gv
