"""Modules of torch_npu that programs import by name; package.py says which name finds which."""
