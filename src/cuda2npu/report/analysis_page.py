"""The analysis as a text for the person who decides: what it takes, the worst first, what to do next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from cuda2npu.messages import say
from cuda2npu.report.analysis import EFFORTS, STATES
from cuda2npu.report.blocks import Block, Command, Heading, Item, Paragraph, Table
from cuda2npu.report.model import Json

MOST_GROUPS = 15
MOST_PLACES = 5
MOST_FILES = 15
MOST_NAMES = 25
_WEIGHTS = {"safe": "would_safe", "unsafe": "would_unsafe"}  # of a change; that of a finding is its severity
_NEED_ADVICE = ("none", "replace", "port", "listed")


def blocks(document: Json, lang: str = "en") -> Iterator[Block]:
    """Yield the parts of the text about an analysis.

    Sections with nothing in them are left out. Long lists are cut, and say so: the JSON has them whole.
    """
    yield from _Page(document, lang).blocks()


class _Page:
    """The sections, in one language."""

    def __init__(self, document: Json, lang: str) -> None:
        self.document = document
        self.lang = lang

    @property
    def left_out(self) -> bool:
        """Whether there are files of which nothing is known."""
        totals = self.document["totals"]
        return bool(totals["skipped"] or totals["failed"])

    def say(self, key: str, **values: object) -> str:
        return say(key, self.lang, **values)

    def blocks(self) -> Iterator[Block]:
        document = self.document
        title = self.say("title", version=document["tool"]["version"], **document["target"])
        yield Heading(title, level=1)
        required = document["requires"]
        if required is not None:
            yield Paragraph(self.say("other_torch", path=required["path"], version=required["torch"]))
        yield from self.totals(document["totals"], document["uses"])
        yield from self.failed(document["failed"])
        yield from self.groups("analysis_blockers", document["blockers"])
        yield from self.packages(document["packages"])
        yield from self.native(document["native"])
        yield from self.operators(document["operators"])
        person = self.elsewhere(document["person"])
        all_of_it = len(person) == len(document["person"])
        yield from self.groups("analysis_person" if all_of_it else "analysis_person_too", person)
        yield from self.groups("analysis_unsafe", self.elsewhere(document["unsafe"]))
        yield from self.configuration(document["configuration"], document["mentioned"])
        yield from self.files(document["files"])
        yield from self.unknown(document["packages"])
        yield from self.next(document["next"])

    def totals(self, totals: Json, uses: Json) -> Iterator[Block]:
        count = {key: f"{value:,}" for key, value in totals.items() if isinstance(value, int)}
        yield Paragraph(self.say("analysis_size", **count))
        if totals["native_files"]:
            yield Paragraph(self.say("analysis_native_size", **count))
        if totals["npu_files"]:
            yield Paragraph(self.say("analysis_npu", **count))
        if self.left_out:
            yield Paragraph(self.say("analysis_left_out", **count))
        yield from self.places_to_change(uses)
        yield Heading(self.say("analysis_effort"))
        rows = [(totals["effort"][effort], *self.explained("effort", effort)) for effort in EFFORTS]
        yield Table(("n", self.say("effort"), self.say("meaning")), rows)

    def places_to_change(self, uses: Json) -> Iterator[Block]:
        if not uses["total"]:
            yield Paragraph(self.say("analysis_no_other_uses" if self.left_out else "analysis_no_uses"))
            yield from self.apart(uses)
            return
        yield Heading(self.say("analysis_places", total=uses["total"]))
        keys = {"safe": "safe", "unsafe": "offered", "manual": "manual", "blocker": "blocker"}
        share = {"safe": f"{int(uses['share'] * 100)}%"}
        rows = [(uses[key], share.get(key, ""), self.say(f"analysis_{text}")) for key, text in keys.items()]
        yield Table(("n", self.say("share"), self.say("meaning")), rows)
        yield Paragraph(self.say("analysis_aside", **uses))
        yield from self.apart(uses)

    def apart(self, uses: Json) -> Iterator[Block]:
        """Say what isn't among the places, but among those that ``convert`` counts."""
        if uses["mentions"] or uses["native"]:
            every = uses["total"] + uses["info"] + uses["mentions"] + uses["native"]
            yield Paragraph(self.say("analysis_apart", **uses, every=every))

    def explained(self, kind: str, value: str) -> tuple[str, str]:
        name, _, meaning = self.say(f"{kind}_{value}").partition(": ")
        return name, meaning

    def failed(self, failed: Sequence[Json]) -> Iterator[Block]:
        if failed:
            yield Heading(self.say("failed_files"))
            yield from (Item(f"{entry['path']}: {entry['error']}") for entry in failed[:MOST_FILES])
            yield from self.more(failed, MOST_FILES)

    def elsewhere(self, groups: Sequence[Json]) -> list[Json]:
        """Leave out what has a section of its own: operators, and imports of packages."""
        operators = {entry["rule"] for entry in self.document["operators"]}
        imports = {_at(place) for package in self.document["packages"] for place in package["places"]}
        others = [group for group in groups if group["rule"] not in operators]
        return [group for group in others if any(_at(place) not in imports for place in group["places"])]

    def groups(self, title: str, groups: Sequence[Json]) -> Iterator[Block]:
        if not groups:
            return
        places = sum(group["count"] for group in groups)
        yield Heading(self.say("with_count", title=self.say(title), count=places))
        for group in groups[:MOST_GROUPS]:
            advice = [group["advice"]] if group["advice"] else []
            yield Item(f"{self.times(group)} {group['rule']} {group['message']}", advice, self.places(group))
        yield from self.more(groups, MOST_GROUPS)

    def times(self, group: Json) -> str:
        return f"{group['count']}x"

    def places(self, group: Json) -> list[str]:
        places = group["places"]
        shown = [_where(place) + (f"  {place['code']}" if place.get("code") else "") for place in places]
        if len(shown) <= MOST_PLACES:
            return shown
        return [*shown[:MOST_PLACES], self.say("more", count=len(shown) - MOST_PLACES)]

    def packages(self, packages: Sequence[Json]) -> Iterator[Block]:
        listed = [package for package in packages if package["state"] in _NEED_ADVICE]
        if listed:
            yield Heading(self.say("analysis_packages"))
        for package in listed:
            state, _ = self.explained("state", package["state"])
            optional = self.say("analysis_optional") if package["optional"] else ""
            title = f"{package['name']}: {state}{optional}"
            yield Item(title, [package["advice"]] if package["advice"] else [], self.places(package))

    def unknown(self, packages: Sequence[Json]) -> Iterator[Block]:
        yield Heading(self.say("analysis_unknown"))
        yield Paragraph(self.say("analysis_not_run"))
        for state in STATES:
            found = [package for package in packages if package["state"] == state]
            if not found or state in _NEED_ADVICE:
                continue
            found.sort(key=lambda package: -package["files"])
            names = [package["name"] for package in found[:MOST_NAMES]]
            if len(found) > MOST_NAMES:
                names.append(self.say("analysis_more", count=len(found) - MOST_NAMES))
            yield Item(f"{self.say(f'state_{state}')} {', '.join(names)}")

    def native(self, native: Json) -> Iterator[Block]:
        files = native["files"]
        if not files:
            return
        yield Heading(self.say("analysis_native", files=len(files), lines=sum(f["lines"] for f in files)))
        rows = [(file["lines"], file["path"]) for file in files[:MOST_FILES]]
        yield Table((self.say("lines"), self.say("file")), rows, code=True)
        yield from self.more(files, MOST_FILES)
        paths = {file["path"] for file in files}
        for group in native["findings"]:
            if paths.issuperset(place["path"] for place in group["places"]):
                yield Item(f"{self.times(group)} {group['rule']} {group['message']}", [group["advice"]])

    def operators(self, operators: Sequence[Json]) -> Iterator[Block]:
        if not operators:
            return
        yield Heading(self.say("analysis_operators"))
        rows = [
            (
                entry["count"],
                entry["rule"],
                self.say(_WEIGHTS.get(str(entry["severity"]), str(entry["severity"]))),
                entry["name"],
                _where(entry["places"][0]),
            )
            for entry in operators
        ]
        head = ("n", self.say("rule"), self.say("weight"), self.say("name"), self.say("first_place"))
        yield Table(head, rows[:MOST_FILES], code=True)
        yield from self.more(rows, MOST_FILES)
        firsts: dict[str, Json] = {}
        for entry in operators:
            firsts.setdefault(entry["rule"], entry)
        for entry in firsts.values():
            advice = [entry["advice"]] if entry["advice"] and entry["severity"] != "info" else []
            yield Item(f"{entry['rule']}: {entry['message']}", advice)

    def configuration(self, files: Sequence[Json], mentioned: Sequence[str]) -> Iterator[Block]:
        if not files:
            return
        yield Heading(self.say("analysis_configuration"))
        rows = [(*counts, self.of_folder(path, count)) for path, count, counts in _by_folder(files)]
        yield Table(tuple(map(self.say, ("to_convert", "to_look_at", "file"))), rows[:MOST_FILES], code=True)
        yield from self.more(rows, MOST_FILES)
        if mentioned:
            shown = [*mentioned[:MOST_PLACES], *("…" for _ in mentioned[MOST_PLACES : MOST_PLACES + 1])]
            yield Paragraph(self.say("analysis_mentioned", files=", ".join(shown)))

    def of_folder(self, path: str, count: int) -> str:
        return self.say("files_of_folder", path=path, count=count) if count > 1 else path

    def files(self, files: Sequence[Json]) -> Iterator[Block]:
        rows = [
            (
                file["blocker"],
                file["manual"],
                file["unsafe"],
                self.explained("effort", file["effort"])[0],
                file["path"],
            )
            for file in files
            if file["effort"] in ("medium", "high")
        ]
        if not rows:
            return
        yield Heading(self.say("analysis_files"))
        keys = ("wont_run", "to_look_at", "unsafe_short", "effort", "file")
        yield Table(tuple(self.say(key) for key in keys), rows[:MOST_FILES], code=True)
        yield from self.more(rows, MOST_FILES)

    def next(self, steps: Sequence[Json]) -> Iterator[Block]:
        yield Heading(self.say("analysis_next"))
        if not steps:
            kept = self.left_out or self.document["uses"]["kept"]
            yield Paragraph(self.say("analysis_next_kept" if kept else "next_nothing"))
        yield from (Command(step["command"], step["what"]) for step in steps)

    def more(self, listed: Sequence[object], most: int) -> Iterator[Block]:
        if len(listed) > most:
            yield Paragraph(self.say("analysis_more", count=len(listed) - most))


def _at(place: Json) -> tuple[str, int]:
    return place["path"], place["line"]


def _where(place: Json) -> str:
    cell = f":cell {place['cell']}" if "cell" in place else ""
    return f"{place['path']}{cell}:{place['line']}"


def _by_folder(files: Sequence[Json]) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Yield path, number of files and their counts, like files of one folder together: ``configs/*.yaml``."""
    groups: dict[tuple[str, str], list[Json]] = defaultdict(list)
    for file in files:
        at = PurePosixPath(file["path"])
        groups[str(at.parent), at.suffix or at.name].append(file)
    for (folder, suffix), members in groups.items():
        path = members[0]["path"] if len(members) == 1 else f"{folder}/*{suffix}"
        converted = sum(file["safe"] + file["unsafe"] for file in members)
        left = sum(file["manual"] + file["blocker"] for file in members)
        yield path, len(members), (converted, left)
