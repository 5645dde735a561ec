"""NPUGraph: replay time of a captured MLP, against the same layers issued one by one."""
import json
import statistics
import time

import torch
import torch.nn as nn
import torch_npu

DEPTH, WIDTH, TOKENS = 6, 256, 64
ROUNDS, PER_ROUND = 9, 5


def build():
    torch.manual_seed(2)
    layers = []
    for _ in range(DEPTH):
        layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    return nn.Sequential(*layers).npu().eval()


def capture(net, static_in):
    for _ in range(3):
        net(static_in)
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        static_out = net(static_in)
    return graph, static_out


def per_call(call):
    for _ in range(5):
        call()
    torch.npu.synchronize()
    rounds = []
    for _ in range(ROUNDS):
        t = time.perf_counter()
        for _ in range(PER_ROUND):
            call()
        torch.npu.synchronize()
        rounds.append((time.perf_counter() - t) / PER_ROUND * 1e6)
    return rounds


@torch.no_grad()
def main():
    net = build()
    static_in = torch.randn(TOKENS, WIDTH).npu()
    graph, static_out = capture(net, static_in)
    graph.replay()
    torch.npu.synchronize()
    assert torch.allclose(static_out.cpu(), net(static_in).cpu(), atol=1e-4)

    def replay():
        static_in.copy_(torch.randn(TOKENS, WIDTH))
        graph.replay()

    def layers():
        static_in.copy_(torch.randn(TOKENS, WIDTH))
        net(static_in)

    us = {"replay": per_call(replay), "eager": per_call(layers)}
    doc = {"device": torch.npu.get_device_name(0), "layers": DEPTH, "width": WIDTH, "tokens": TOKENS, "dtype": "float32",
           "rounds": ROUNDS, "calls_per_round": PER_ROUND}
    for name, values in us.items():
        doc[f"{name}_us"] = {"median": round(statistics.median(values), 1),
                             "min": round(min(values), 1), "max": round(max(values), 1)}
    print(json.dumps(doc, indent=2))


if __name__ == "__main__":
    main()
