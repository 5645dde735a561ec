"""Lines of a generated file: names, indentation, comments."""

from __future__ import annotations


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_") if part)


def uses(line: str, name: str) -> bool:
    words = "".join(c if c.isalnum() or c in "_." else " " for c in line.partition("//")[0]).split()
    return name in words


def indented(lines: list[str], depth: int) -> list[str]:
    return [("    " * depth + line) if line and line != "private:" else line for line in lines]


def comment(text: str, most: int = 118) -> list[str]:
    lines, line = [], "//"
    for word in text.split():
        if len(line) + len(word) + 1 > most:
            lines.append(line)
            line = "//"
        line += " " + word
    return [*lines, line]
