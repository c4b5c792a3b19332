"""torch.compile: the first call traces the function, in this process; then it runs."""

from truth import phase

with phase("import"):
    import torch  # truth: import
    import torch._dynamo  # truth: import


def blend(x, y):
    for k in range(260):
        x = torch.sin(x) * y + torch.cos(y) * k
    return x


x = torch.rand(1 << 10)
fast = torch.compile(blend, backend="aot_eager")
with phase("compile"):
    z = fast(x, x)  # truth: compile
with phase("run"):
    for _ in range(5):
        z = fast(x, x)  # truth: run
print(float(z.sum()))
