"""A training camp: grading what learners handed in, confined.

confine.py    starts a command confined by what this machine offers without root, and says what that promises
inside.py     the first program in there: namespaces, limits, Landlock, seccomp, then the command
group.py      the kernel's limit on the number of processes, where a control group can be made
pace.py       how long a learner's part may take on a busy machine
nursery.py    forks workers that have PyTorch already
lockdown.py   the kernel's calls for it, by ctypes
wire.py       plain data as bytes, and back: nothing that a submission sends is ever unpickled or executed
worker.py     the child in which learners' code runs; it has no solution, no golden, no expected value
remote.py     the judge's other end of it
way.py        which way an exercise goes, and what a verdict rests on
helper.py     the one function of golden.py that must run beside learner's code, without the rest
submission.py what is taken out of a notebook, by reading it
hidden.py     more cases than a learner was shown, for exercises whose cases do not follow a seed
grade.py      a folder of submissions to grades
release.py    what a class is given: notebooks, and a copy of the lab without solutions
collect.py    what came back, in nbgrader's layout
report.py     where a class stands
guide.py      a symptom, and the question to ask; guide.toml
syllabi.py    which notebooks and exercises fit into how much time; syllabi.toml
"""
