"""Where the tests keep what they read: folders of kernels and programs, tables of kept values."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
REPO = TESTS.parent
KERNELS = TESTS / "twin" / "kernels"  # one instruction at a time, on an image of memory
CORRECT = TESTS / "faults" / "correct"  # kernels without a fault
BROKEN = TESTS / "faults" / "broken"  # one fault each
MUTANTS = TESTS / "faults" / "mutants.toml"  # changes that put a fault into a correct kernel
PROGRAMS = TESTS / "program" / "programs"  # with a main() of their own
FIXTURES = TESTS / "notebook" / "fixtures"  # a small workbook and its exercises
