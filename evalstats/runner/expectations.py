"""Does a trial meet an expectation? One small function per type; no judge, no network.

A check answers yes, no, or None where it cannot be decided: nobody reviewed, no judge ran, no manifest is
there, no command ran. Details are short sentences that name targets and never quote what a trial wrote.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from typing import Any

from evalstats import contract
from evalstats.contract import ExpectationType as Type
from evalstats.runner import terraform
from evalstats.runner.evidence import Absent, Evidence, at_path, same, short
from evalstats.suite import Case, Expectation, is_inside_path
from evalstats.trials import ExpectationResult

Finding = tuple[bool | None, str]
Check = Callable[[Expectation, Evidence], Finding]


def check_case(case: Case, evidence: Evidence) -> tuple[ExpectationResult, ...]:
    """Return what came of every expectation of a case."""
    return tuple(check(e, evidence, index) for index, e in enumerate(case.expectations))


def check(expectation: Expectation, evidence: Evidence, index: int = 0) -> ExpectationResult:
    """Return what came of one expectation, the ``index``-th of its case."""
    passed, detail = _find(expectation, evidence)
    return ExpectationResult(
        index=index, type=expectation.type, required=expectation.required, passed=passed, detail=detail
    )


def _find(expectation: Expectation, evidence: Evidence) -> Finding:
    if not evidence.has_output and _needs_command(expectation):
        return None, f"{expectation.type} is undecided: no command ran"
    try:
        return _CHECKS[expectation.type](expectation, evidence)
    except Absent as absent:
        return False, str(absent)


def _needs_command(expectation: Expectation) -> bool:
    if expectation.type in (Type.REGEX, Type.NOT_CONTAINS):
        return expectation.target in (None, "stdout", "stderr")
    return expectation.type not in _WITHOUT_OUTPUT


def pattern(text: str) -> Any:
    """Return a compiled RE2 pattern: linear in the text, whatever the pattern. Raises ValueError."""
    try:
        return _compiled(text)
    except Exception as error:  # re2.error is no ValueError, and its message is a bytes object
        raise ValueError(
            "is not a pattern of RE2 (which has no look-around and no back-references)"
        ) from error


@functools.lru_cache(maxsize=1024)
def _compiled(text: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile(text, options)


def is_known_schema(name: str) -> bool:
    """Return whether ``name`` is the id of one of our schemas, not a path."""
    return is_inside_path(name) and (contract.packaged("schemas") / f"{name}.json").is_file()


def _wanted(expectation: Expectation) -> str:
    return str(expectation.value)


def _target(expectation: Expectation) -> str:
    return str(expectation.target)


def _threshold(expectation: Expectation) -> float:
    return float(expectation.value if expectation.threshold is None else expectation.threshold)


# --- the process ---------------------------------------------------------------------------------


def _exit_code(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is the exit code ``value`` (0 unless given)? A command killed by signal N has exit code -N."""
    wanted = 0 if expectation.value is None else expectation.value
    if evidence.exit_code is None:
        return None, "exit_code is undecided: the runtime has none"
    if evidence.exit_code == wanted:
        return True, f"exit_code matched {wanted}"
    return False, f"exit_code was {evidence.exit_code}, expected {wanted}"


# --- text ----------------------------------------------------------------------------------------


def _stdout_contains(expectation: Expectation, evidence: Evidence) -> Finding:
    """Does stdout hold ``value``?"""
    return _holds("stdout", _wanted(expectation) in evidence.stdout)


def _stderr_contains(expectation: Expectation, evidence: Evidence) -> Finding:
    """Does stderr hold ``value``?"""
    return _holds("stderr", _wanted(expectation) in evidence.stderr)


def _auto_detect(expectation: Expectation, evidence: Evidence) -> Finding:
    """Does stdout hold ``value``, as it stands or inside one string value of its JSON (or JSON lines)?"""
    wanted = _wanted(expectation)
    return _holds("stdout", wanted in evidence.stdout or any(wanted in t for t in evidence.stdout_strings))


def _artifact_contains(expectation: Expectation, evidence: Evidence) -> Finding:
    """Does the file ``target`` hold ``value``?"""
    text = evidence.file_text(_target(expectation))
    return _holds(f"file {short(_target(expectation))}", _wanted(expectation) in text)


def _regex(expectation: Expectation, evidence: Evidence) -> Finding:
    """Does the RE2 pattern ``value`` match in ``target`` (stdout, stderr or a file; stdout if none)?"""
    found = pattern(str(expectation.value)).search(evidence.text(expectation.target)) is not None
    where = short(expectation.target or "stdout")
    return found, f"{where} matches the pattern" if found else f"{where} does not match the pattern"


def _not_contains(expectation: Expectation, evidence: Evidence) -> Finding:
    """Does ``target`` (stdout, stderr or a file; stdout if none) lack ``value``? A missing file fails."""
    found = _wanted(expectation) in evidence.text(expectation.target)
    where = short(expectation.target or "stdout")
    return not found, f"{where} holds the unwanted text" if found else f"{where} lacks the unwanted text"


def _holds(where: str, found: bool) -> Finding:
    return found, f"{where} holds the expected text" if found else f"{where} lacks the expected text"


# --- files and JSON ------------------------------------------------------------------------------


