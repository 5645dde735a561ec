"""Reads what a profiler wrote, on a node or here, and says where the time goes."""
