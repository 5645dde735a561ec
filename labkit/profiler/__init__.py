"""torch_npu.profiler on the simulated device: records what a program does and writes what a node would write."""
