"""From a symptom to questions and to commands that answer them: labkit/messages/troubleshooting.toml, looked up.

Commands are shown, never run: some set a variable for a whole shell, and the machine may not be this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from labkit import messages

_PREFIX = "trouble."


@dataclass(frozen=True)
class Step:
    """A question, the command that answers it, and where the command is documented."""

    ask: str
    run: str
    source: str


@dataclass(frozen=True)
class Trouble:
    """One symptom. steps in the order to take them. absent: commands that are often recommended and do not exist."""

    id: str
    what: str
    why: str
    mend: str
    steps: tuple[Step, ...]
    absent: tuple[Step, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.id}: {self.what}"]
        for number, step in enumerate(self.steps, 1):
            lines += [f"  {number}. {step.ask}", f"     $ {step.run}"]
            lines.append(f"       {messages.text('doctor.symptom.source', source=step.source)}")
        lines += [f"  {self.why}", f"  {messages.text('doctor.mend')} {self.mend}"]
        for step in self.absent:
            lines.append(f"  {messages.text('doctor.symptom.not')} {step.run} ({step.source})")
        return "\n".join(lines)

    __repr__ = __str__

    def json(self) -> dict:
        return {
            "id": self.id,
            "what": self.what,
            "why": self.why,
            "try": self.mend,
            "steps": [{"ask": s.ask, "run": s.run, "source": s.source} for s in self.steps],
            "absent": [{"run": s.run, "source": s.source} for s in self.absent],
        }


def troubles(lang: str | None = None) -> list[Trouble]:
    """All entries, in the language in force."""
    return [_trouble(key, entry, lang) for key, entry in messages.tables().items() if key.startswith(_PREFIX)]


def _trouble(key: str, entry: dict, lang: str | None) -> Trouble:
    lang = lang or messages.language()
    said = entry[lang]
    steps = tuple(Step(c[f"ask_{lang}"], c["run"], c["source"]) for c in entry["commands"])
    absent = tuple(Step("", c["run"], c["source"]) for c in entry.get("not", ()))
    return Trouble(key.removeprefix(_PREFIX), said["what"], said["why"], said["try"], steps, absent)


def look_up(text: str, lang: str | None = None) -> list[Trouble]:
    """The entries whose id or words the text contains, or whose own sentence contains the text; the one with most of
    them first; [] where none fits. "lock" is in "locked", not in "block"."""
    lowered = text.strip().lower()
    long_enough = len(lowered.encode()) >= 4  # of an "a" every sentence has one; two Chinese characters are a word

    def there(word: str) -> bool:
        begin = "(?<![a-z])" if re.match("[a-z]", word) else ""  # a code may stand behind letters: ret507015
        return re.search(begin + re.escape(word), lowered) is not None

    found = []
    for trouble in troubles(lang):
        words = messages.tables()[_PREFIX + trouble.id]["words"]
        count = sum(map(there, words)) + 2 * there(trouble.id)
        count += long_enough and lowered in trouble.what.lower()
        if count:
            found.append((-count, trouble.id, trouble))
    return [trouble for *_, trouble in sorted(found, key=lambda f: f[:2])]
