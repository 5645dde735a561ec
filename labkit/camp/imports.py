"""What a built kernel asks of the process that loads it. Ascend C has no operating system beneath it: a kernel that
calls one (exit, fork, open ...) could not be built for an NPU, and on the twin it could end or forge its own check.
"""

from __future__ import annotations

import re
import subprocess

from labkit.build.process import c_locale

_MATHS = r"(?:a?(?:sin|cos|tan)h?|atan2|exp2?|expm1|log(?:2|10|1p)?|pow|sqrt|cbrt|erfc?|[lt]gamma|fmod|remainder|" \
         r"hypot|floor|ceil|round|trunc|rint|nearbyint|l?lround|l?lrint|ldexp|frexp|modf|fma|fmax|fmin|fdim|" \
         r"fabs|isnan|isinf)[fl]?"  # fmt: skip
# C++'s own library reaches files, threads and processes: of it only what the compiler itself puts in
_ALWAYS = re.compile(
    rf"_Z(?!N?K?S[tsoid]).*|_ZSt9terminatev|_ZSt\d+__throw_\w+|_ZNK?St(?:9exception|\d+(?:bad|runtime|logic|length|out)_\w+?)"
    rf"[CDE]\w*|{_MATHS}|mem(?:cpy|set|move|cmp)|strlen|abort|__cxa_\w+|__gxx_personality_v0|_Unwind_Resume|"
    r"__stack_chk_fail|__assert_fail|_GLOBAL_OFFSET_TABLE_|__tls_get_addr|__mem\w+_chk|_ITM_\w+|__gmon_start__|"
    r"__(?:trunc|extend)\w+|__dso_handle|"
    r"__asan_\w+|"  # the twin's own hooks of accesses through pointers (labkit/launch/kernel.py)
    r"_ZNSt8ios_base4Init[CD]\dEv"  # a header's, whether it is used or not
)  # fmt: skip
_PROGRAM = re.compile(
    r"acl\w+|rt\w+|f?printf|puts|putchar|fputs|fputc|fwrite|fflush|stdout|stderr|[mc]alloc|realloc|free|aligned_alloc|exit|"
    r"ato[ifl]l?|strto\w+|__isoc\d+_strto\w+|str\w+|s?rand|qsort|snprintf|__\w+_chk|__libc_start_main|"
    r"_ZSt4c(?:out|err)|_ZNSo\w*|_ZNSolsE\w*|_ZSt(?:ls|4endl|16__ostream_insert)\w*|_ZNK?St(?:8ios_base4Init|7__cxx1112basic_string|3ctype)\w*"
)  # fmt: skip
_SYSTEM = re.compile(r"\s(syscall|sysenter|int\s+\$0x80|svc)\b")


def foreign(libraries: list[str], *, program: bool = False) -> list[str]:
    """The names that the libraries take from outside and that no kernel needs; "syscall" for one in their own code.
    program: they have a main(), which may print and allocate.
    """
    found: set[str] = set()
    for library in libraries:
        for line in _said(["nm", "-D", "--undefined-only", library]).split("\n"):
            name = line.split()[-1].partition("@")[0] if line.split() else ""
            if name and not _ALWAYS.fullmatch(name) and not (program and _PROGRAM.fullmatch(name)):
                found.add(name)
        found |= {"syscall" for _ in _SYSTEM.finditer(_said(["objdump", "-d", "--no-show-raw-insn", library]))}
    return sorted(found)


def _said(words: list[str]) -> str:
    return subprocess.run(words, capture_output=True, text=True, env=c_locale(), timeout=60, check=True).stdout
