"""Ascend C source text as the lab sees it: which kernels it has, what they take, and the C++ that runs on the twin.

Two steps make a kernel runnable by a host compiler. The launch `k<<<blocks, nullptr, stream>>>(x)`, which no C++
parser accepts, becomes a call of `::twin::bind`; and behind the learner's text stand trampolines with C names, so that
a runner can call any kernel with an array of pointers to its arguments. No line is moved: line n of the learner's
file is line n for the compiler, and what the lab added is in a file of its own name, `<labkit entry>`.

    signatures = parse(text, "add.asc")
    shared = compiler.compile_kernel(lower(text, "add.asc"), filename="add.asc", ...)
    # in it, for every kernel (symbol(name) names the last part):
    #   void twin_entry_add(const void* const* args);    args[i] points to the i-th argument's value
    #   const unsigned twin_count_add, twin_sizes_add[];  number of parameters, sizeof of each
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from labkit.source import api
from labkit.source.errors import ENTRY_FILE, SourceError
from labkit.source.kernels import KernelSignature, Param, active, clean, core_mix, parse, says, symbol, wanted
from labkit.source.kernels import kernels as all_kernels
from labkit.source.scan import Lines, Outline, closing, closing_angle, mask, split
from labkit.source.structs import Struct, as_ctypes, encode, structs

__all__ = [
    "ENTRY_FILE",
    "KernelSignature",
    "Param",
    "SourceError",
    "Struct",
    "as_ctypes",
    "core_mix",
    "core_mixes",
    "encode",
    "lower",
    "lower_adapter",
    "lower_launches",
    "parse",
    "structs",
    "symbol",
    "without_launches",
]

# ---- lowering

# `__ubuf__ float x[256], y[2][64];`, in groups: the type and its declarators
_LOCAL_ARRAY = re.compile(
    r"\b(?:static[ \t]+)?__ubuf__[ \t]+(?:static[ \t]+)?([A-Za-z_][\w:]*(?:[ \t]*<[^;{}()<>]*>)?)[ \t]+"
    r"(\w+[ \t]*(?:\[[^\[\];{}]*\][ \t]*)+(?:,[ \t]*\w+[ \t]*(?:\[[^\[\];{}]*\][ \t]*)+)*);"
)
_DECLARATOR = re.compile(r"(\w+)[ \t]*((?:\[[^\[\]]*\][ \t]*)+)")
_ATTRIBUTE = re.compile(r"\[[ \t]*(?:host[ \t]*,[ \t]*)?aicore[ \t]*\]")
# `float x[n];` and `const float x[2][n] = {...};` of a function
_STACK_ARRAY = re.compile(
    r"(?:const[ \t]+)?(?!(?:const|static|constexpr|return|delete|new|using|typedef|extern|case|goto|else)\b)"
    r"[A-Za-z_][\w:]*(?:[ \t]*<[^;{}()]*>)?[ \t*]+(\w+)[ \t]*(?:\[[^\[\];{}]+\][ \t]*)+(?:=[^;]*)?;"
)
_BIND_HEAD, _BIND_TAIL = "[&](auto... twin_a) {{ {call}(twin_a...); }}, ", ")/*>>>*/"


def lower(
    text: str, filename: str, entries: Iterable[str] = (), around: str = "", defines: Mapping[str, str] | None = None
) -> str:
    """C++ for a host compiler: launches lowered, trampolines appended, first line `#line 1 "filename"`.

    entries: instantiations of template kernels that need a trampoline, such as ["add<half>", "ns::scale<float, 2>"];
    plain kernels always have one. around: the text of what the source includes, where kernels that it launches may
    stand and what decides on which cores they run; defines: see core_mixes. Raises SourceError as `parse` does, and
    for a launch that is not written right.
    """
    text = _stack_checks(for_host_too(clean(text)))
    parse(text, filename)
    kernels = [k for k in all_kernels(text, filename) if "0" not in k.guard]
    quoted = filename.replace("\\", "\\\\").replace('"', '\\"')
    body = (
        lower_launches(text, filename, core_mixes(text, filename, around, defines=defines)) if "<<<" in text else text
    )
    end = "" if body.endswith("\n") else "\n"
    return (
        f'{_known_before(text)}{_reserved(text, filename, around)}#line 1 "{quoted}"\n{body}{end}'
        + "\n".join(_trampolines(kernels, entries, filename, text))
        + "\n"
    )


def _known_before(text: str) -> str:
    """What bisheng knows without a header and a host compiler does not: int32_t in a header of the learner's that comes
    before kernel_operator.h.
    """
    first = re.search(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)', text, re.M)
    ahead = first and (first[1] != "kernel_operator.h" or mask(text[: first.start()]).strip())
    return "#include <stdint.h>\n" if ahead else ""


def _reserved(text: str, filename: str, around: str) -> str:
    """Declares what the text declares too and only CANN's headers have, so that the compiler finds a use ambiguous here
    as it does there. Raises SourceError for a name that the text puts into namespace AscendC itself.
    """
    names = []
    for name, inside in api.clashes(text, around):
        if not re.search(rf"\b{name}\b", api.offered()):
            if inside:
                line = Lines(text).line(re.search(rf"\b{name}\b", text).start())
                raise SourceError("source.in_cann", filename=filename, line=line, text=text, name=name)
            names.append(f"struct {name};")
    return f"namespace AscendC {{ {' '.join(names)} }}\n" if names else ""


def for_device_alone(text: str) -> bool:
    """Whether a text holds what only the device compiler reads: its attributes, or arrays in UB."""
    return any(p.search(text) and p.search(mask(text, directives=False)) for p in (_ATTRIBUTE, _LOCAL_ARRAY))


def without_attributes(text: str) -> str:
    """`text` with [aicore] and [host, aicore] blanked."""
    found = list(_ATTRIBUTE.finditer(mask(text, directives=False))) if _ATTRIBUTE.search(text) else []
    for m in found:
        text = text[: m.start()] + " " * len(m[0]) + text[m.end() :]
    return text


def for_host_too(text: str) -> str:
    """`text` as a host compiler reads it, each line on its line.

    The attributes [aicore] and [host, aicore] are blanked: sources write `#define __aicore__ [aicore]`. An array
    `__ubuf__ T x[n];`, which a host compiler would put on its stack, becomes a reference to one in the twin's UB.
    """
    text = without_attributes(text)
    arrays = list(_LOCAL_ARRAY.finditer(mask(text, directives=False))) if "__ubuf__" in text else []
    for m in reversed(arrays):
        made = [
            f"using {d[1]}_twin_array = {m[1]} {text[m.start(2) :][slice(*d.span(2))]}; "
            f"static const char {d[1]}_twin_place = 0; "
            f"{d[1]}_twin_array& {d[1]} = ::twin::local_array<{d[1]}_twin_array>(&{d[1]}_twin_place);"
            for d in _DECLARATOR.finditer(m[2])
        ]
        text = text[: m.start()] + " ".join(made) + "\n" * m[0].count("\n") + text[m.end() :]
    return text


def _stack_checks(text: str) -> str:
    """The twin looks at the stack where a kernel calls it. A function that only fills a large array of its own does
    not, so a check stands behind the array's declaration, on its line."""
    first = re.search(r"^[ \t]*#[ \t]*include\b", text, re.M)
    if first is None or not re.search(r"\w[ \t]*\[[^\]\n]+\]", text):
        return text
    outline, ends = Outline(text), []
    for m in _STACK_ARRAY.finditer(outline.masked, first.end()):
        block = outline.around(m.start())
        alone = not outline.masked[outline.statement_start(m.start()) : m.start()].strip()
        if alone and block is not None and any(b.kind == "function" for b in block.chain()) and block.kind != "type":
            ends.append((m.end(), m[1]))
    for end, name in reversed(ends):
        text = f"{text[:end]} TWIN_ON_STACK({name});{text[end:]}"
    return text


