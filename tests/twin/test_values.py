"""Values that the twin's headers give to public names: enumerators, constants, what a parameter struct holds when
nothing is set, and what the functions that fill a MatmulConfig make of each argument.

tests/twin/values.csv has them as they are; `python tests/twin/test_values.py` writes it anew. A kernel may be built
from any of them, few are used by a test, and a wrong one changes results without an error. Names that CANN documents
with a value are right by its documents; the table pins all of them.
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
#include <utility>
template <typename T> void value(const char* name, T x) {
    if constexpr (std::is_floating_point<T>::value) printf("%s,%.9g\\n", name, double(x));
    else printf("%s,%lld\\n", name, (long long)x);
}
template <typename T> void shown(const char* name, const T& x) {
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&x);
    printf("%s,%zu:", name, sizeof(T));
    size_t n = sizeof(T);
    while (n && !bytes[n - 1]) n--;
    for (size_t i = 0; i < n && i < 512; i++) printf("%02x", bytes[i]);
    printf("\\n");
}
template <typename Make> void made(const char* name, Make make) {  // in place: what lies between members is zero
    using T = decltype(make());
    alignas(64) static unsigned char bytes[sizeof(T)];
    memset(bytes, 0, sizeof bytes);
    shown(name, *new (bytes) T(make()));
}
template <typename T, int... n> void constructors(const char* name, std::integer_sequence<int, n...>);
template <typename T> void object(const char* name) {
    constexpr bool plain = std::is_default_constructible<T>::value && std::is_trivially_copyable<T>::value;
    if constexpr (plain && !std::is_empty<T>::value) {
        alignas(64) static unsigned char bytes[sizeof(T)];
        memset(bytes, 0, sizeof bytes);
        shown(name, *new (bytes) T);
    }
    if constexpr (std::is_class<T>::value && std::is_trivially_copyable<T>::value && !std::is_empty<T>::value)
        constructors<T>(name, std::make_integer_sequence<int, 22>());
}
// Each constructor: its arguments are 1, 2, ...; of a bool, one bit of that, for a plane of bits each.
struct Any {
    int k, plane;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value || std::is_enum<T>::value>>
    operator T() const {
        return T(std::is_same<T, bool>::value ? k >> plane & 1 : k);
    }
};
template <typename T, int... i> void constructed(const char* name, std::integer_sequence<int, i...>) {
    if constexpr (std::is_constructible<T, decltype((void)i, Any{})...>::value)
        for (static int plane = 0; plane < 4; plane++) {
            static char title[512];
            snprintf(title, sizeof title, "%s(1..%zu) plane %d", name, sizeof...(i), plane);
            alignas(64) static unsigned char bytes[sizeof(T)];  // in place: a copy leaves what it likes between members
            memset(bytes, 0, sizeof bytes);
            shown(title, *new (bytes) T(Any{i + 1, plane}...));
        }
}
// An aggregate has as many arguments as it takes: the order of its members.
template <typename T, typename... A> auto takes(int) -> decltype(T{A{}...}, std::true_type{});
template <typename T, typename... A> std::false_type takes(...);
template <typename T, int... i> bool filled(const char* name, std::integer_sequence<int, i...>) {
    constexpr bool able = decltype(takes<T, decltype((void)i, Any{})...>(0))::value;
    if constexpr (able)
        for (static int plane = 0; plane < 4; plane++) {
            static char title[512];
            snprintf(title, sizeof title, "%s{1..%zu} plane %d", name, sizeof...(i), plane);
            alignas(64) static unsigned char bytes[sizeof(T)];
            memset(bytes, 0, sizeof bytes);
            shown(title, *new (bytes) T{Any{i + 1, plane}...});
        }
    return able;
}
template <typename T, int... n> void constructors(const char* name, std::integer_sequence<int, n...>) {
    (constructed<T>(name, std::make_integer_sequence<int, n + 2>()), ...);
    if constexpr (std::is_aggregate<T>::value) (filled<T>(name, std::make_integer_sequence<int, 24 - n>()) || ...);
}
template <int K, typename X, typename... More> void nth(X& x, More&... more) {
    if constexpr (K == 0) x = X(x == X(1) ? 0 : 1);
    else nth<K - 1>(more...);
}
#ifdef MATMUL
template <int K> void set(MatmulShapeParams& p) { auto& [a, b, c, d, e, f] = p; nth<K>(a, b, c, d, e, f); }
template <int K> void set(MatmulQuantParams& p) { auto& [a, b] = p; nth<K>(a, b); }
template <int K> void set(MatmulBatchParams& p) { auto& [a, b, c, d] = p; nth<K>(a, b, c, d); }
template <int K> void set(MatmulFuncParams& p) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q] = p;
    nth<K>(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q);
}
#endif
struct H { using T = short; };
struct F { using T = float; };
int main() {
"""


