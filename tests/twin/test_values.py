"""Values that the twin's headers give to public names: enumerators, constants, and what a parameter struct holds when
nothing is set.

tests/twin/values.csv has them as they are; `python tests/twin/test_values.py` writes it anew. A kernel may be built
from any of them, few are used by a test, and a wrong one changes results without an error. Names that CANN documents
with a value are right by its documents; the table holds them, and all others, still.
"""

from __future__ import annotations

import csv
import re
import subprocess
import tempfile
from pathlib import Path

from labkit.build import compiler, runtime
from labkit.build.headers import TREES, include_dirs

TABLE = Path(__file__).parent / "values.csv"
SIDES = {
    "kernel": ["kernel_operator.h", "lib/matmul_intf.h"],
    "host": ["tiling/tiling_api.h", "tiling/platform/platform_ascendc.h", "register/op_def_registry.h", "acl/acl.h"],
}
TOKEN = re.compile(
    r"""namespace\s+([\w:]*)\s*\{ | template\s*< | enum\s+(?:class\s+)?(\w*)[^;{}()]*\{([^{}]*)\}
    | (?:struct|class)\s+(\w+)[^;{}()=]*\{
    | (?:inline\s+|static\s+)?constexpr\s+(?:const\s+)?(?:bool|float|double|u?int\d*_t|int|unsigned|size_t|char)
      \s+(?!operator)(\w+)\s*=(?!=) | (\{) | (\})""",
    re.X,
)
START = """#include <cstdio>
#include <cstring>
#include <new>
#include <type_traits>
template <typename T> void value(const char* name, T x) {
    if constexpr (std::is_floating_point<T>::value) printf("%s,%.9g\\n", name, double(x));
    else printf("%s,%lld\\n", name, (long long)x);
}
template <typename T> void object(const char* name) {
    constexpr bool plain = std::is_default_constructible<T>::value && std::is_trivially_copyable<T>::value;
    if constexpr (plain && !std::is_empty<T>::value) {
        alignas(64) static unsigned char bytes[sizeof(T)];
        memset(bytes, 0, sizeof bytes);
        new (bytes) T;
        printf("%s{},%zu:", name, sizeof(T));
        size_t n = sizeof(T);
        while (n && !bytes[n - 1]) n--;
        for (size_t i = 0; i < n && i < 128; i++) printf("%02x", bytes[i]);
        printf("\\n");
    }
}
int main() {
"""


def names(headers: list[str]) -> tuple[list[str], list[str]]:
    """(enumerators and constants, structs) that our headers declare outside of any class or function, with their
    namespaces."""
    text = "".join(f"#include <{h}>\n" for h in headers)
    command = [compiler.find_cxx(), "-std=c++17", "-E", "-x", "c++", "-", *(f"-I{d}" for d in include_dirs())]
    out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    ours, keep = [], False
    for line in out.splitlines():
        if m := re.match(r'# \d+ "([^"]*)"', line):
            keep = m[1].startswith(str(TREES["kernel"]))
        elif keep:
            ours.append(re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', "0", line))
    values, structs, inside, template = [], [], [], False
    for m in TOKEN.finditer("\n".join(ours)):
        plain = all(kind == "namespace" for kind, _ in inside)
        where = "".join(f"{name}::" for _, name in inside if name)
        if m[0].startswith("namespace"):
            inside.append(("namespace", m[1]))
        elif m[0].startswith("template"):
            template = True
            continue
        elif m[0].startswith("enum"):
            scope = f"{where}{m[2]}::" if m[2] else where
            values += (
                [scope + w for w in re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\([^()]*\)", "", m[3]))] if plain else []
            )
        elif m[4]:
            if plain and not template:
                structs.append(where + m[4])
            inside.append(("struct", m[4]))
        elif m[5]:
            values += [where + m[5]] if plain and not template else []
        elif m[6]:
            inside.append(("block", ""))
        elif inside:
            inside.pop()
        template = False
    return sorted(set(values)), sorted(set(structs))


def found() -> dict[str, str]:
    """name -> value, of both sides."""
    known = {}
    for side, headers in SIDES.items():
        values, structs = names(headers)
        lines = [f'    value("{v}", ::{v});' for v in values] + [f'    object<::{s}>("{s}");' for s in structs]
        source = "".join(f"#include <{h}>\n" for h in headers) + START + "\n".join(lines) + "\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            file, program = Path(folder) / "values.cpp", Path(folder) / "values"
            file.write_text(source)
            lib = runtime.library()
            built = subprocess.run(
                [
                    compiler.find_cxx(),
                    "-std=c++17",
                    "-O0",
                    "-w",
                    *(f"-I{d}" for d in include_dirs()),
                    str(file),
                    "-o",
                    str(program),
                    str(lib),
                    f"-Wl,-rpath,{lib.parent}",
                    "-ldl",
                ],
                capture_output=True,
                text=True,
            )
            assert built.returncode == 0, built.stderr[:3000]
            twice = [
                subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
                for _ in range(2)
            ]
        out = [a for a, b in zip(*twice) if a == b]  # without those that hold an address
        known |= {f"{side} {name}": value for name, _, value in (line.rpartition(",") for line in out)}
    return known


def test_every_name_has_the_value_it_had():
    kept = {row["name"]: row["value"] for row in csv.DictReader(TABLE.open())}
    got = found()
    told = [
        f"{n}: {kept.get(n, 'not there')}, now {got.get(n, 'not there')}"
        for n in sorted({*kept, *got})
        if kept.get(n) != got.get(n)
    ]
    assert not told, (
        f"{len(told)} values changed (python tests/{Path(__file__).name} writes the table anew):\n"
        + "\n".join(told[:20])
    )
    assert len(got) > 500


if __name__ == "__main__":
    rows = found()
    with TABLE.open("w", newline="") as table:
        out = csv.writer(table, lineterminator="\n")
        out.writerow(["name", "value"])
        out.writerows(sorted(rows.items()))