def _file_exists(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is there a file or folder ``target``?"""
    return _is_there(expectation, evidence)


def _file_absent(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is there no file or folder ``target``?"""
    found, detail = _is_there(expectation, evidence)
    return not found, detail


def _is_there(expectation: Expectation, evidence: Evidence) -> tuple[bool, str]:

    found = os.path.exists(evidence.path(_target(expectation)))
    return found, f"{short(_target(expectation))} {'exists' if found else 'does not exist'}"


def _json_path(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is the value at ``target`` in the JSON of stdout equal to ``value`` (or, without one, there at all)?"""
    target = _target(expectation)
    value = at_path(evidence.stdout_json, target)
    if expectation.value is None:
        return True, f"{short(target)} is there"
    equal = same(value, expectation.value)
    return equal, f"{short(target)} {'is' if equal else 'is not'} the expected value"


def _schema_valid(expectation: Expectation, evidence: Evidence) -> Finding:
    """Does ``target`` (``suite``, or a JSON file) keep the schema ``value`` (an id of ours, or a file)?"""
    if expectation.target == "suite":
        document, schema = evidence.suite.document, "eval-suite.v1"
    else:
        document, schema = evidence.file_json(_target(expectation)), _wanted(expectation)
    count = _schema_problems(document, schema, evidence)
    return not count, f"{short(_target(expectation))} keeps its schema" if not count else (
        f"{short(_target(expectation))} breaks its schema in {count} place(s)"
    )


def _schema_problems(document: Any, schema: str, evidence: Evidence) -> int:
    if is_known_schema(schema):
        return len(contract.problems(document, schema))
    import jsonschema_rs

    try:
        validator = jsonschema_rs.validator_for(evidence.file_json(schema), retriever=_no_network)
    except ValueError:
        raise Absent(f"file {short(schema)} is not a JSON Schema that stands alone") from None
    return sum(1 for _ in validator.iter_errors(document))


def _no_network(uri: str) -> Any:
    raise ValueError("a schema is never fetched")


def _score_at_least(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is the number at ``target`` in the JSON of stdout (without one: stdout itself) >= ``threshold``?"""
    value = at_path(evidence.stdout_json, expectation.target or "$")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False, f"{short(expectation.target or 'stdout')} is not a number"
    least = _threshold(expectation)
    return value >= least, f"score {value:g} is {'at least' if value >= least else 'below'} {least:g}"


# --- lift suites: text checks on stdout -----------------------------------------------------------


def _resource_present(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is the Terraform resource ``value`` (type or type.name) declared or addressed?"""
    return _text_check("declares", expectation, terraform.has_resource(evidence.stdout, _wanted(expectation)))


def _no_resource(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is the Terraform resource ``value`` neither declared nor addressed?"""
    found, detail = _resource_present(expectation, evidence)
    return not found, detail


def _cites(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is the card, recipe or path ``value`` named, not as part of a longer name?"""
    return _text_check("cites", expectation, terraform.cites(evidence.stdout, _wanted(expectation)))


def _argument_present(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is the argument ``value`` set (with ``target``, a resource type: in a resource of that type)?"""
    found = terraform.has_argument(evidence.stdout, _wanted(expectation), expectation.target)
    return _text_check("sets", expectation, found)


def _argument_absent(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is the argument ``value`` not set (with ``target``: not in a resource of that type)?"""
    found, detail = _argument_present(expectation, evidence)
    return not found, detail


def _import_syntax(expectation: Expectation, evidence: Evidence) -> Finding:
    """Is the resource ``value`` imported, by a ``terraform import`` line or an ``import`` block?"""
    return _text_check("imports", expectation, terraform.has_import(evidence.stdout, _wanted(expectation)))


def _text_check(verb: str, expectation: Expectation, found: bool) -> Finding:
    return found, f"stdout {verb} {short(_wanted(expectation))}" if found else (
        f"nothing in stdout {verb} {short(_wanted(expectation))}"
    )


# --- undecided -----------------------------------------------------------------------------------


def _undecided(detail: str) -> Check:
    def undecided(expectation: Expectation, evidence: Evidence) -> Finding:
        return None, detail

    return undecided


_CHECKS: dict[Type, Check] = {
    Type.EXIT_CODE: _exit_code,
    Type.STDOUT_CONTAINS: _stdout_contains,
    Type.STDERR_CONTAINS: _stderr_contains,
    Type.STDOUT_CONTAINS_AUTO_DETECT: _auto_detect,
    Type.FILE_EXISTS: _file_exists,
    Type.FILE_ABSENT: _file_absent,
    Type.ARTIFACT_CONTAINS: _artifact_contains,
    Type.JSON_PATH: _json_path,
    Type.SCHEMA_VALID: _schema_valid,
    Type.SCORE_AT_LEAST: _score_at_least,
    Type.MANUAL_REVIEW: _undecided("manual review has not been done"),
    Type.REGEX: _regex,
    Type.NOT_CONTAINS: _not_contains,
    Type.JUDGE: _undecided("no judge was run"),
    Type.RESOURCE_PRESENT: _resource_present,
    Type.NO_RESOURCE: _no_resource,
    Type.CITES_CARD: _cites,
    Type.CITES_RECIPE: _cites,
    Type.CITES_PATH: _cites,
    Type.ARGUMENT_PRESENT: _argument_present,
    Type.ARGUMENT_ABSENT: _argument_absent,
    Type.IMPORT_SYNTAX_MATCH: _import_syntax,
    Type.MANIFEST_CHECK: _undecided("there is no manifest to check against"),
}

# All others ask about output, and without a command there is none.
_WITHOUT_OUTPUT = {
    Type.FILE_EXISTS,
    Type.FILE_ABSENT,
    Type.ARTIFACT_CONTAINS,
    Type.SCHEMA_VALID,
    Type.MANUAL_REVIEW,
    Type.JUDGE,
    Type.MANIFEST_CHECK,
}
