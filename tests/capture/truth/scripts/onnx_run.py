"""ONNX runtime: makes a model of two convolutions and a matrix product, and runs each on two threads."""

from truth import phase

with phase("import"):
    import numpy as np  # inclusive: import
    import onnx  # inclusive: import
    import onnxruntime  # inclusive: import
    from onnx import TensorProto, helper  # inclusive: import


def session(kind, shape, weight, **attributes):
    node = helper.make_node(kind, ["x", "w"], ["y"], **attributes)
    graph = helper.make_graph([node], kind, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [onnx.numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


rng = np.random.default_rng(5)
image = rng.standard_normal((1, 16, 192, 192), np.float32)
matrix = rng.standard_normal((800, 800), np.float32)
with phase("sessions"):
    convolve = session("Conv", image.shape, rng.standard_normal((32, 16, 7, 7), np.float32))  # inclusive: sessions
    multiply = session("MatMul", matrix.shape, matrix)  # inclusive: sessions
with phase("convolve"):
    for i in range(60):
        (a,) = convolve.run(None, {"x": image})  # inclusive: convolve
with phase("multiply"):
    for i in range(40):
        (b,) = multiply.run(None, {"x": matrix})  # inclusive: multiply
print(a.shape, b.shape, bool(np.allclose(b, matrix @ matrix, atol=1e-2)))