# Structs of parameters that are templates.
TEMPLATES = [
    "FixpipeParams<half>",
    "FixpipeParamsArch3510<>",
    "FixpipeParamsArch3510<AscendC::CO2Layout::COLUMN_MAJOR>",
    "LoadData3DParamsV1<half>",
    "LoadData3DParamsV2<half>",
    "InitConstValueParams<half>",
    "DataCopyPadExtParams<half>",
]
# Functions that fill a struct from their arguments: (what each argument usually is, and another value).
CALLS = {
    "GetNormalConfig": [
        "01",
        "01",
        "01",
        "BatchMode 01",
        "10",
        "IterateOrder 20",
        "ScheduleType 01",
        "10",
        "01",
        "BatchOutMode 01",
    ],
    "GetMDLConfig": ["01", "01", "03", "01", "01", "01", "01", "10", "10", "01", "01", "01", "01"],
    "GetSpecialMDLConfig": ["01", "01", "03", "01", "01", "01"],
    "GetBasicConfig": ["12", "34", "56", "01", "01", "BatchMode 01"],
    "GetSpecialBasicConfig": ["12", "34", "56", "78", "91", "23", "45", "67", "01", "01", "BatchMode 01"],
    "GetIBShareNormConfig": ["01", "01", "01", "BatchMode 01", "01", "10"],
}
TILINGS = [
    (64, 96, 32, 0, 0, 0),
    (64, 96, 32, 512, 768, 1000),
    (128, 256, 64, 256, 256, 64),
    (16, 16, 16, 16, 16, 100000),
    (0, 1, 1, 1, 1, 1),
]


def calls() -> list[str]:
    """C++ expressions: each function as usual, and with one argument that is another."""
    found = [
        "GetMMConfig<MatmulConfigMode::CONFIG_NORM>()",
        "GetMMConfig<MatmulConfigMode::CONFIG_MDL>()",
        "GetMMConfig<MatmulConfigMode::CONFIG_SPECIALMDL>()",
        "GetMMConfig<MatmulConfigMode::CONFIG_IBSHARE>()",
    ]
    for name, arguments in CALLS.items():

        def value(a: str, other: int) -> str:
            kind, _, digits = a.rpartition(" ")
            return f"{kind}({digits[other]})" if kind else digits[other]

        for k in range(-1, len(arguments)):
            found.append(f"{name}({', '.join(value(a, i == k) for i, a in enumerate(arguments))})")
    for kind, fields in {
        "MatmulShapeParams": 6,
        "MatmulQuantParams": 2,
        "MatmulBatchParams": 4,
        "MatmulFuncParams": 16,
    }.items():
        for k in range(fields):
            found.append(f"[] {{ {kind} p{{}}; set<{k}>(p); return GetMMConfig<MatmulConfigMode::CONFIG_NORM>(p); }}()")
    for m, n, k, sm, sn, sk in TILINGS:
        for types in ("H, H, F, F", "F, F, F, H"):
            config = f"GetSpecialBasicConfig({m}, {n}, {k}, {sm}, {sn}, {sk}, 1, 1)"
            found += [f"AscendC::GetMatmulApiTiling<{types}>({config}{size})" for size in ("", ", 65536")]
    return found


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
        if side == "kernel":
            lines += [f'    object<AscendC::{t}>("AscendC::{t}");' for t in TEMPLATES]
            lines += [f'    made("{e}", [] {{ return {e}; }});' for e in calls()]
        source = (
            "".join(f"#include <{h}>\n" for h in headers)
            + "#define MATMUL\n" * (side == "kernel")
            + START
            + "\n".join(lines)
            + "\n}\n"
        )
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
        rows = {name: value for name, _, value in (line.rpartition(",") for line in out)}
        first = {name: name.partition(" plane ")[0] + " plane 0" for name in rows}
        known |= {f"{side} {n}": v for n, v in rows.items() if n == first[n] or v != rows.get(first[n])}
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
        f"{len(told)} values changed (python tests/twin/{Path(__file__).name} writes the table anew):\n"
        + "\n".join(told[:20])
    )
    assert len(got) > 500