def lower_launches(text: str, filename: str, core_mixes: dict[str, tuple[int, int]]) -> str:
    """`text` with its launches lowered and nothing else changed; also where a #define holds one, whose name and cores
    are then those that the macro's parameters stand for. core_mixes: by kernel name.
    """
    return _lower_launches(text, filename, core_mixes, in_macros=True)


def lower_adapter(text: str, filename: str) -> str:
    """`text` of an operator's C++ side, its launches turned into calls of twin/include/torch_npu/adapter.h.

    What is launched stands in the result as `::labkit::bind("name", ...`. Raises SourceError.
    """
    text = for_host_too(clean(text))
    return _lower_launches(text, filename, {}, form='::labkit::bind("{words}", {call}/*<<<*/, ')


def without_launches(text: str) -> str:
    """`text` with each launch turned into nothing: for a kernel that other code launches."""
    masked = mask(text)
    edits = []
    for m in re.finditer(r"<<<", masked):
        start, close = _callee(masked, m.start()), _launch_end(masked, m.end())
        end = closing(masked, masked.index("(", close)) if start is not None and close is not None else -1
        if end > 0:
            edits.append((start, end + 1))
    for start, end in reversed(edits):
        text = text[:start] + "(void)0" + "\n" * text.count("\n", start, end) + text[end:]
    return text


