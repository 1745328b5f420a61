"""A trace as a tree for people, made of the JSON value alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.lineage.terminal_text import visible, wrapped

Json = dict[str, Any]

SHORT = 12  # digits of a hash that stand in the tree; the list of files has all


@dataclass
class Node:
    """A line of the tree and what is below it."""

    text: str
    below: list[Node] = field(default_factory=list)

    def add(self, text: str, below: Sequence[Node] = ()) -> Node:
        """A new node below this one."""
        node = Node(text, list(below))
        self.below.append(node)
        return node


def tree_text(document: Json, columns: int | None) -> str:
    """The tree, wrapped to a terminal's columns; None wraps nothing."""
    return "\n".join(_lines(_Tree(document).root(), columns)) + "\n"


class _Tree:
    def __init__(self, document: Json) -> None:
        self._document = document
        self._files = {file["path"]: file for file in document["files"]}

    def root(self) -> Node:
        document = self._document
        root = self._number(document)
        for part in document.get("parts", ()):
            node = self._number(part)
            node.text = f"{visible(part['role'])}: {node.text}"
            root.below.append(node)
        files = root.add(f"files: {len(document['files'])}, each hashed just now (SHA-256, bytes)")
        for file in document["files"]:
            files.add(f"{file['sha256']} {file['bytes']:>9} {visible(file['path'])}: {_record(file)}")
        run = document["run"]
        root.add(
            f"run: {visible(str(run['run_name']))}, id {run['run_id']}, "
            f"weights {run['scoring_scheme']}; read from {visible(run['name'])}"
        )
        if run["signature"]:
            root.add(f"signature: {visible(str(run['signature']))}")
        if document["agrees"]:
            root.add("everything agrees: report, sum and count, the files' hashes, and each step shown")
        else:
            root.add("DOES NOT AGREE:", [Node(visible(problem)) for problem in document["problems"]])
        return root

    def _number(self, number: Json) -> Node:
        node = Node(f"{number['metric']} = {_value(number['value'])}")
        node.add(f"what: {number['meaning']}")
        over = [f"{_said(k)} {visible(v)}" for k, v in (number["where"] | number["counted"]).items()]
        if number["common_cells_only"]:
            over.append("common cells only: those that every participant has a valid verdict on")
        node.add(f"of: {', '.join(over) or 'the whole run'}")
        node.add(f"formula: {number['formula']}")
        node.add(f"recomputed: {visible(number['calculation'])} = {_value(number['value'])}")
        if report := number["report"]:
            word = "agrees" if report["agrees"] else "DIFFERS"
            node.add(f"report: {_value(report['value'])} ({word}) at {self._at(report['at'])}")
        if nothing := number.get("nothing"):
            node.add(f"{nothing['why']}: {self._at(nothing['at'])} has no rows")
        for name, show in (
            ("cells", self._cell),
            ("attempts", self._attempt),
            ("translation_failures", self._failure),
        ):
            if group := number.get(name):
                node.add(_group(name, group), [show(each) for each in group["list"]])
        return node

    def _cell(self, cell: Json) -> Node:
        amount = "not counted" if cell["amount"] is None else cell["amount"]
        name = visible(f"{cell['item_id']} {cell['language']} {cell['participant_id']}")
        node = Node(f"{amount}: {name}")
        failure = f" ({cell['judge_failure']})" if "judge_failure" in cell else ""
        node.add(f"cell: {cell['status']}{failure}, {self._at(cell['at'])}")
        for verdict in cell["verdicts"]:
            several = f"verdict {verdict['repeat'] + 1}: " if len(cell["verdicts"]) > 1 else ""
            node.below.append(self._verdict(verdict, several))
        if lost := cell.get("no_answer"):
            node.add(f"raw answer: {self._absent(lost)}")
        if request := cell.get("request"):
            node.below.append(self._request(request))
        node.below.append(self._item(cell["item"]))
        translation = cell["translation"]
        if translation["text"] is None:
            node.add(f"translation: {visible(translation['why'])}")
        else:
            node.add(f"translation: {self._at(translation['at'])}", _texts(translation["text"]))
        for failed in cell.get("translation_failures", ()):
            node.add(f"failure to translate: {visible(failed['reason'])}, {self._at(failed['at'])}")
        return node

    def _verdict(self, verdict: Json, several: str) -> Node:
        errors = verdict["errors"]
        if verdict["status"] == "ok":
            weights = " + ".join(error["weight"] for error in errors) or "no error"
            equals = "by the limits of the scheme, of" if verdict["limited"] else "="
            node = Node(f"{several}penalty: {verdict['penalty']} {equals} {weights}")
        else:
            node = Node(f"{several}no penalty: {visible(verdict.get('reason') or verdict['status'])}")
        for error in errors:
            span = "" if error["span"] is None else f' "{visible(error["span"])}"'
            node.add(
                f"{error['weight']}: {error['severity']} {error['error_class']}{span}, "
                f"span {error['span_location']}, {self._at(error['at'])}"
            )
        node.add(f"label: {verdict['label'] or 'none'}")
        if verdict["repairs"]:
            node.add(f"repaired: {', '.join(verdict['repairs'])}")
        again = _again(verdict["read_again"], "the same", "SOMETHING ELSE")
        node.add(f"as read: {self._at(verdict['at'])}; read again just now: {again}")
        node.below.append(self._answer(verdict["answer"]))
        return node

    def _answer(self, answer: Json) -> Node:
        if "at" not in answer:
            return Node(f"raw answer: {self._absent(answer)}")
        word = "" if answer.get("agrees", True) else " IS NOT THE TEXT THAT WAS READ"
        node = Node(f"raw answer: {self._at(answer['at'])}{word}", _texts(answer["text"]))
        for attempt in answer.get("attempts", ()):
            chosen = "; this one counts" if attempt["number"] == answer["selected_attempt"] else ""
            node.add(f"attempt {attempt['number']} of {len(answer['attempts'])}: {_attempt(attempt)}{chosen}")
        if recorded := answer.get("recorded"):
            if "at" in recorded:
                word = "the same line" if recorded["agrees"] else "ANOTHER ANSWER"
                node.add(f"recorded: {self._at(recorded['at'])}, {word}")
            else:
                node.add(f"recorded: {recorded['why']}")
        return node

    def _request(self, request: Json) -> Node:
        if "hash" not in request:
            return Node(f"request: {request['why']}")
        node = Node(f"request: {request['hash']}")
        if "at" in request:
            node.add(f"line: {self._at(request['at'])}")
        if "why" in request:
            node.add(visible(request["why"]))
        if again := request.get("rendered_again"):
            word = _again(again, "the same hash", f"ANOTHER HASH, {again['hash']}")
            made = node.add(f"rendered again just now: {word}; made of item, translation and")
            for part in request["made_from"]:
                made.add(self._at(part))
            node.add(f"exact bytes: python -m pipeline requests show {request['hash'][:SHORT]}")
        return node

    def _item(self, item: Json) -> Node:
        if "at" not in item:
            return Node(f"item: {self._absent(item)}")
        node = Node(f"item: {self._at(item['at'])}")
        for turn in item["context"]:
            when = f", {turn['relative_time_label']}" if turn["relative_time_label"] else ""
            node.add(visible(f"{turn['speaker_role']}{when}: {turn['source_text']}"))
        node.add(f"to translate: {visible(item['source'])}")
        return node

    def _attempt(self, attempt: Json) -> Node:
        amount = "not counted" if attempt["amount"] is None else attempt["amount"]
        node = Node(f"{amount}: attempt {attempt['attempt']} at request {attempt['request_hash'][:SHORT]}")
        node.add(f"row: {self._at(attempt['at'])}")
        cost = attempt["cost_nano_usd"]
        node.add(
            f"tokens: {attempt['prompt_tokens']} asked, {attempt['completion_tokens']} answered, "
            f"{attempt['reasoning_tokens']} reasoned; cost: "
            + ("not said" if cost is None else f"{cost} billionths of a dollar")
        )
        for cell in attempt["cells"]:
            node.add(f"about the cell: {visible(' '.join(cell))}")
        if "answer" in attempt:
            node.below.append(self._answer(attempt["answer"]))
        node.below.append(self._request(attempt["request"]))
        return node

    def _failure(self, failure: Json) -> Node:
        name = visible(f"{failure['item_id']} {failure['language']} {failure['participant_id']}")
        node = Node(f"{failure['amount']}: {name}")
        node.add(f"row: {self._at(failure['at'])}; the cell is {failure['status']} now")
        for line in failure["lines"]:
            node.add(f"reason: {visible(line['reason'])}, {self._at(line['at'])}")
        node.below.append(self._item(failure["item"]))
        return node

    def _absent(self, absent: Json) -> str:
        where = ", ".join(self._at(place) for place in absent["searched"])
        return f"{absent['why']} in {where}" if where else str(absent["why"])

    def _at(self, place: Json) -> str:
        """A place with its file's short hash and whether the records agree."""
        inside = f"#{place['pointer']}" if place.get("pointer") else ""
        number = "".join(f" {word} {place[word]}" for word in ("line", "row") if place.get(word))
        file = self._files[place["path"]]
        word = "DIFFERS" if "differs" in (file["manifest"], file["dvc_lock"]) else "agrees"
        if not {"agrees", "differs"} & {file["manifest"], file["dvc_lock"]}:
            word = "in no record"
        return f"{visible(place['path'])}{visible(inside)}{number} [{file['sha256'][:SHORT]} {word}]"


