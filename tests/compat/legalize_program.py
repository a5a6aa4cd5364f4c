"""A Relax function with operators of every family, legalised by us and by TVM."""

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"),
        y: R.Tensor(("n", 4), "float32"),
        z: R.Tensor((4,), "float32"),
        w: R.Tensor((6, 5), "float32"),
        i: R.Tensor((3,), "int32"),
    ) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            lv = R.add(x, R.const(1.0, "float32"))
            lv1 = R.add(lv, y)
            lv2 = R.add(y, x)
            lv3 = R.reshape(lv2, R.shape([n * 4]))
            lv4 = R.zeros(R.shape([n, 3]), "float32")
            lv5 = R.concat((lv1, lv2), axis=0)
            lv6 = R.split(x, 2, axis=1)
            lv7 = lv6[0]
            lv8 = R.nn.softmax(x)
            lv9 = R.add(x, x)
            lv10 = R.multiply(x, z)
            lv11 = R.sum(lv10, axis=[1])
            lv12 = R.subtract(R.const(2.0, "float32"), x)
            lv13 = R.nn.layer_norm(x, z, z, axes=[-1])
            lv14 = R.exp(x)
            lv16 = R.take(z, i, axis=0)
            lv18 = R.mean(x)
            lv19 = R.greater(x, y)
            lv20 = R.where(lv19, x, y)
            lv21 = R.nn.leakyrelu(x, 0.1)
            lv22 = R.astype(x, "int32")
            lv23 = R.nn.gelu(x)
            lv24 = R.variance(x, axis=[1])
            lv25 = R.expand_dims(x, [1])
            lv26 = R.squeeze(lv25, [1])
            lv27 = R.full(R.shape([2, n]), R.const(3.0, "float32"), "float32")
            lv28 = R.argmax(x, axis=1)
            lv29 = R.permute_dims(x, axes=[1, 0])
            lv30 = R.broadcast_to(z, R.shape([n, 4]))
            lv31 = R.maximum(R.const(0.0, "float32"), x)
            lv32 = R.nn.silu(x)
            lv33 = R.nn.relu(x)
            lv34 = R.matmul(lv29, x)
            lv35 = R.max(w, axis=[0], keepdims=True)
            lv36 = R.tril(w, 1)
            lv37 = R.flip(w, axis=0)
            lv38 = R.nn.rms_norm(x, z, axes=[-1])
            lv39 = R.nn.log_softmax(w, axis=0)
            lv40 = R.stack((w, w), axis=0)
            lv41 = R.tile(z, [2])
            lv42 = R.flatten(w)
            lv43 = R.std(w, axis=[0])
            lv44 = R.equal(w, w)
            lv45 = R.sigmoid(w)
            lv46 = R.repeat(w, 2, axis=0)
            lv47 = R.outer(z, z)
            R.output(lv9)
        return lv9
"""