def _lower_launches(
    text: str,
    filename: str,
    core_mixes: dict[str, tuple[int, int]],
    *,
    in_macros: bool = False,
    form: str = "::twin::bind<{aic}, {aiv}>({said}, " + _BIND_HEAD,
) -> str:
    whole, code = mask(text, directives=False), mask(text)
    macro = re.search(r"<<<", whole)
    masked, lines = whole if in_macros else code, Lines(text)
    edits: list[tuple[int, int, str]] = []
    for m in re.finditer(r"<<<", masked):

        def wrong(key: str, offset: int = m.start(), **numbers) -> SourceError:
            return SourceError(key, filename=filename, line=lines.line(offset), text=text, **numbers)

        name_at = _callee(masked, m.start())
        if name_at is None:
            raise wrong("source.launch_name")
        name = text[name_at : m.start()].rstrip()
        close = _launch_end(masked, m.end())
        if close is None or not text[m.end() : close].strip():
            raise wrong("source.launch_form", name=" ".join(name.split()))
        count = _parts(masked, m.end(), close)
        if not 1 <= count <= 3:
            raise wrong("source.launch_parts", name=" ".join(name.split()), count=count)
        words = " ".join(mask(name).replace("\\\n", " ").split()).replace('"', "'")
        kinds = set(core_mixes.values())
        unknown = kinds.pop() if len(kinds) == 1 else (0, 1)  # launched by way of a variable
        aic, aiv = core_mixes.get(words.partition("<")[0].rpartition("::")[2].strip(), unknown)
        said = f'"{words}"'
        if code[m.start()] != "<":  # in a #define: what its parameters stand for is known where it is used
            said = f"TWIN_TEXT({words})"
            if len(set(core_mixes.values())) > 1:
                table = "".join(f"{k}:{c}:{v};" for k, (c, v) in core_mixes.items())
                aic, aiv = (f'::twin::cores_of("{table}", {said}, {i})' for i in (0, 1))
        edits.append(
            (name_at, m.end(), form.format(aic=aic, aiv=aiv, words=words, said=said, call=text[name_at : m.start()]))
        )
        edits.append((close, close + 3, _BIND_TAIL))
    if macro and not edits and "<<<" not in masked:
        raise SourceError("source.launch_macro", filename=filename, line=lines.line(macro.start()), text=text)
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def core_mixes(
    text: str,
    filename: str,
    around: str,
    *,
    defined: bool = False,
    defines: Mapping[str, str] | None = None,
    guessed: bool = False,
) -> dict[str, tuple[int, int]]:
    """name -> (cube cores, vector cores) of every kernel in reach; defined: only of those whose body is there.
    defines: the compiler's macros, which decide what `#if` leaves out; guessed: only of those that do not say it.
    """
    whole = active(around + "\n" + text, defines or {})
    found = {}
    for part in (whole[: len(around)], whole[len(around) + 1 :]):
        for kernel in all_kernels(part, filename) if "__global__" in part else ():
            if (kernel.defined or (kernel.name not in found and not defined)) and not (guessed and says(kernel)):
                found[kernel.name] = core_mix(kernel, whole)
    return found