def _group(name: str, group: Json) -> str:
    text = f"{name.replace('_', ' ')}: {group['counted']} counted"
    if group["not_counted"]:
        text += f" of {group['total']} (not counted: "
        text += ", ".join(f"{count} {status}" for status, count in group["not_counted"].items()) + ")"
    if group["shown"] < group["total"]:
        text += f"; the {group['shown']} with the largest amounts (--all shows every one)"
    return text


def _attempt(attempt: Json) -> str:
    usage, cost = attempt["usage"] or {}, attempt["cost_nano_usd"]
    parts = (
        attempt["backend"],
        f"HTTP {attempt['http_status']}",
        f"ended by {attempt['finish_reason']}" if attempt["finish_reason"] else "",
        f"served by {attempt['served_model']}" if attempt["served_model"] else "",
        f"{usage.get('prompt_tokens')} + {usage.get('completion_tokens')} tokens" if usage else "",
        "cost not said" if cost is None else f"{cost} billionths of a dollar",
        f"response body {attempt['raw_sha256'][:SHORT]}",
    )
    return visible(", ".join(part for part in parts if part))


def _again(step: Json, same: str, other: str) -> str:
    """How a step that was done again came out; ``why`` excuses another result."""
    if step["agrees"]:
        return same
    return f"{other.lower()}, as {step['why']}" if "why" in step else other


def _record(file: Json) -> str:
    agrees = [name for name in ("manifest", "dvc_lock") if file[name] == "agrees"]
    differs = [name for name in ("manifest", "dvc_lock") if file[name] == "differs"]
    words = [f"agrees with {' and '.join(agrees)}"] if agrees else []
    words += [f"DIFFERS from {' and '.join(differs)}"] if differs else []
    return ", ".join(words).replace("dvc_lock", "dvc.lock") or "itself a record, in no other"


def _texts(text: str | None) -> list[Node]:
    return [Node(f"| {visible(line)}") for line in (text or "").split("\n")]


def _said(name: str) -> str:
    return name.removesuffix("_id").replace("_", " ")


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lines(node: Node, columns: int | None, first: str = "", rest: str = "") -> Iterator[str]:
    texts = [node.text] if columns is None else list(wrapped(node.text, columns - len(rest) - 3))
    guide = rest + ("│  " if node.below else "   ")
    yield first + texts[0]
    for text in texts[1:]:
        yield guide + text
    for number, child in enumerate(node.below):
        last = number == len(node.below) - 1
        yield from _lines(
            child, columns, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")
        )
