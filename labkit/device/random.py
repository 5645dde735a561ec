"""Random numbers of torch.npu. The same seed gives the same numbers in every run, though not the chip's own."""

from __future__ import annotations

import torch

from labkit.device import graphs
from labkit.device.devices import index
from labkit.device.library import lib

default_generators: tuple[torch.Generator, ...] = ()


def adopt_default_generators() -> None:
    """Fetches the devices' default generators, which torch.Generator("npu") would not give."""
    global default_generators
    lib().lab_hand_out_default_generator(1)
    try:
        default_generators = tuple(torch.Generator(device=f"npu:{i}") for i in range(lib().lab_device_count()))
    finally:
        lib().lab_hand_out_default_generator(0)


def get_default_generator(device_index: int) -> torch.Generator:
    return default_generators[device_index]


def manual_seed(seed: int) -> None:
    """Seeds the current device."""
    _seed(default_generators[index()], int(seed))


def _seed(generator: torch.Generator, seed: int) -> None:
    """Inside a capture the seed stands, and seeding changes nothing: a replay draws on from where it begins."""
    if graphs.capturing():
        _same_seed(generator, seed)
    else:
        generator.manual_seed(seed)


def _same_seed(generator: torch.Generator, seed: int) -> None:
    if seed % 2**64 != generator.initial_seed() % 2**64:
        raise RuntimeError(
            "NPUGeneratorImpl::set_current_seed can be called during stream "
            "capture only if new seed is the same as the original seed."
        )


def manual_seed_all(seed: int) -> None:
    """Seeds every device; torch.manual_seed() calls this."""
    for generator in default_generators:
        _seed(generator, int(seed))


def seed() -> None:
    """Seeds the current device with a number from the system."""
    _new_seed(default_generators[index()])


def seed_all() -> None:
    manual_seed_all(_new_seed(default_generators[0]))


def _new_seed(generator: torch.Generator) -> int:
    if graphs.capturing():  # as in _seed: the seed of a capture stands
        raise RuntimeError("Cannot call NPUGeneratorImpl::seed during NPU graph capture.")
    return generator.seed()


def initial_seed() -> int:
    return default_generators[index()].initial_seed()


def get_rng_state(device="npu") -> torch.Tensor:
    """State of a device's generator, a CPU tensor of bytes. Inside a capture: the tensor that each replay writes the
    state of that moment to."""
    return _state(default_generators[index(device)])


def set_rng_state(new_state: torch.Tensor, device="npu") -> None:
    """Inside a capture: each replay goes back to what the tensor says then. Raises RuntimeError for another seed."""
    _set_state(default_generators[index(device)], new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [_state(generator) for generator in default_generators]


def set_rng_state_all(new_states) -> None:
    for generator, state in zip(default_generators, new_states):
        _set_state(generator, state)


def _state(generator: torch.Generator) -> torch.Tensor:
    state = generator.get_state()
    graphs.record("get_rng_state", lambda: state.copy_(generator.get_state()))
    return state


def _set_state(generator: torch.Generator, state: torch.Tensor) -> None:
    if not graphs.capturing():
        generator.set_state(state)
        return
    _same_seed(generator, int(state[:8].view(torch.int64)))  # the first of its two numbers, csrc/generator.h
    graphs.record("set_rng_state", lambda: generator.set_state(state))