def _callee(masked: str, at: int) -> int | None:
    """Where the name in front of `<<<` starts: `add`, `ns::add`, `ns::add<half, 3>`."""
    end = len(masked[:at].rstrip())
    if end and masked[end - 1] == ">":
        starts = [m.start() for m in re.finditer("<", masked[:end]) if closing_angle(masked, m.start()) == end - 1]
        if not starts:
            return None
        end = len(masked[: starts[-1]].rstrip())
    m = re.search(r"(?:::\s*)?[A-Za-z_]\w*(?:\s*(?:::|##)\s*\w+)*$", masked[:end])
    return m.start() if m else None


def _launch_end(masked: str, start: int) -> int | None:
    """Offset of the `>>>` of the launch whose configuration starts at `start`; a `(` must follow it.

    `f<g<h<int>>>(3), nullptr, s>>>(x)`: the first `>>>(` closes templates; one that leaves a bracket open, or too few
    parts, is not the end unless no other is.
    """
    first = None
    for m in re.finditer(r">>>(?=\s*\()", masked[start:]):
        at = start + m.start()
        inside = masked[start:at]
        if ";" in inside or "{" in inside:
            break
        if inside.count("(") != inside.count(")"):
            continue
        first = at if first is None else first
        if inside.count("<") == inside.count(">") and masked[start:at].strip():
            return at
    return first


def _parts(masked: str, start: int, end: int) -> int:
    """Number of values in a launch configuration. `<` and `>` that do not pair are operators, not brackets."""
    inside = masked[start:end]
    return len(split(masked, start, end, angles=inside.count("<") == inside.count(">")))


# Deducing the types from the function itself keeps namespaces, aliases and template arguments out of this text.
_HELPERS = """\
namespace twin_lab {
template <unsigned I, class F> struct param;
template <unsigned I, class H, class... R> struct param<I, void(H, R...)> : param<I - 1, void(R...)> {};
template <class H, class... R> struct param<0, void(H, R...)> { using type = H; };
template <unsigned I, class F> const typename param<I, F>::type& take(const void* const* a) {
    return *static_cast<const typename param<I, F>::type*>(a[I]);
}
}"""


def _trampolines(kernels: list[KernelSignature], entries: Iterable[str], filename: str, text: str) -> list[str]:
    out = [f'#line 1 "{ENTRY_FILE}"', *_HELPERS.splitlines()]
    for name, kernel in wanted(kernels, entries, filename, text):
        out += _trampoline(name, kernel)
    return out


def _trampoline(name: str, kernel: KernelSignature) -> list[str]:
    n, c = len(kernel.params), symbol(name)
    function = f"decltype(::{name})"
    values = ", ".join(f"::twin_lab::take<{i}, {function}>(a)" for i in range(n))
    sizes = ", ".join([*(f"sizeof(::twin_lab::param<{i}, {function}>::type)" for i in range(n)), "0"])
    seen = '__attribute__((visibility("default")))'
    code = [
        'extern "C" {',
        f"{seen} void twin_entry_{c}(const void* const* a) {{ (void)a; ::{name}({values}); }}",
        f"{seen} extern const unsigned twin_count_{c}; const unsigned twin_count_{c} = {n};",
        f"{seen} extern const unsigned twin_sizes_{c}[]; const unsigned twin_sizes_{c}[] = {{{sizes}}};",
        "}",
    ]
    for guard in kernel.guard:
        code = [*guard.split("\n"), *code, "#endif"]
    return code