MEMBERS = """
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;
using A = matmul::MatmulType<TPosition::GM, CubeFormat::ND, half, true>;
using B = matmul::MatmulType<TPosition::GM, CubeFormat::NZ, half>;
using C = matmul::MatmulType<TPosition::GM, CubeFormat::ND, float>;
using L = matmul::MatmulType<TPosition::VECIN, CubeFormat::ND, float>;
template class AscendC::MatmulClient<A, A, C, C, CFG_NORM>;
template class AscendC::MatmulClient<A, B, L, C, CFG_MDL>;
template class AscendC::MatmulImpl<A, A, C, C, CFG_NORM>;
using Nothing = MatmulCallBackFunc<nullptr, nullptr, nullptr>;
template class AscendC::detail::MatmulObject<true, A, A, C, C, CFG_NORM, Nothing, Impl::Detail::MatmulPolicy<CFG_NORM>>;
template class AscendC::detail::MatmulObject<false, A, B, L, C, CFG_MDL, Nothing, Impl::Detail::MatmulPolicy<CFG_MDL>>;
template class AscendC::LocalTensor<half>;
template class AscendC::LocalTensor<int32_t>;
template class AscendC::GlobalTensor<half>;
template class AscendC::GlobalTensor<int32_t>;
template class AscendC::TQue<TPosition::VECIN, 1>;
template class AscendC::TQue<TPosition::VECOUT, 2>;
template class AscendC::TQueBind<TPosition::VECIN, TPosition::VECOUT, 1>;
template class AscendC::TBuf<TPosition::VECCALC>;
template class AscendC::TQueSync<PIPE_MTE2, PIPE_V>;
"""


def test_every_member_of_the_class_templates_compiles():
    """Also those that no kernel of the tests calls: a member is compiled when it is used, and a fault waits till then."""
    command = [
        compiler.find_cxx(),
        "-std=c++17",
        "-fsyntax-only",
        "-w",
        "-x",
        "c++",
        "-",
        *(f"-I{d}" for d in include_dirs()),
    ]
    built = subprocess.run(command, input=MEMBERS, capture_output=True, text=True)
    assert built.returncode == 0, next((line for line in built.stderr.splitlines() if "error" in line), built.stderr)


def test_what_the_host_calls_is_defined_as_it_is_declared():
    """Else it compiles, and a program that calls it does not link: a function that no test calls says nothing."""
    src = TREES["kernel"].parent / "src"
    files = [*sorted(src.glob("tiling/*.cpp")), *sorted(src.glob("host/acl*.cpp"))]
    command = [compiler.find_cxx(), "-std=c++17", "-fsyntax-only", "-Werror=missing-declarations", f"-I{src}"]
    command += [f"-I{TREES['kernel']}", *map(str, files)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert len(files) > 9 and built.returncode == 0, next(
        (line for line in built.stderr.splitlines() if "error" in line), built.stderr
    )


if __name__ == "__main__":
    rows = found()
    with TABLE.open("w", newline="") as table:
        out = csv.writer(table, lineterminator="\n")
        out.writerow(["name", "value"])
        out.writerows(sorted(rows.items()))
