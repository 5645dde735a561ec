"""Where a submission is built and run: this process, or one that the grader confines (labkit.camp.remote).

The judge compares, diagnoses and words the verdict; all that meets a learner's code goes through one of these.
"""

from __future__ import annotations

from labkit.exercises import launch, operators
from labkit.exercises.cases import Case
from labkit.exercises.spec import Spec
from labkit.exercises.stub import Joined
from labkit.exercises.time_limit import time_limit


class Here:
    """This process, as in a notebook. build raises CompileError, TookTooLong and what a Python text raises; the others
    what labkit.exercises.launch and operators say.
    """

    names_mistakes = True  # by running the known-wrong solutions, to see which one gives the same
    mends_answers = True  # by running changed copies of the answer in this process, to see which one is right

    def build(self, spec: Spec, joined: Joined, name: str):
        """The kernel, program, function or operator of the text; of an operator also a Diagnosis."""
        if spec.kind == "adapter":
            return operators.build(joined.text, name, spec)
        if spec.kind == "program":
            return launch.program(joined.text, spec.id)
        if spec.kind == "kernel":
            return launch.build(joined.text, name, spec.entry)
        if spec.kind == "triton":
            with time_limit():
                return launch.triton(joined.text, name, spec.entry)
        with time_limit():
            return launch.function(joined.text, name, spec.entry)

    def run_function(self, spec: Spec, made, case: Case):
        with time_limit():
            return launch.run_function(spec, made, case)

    def run_operator(self, spec: Spec, made, case: Case):
        with time_limit():
            return operators.judge(spec, made, case)

    def run_program(self, spec: Spec, made, case: Case, spoil: bool = False):
        return launch.run_program(spec, made, case, spoil)

    def run_kernel(self, spec: Spec, made, case: Case):
        return launch.run_kernel(spec, made, case)


HERE = Here()
