"""Random numbers of torch.npu. The same seed gives the same numbers in every run, though not the chip's own."""

from __future__ import annotations

import torch

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
    default_generators[index()].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds every device; torch.manual_seed() calls this."""
    for generator in default_generators:
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seeds the current device with a number from the system."""
    default_generators[index()].seed()


def seed_all() -> None:
    manual_seed_all(default_generators[0].seed())


def initial_seed() -> int:
    return default_generators[index()].initial_seed()


def get_rng_state(device="npu") -> torch.Tensor:
    """State of a device's generator, a CPU tensor of bytes."""
    return default_generators[index(device)].get_state()


def set_rng_state(new_state: torch.Tensor, device="npu") -> None:
    default_generators[index(device)].set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [generator.get_state() for generator in default_generators]


def set_rng_state_all(new_states) -> None:
    for generator, state in zip(default_generators, new_states):
        generator.set_state(state)
