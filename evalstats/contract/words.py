"""The enumerations, spelled for people and type checkers. ``schemas/words.v1.json`` owns them."""

from __future__ import annotations

from enum import StrEnum

# What must be the same for two runs to be looks at one subject; the ``identity`` of schemas/report.v1.json.
IDENTITY = ("suite_scoring", "model", "judge_model", "judge_rubric_sha256", "registry_version", "cli_version")
# What a live runtime is told in the skill-off arm, word for word; records carry its digest.
SUPPRESSION = "Constraint: Do NOT load additional skills or plugins. Work only with base agent capabilities."


class Visibility(StrEnum):
    """May the content of the suite be shown to everyone?"""

    PUBLIC_CANARY = "public_canary"
    PRIVATE_HOLDOUT = "private_holdout"


class Tier(StrEnum):
    """How much of the world a run of the suite needs."""

    DETERMINISTIC = "deterministic"
    HEADLESS = "headless"
    LIVE = "live"
    RELEASE = "release"


class CaseKind(StrEnum):
    """What is done with a case."""

    COMMAND = "command"
    HOOK_EVENT = "hook_event"
    SKILL_CONTRACT = "skill_contract"
    RPI_FLOW = "rpi_flow"
    RETRIEVAL_QUERY = "retrieval_query"
    SCENARIO = "scenario"
    RUNTIME_PROMPT = "runtime_prompt"
    ARTIFACT_CHECK = "artifact_check"


class ExpectationType(StrEnum):
    """What an expectation checks."""

    EXIT_CODE = "exit_code"
    STDOUT_CONTAINS = "stdout_contains"
    STDERR_CONTAINS = "stderr_contains"
    STDOUT_CONTAINS_AUTO_DETECT = "stdout_contains_auto_detect"
    FILE_EXISTS = "file_exists"
    FILE_ABSENT = "file_absent"
    ARTIFACT_CONTAINS = "artifact_contains"
    JSON_PATH = "json_path"
    SCHEMA_VALID = "schema_valid"
    SCORE_AT_LEAST = "score_at_least"
    MANUAL_REVIEW = "manual_review"
    REGEX = "regex"
    NOT_CONTAINS = "not_contains"
    JUDGE = "judge"
    RESOURCE_PRESENT = "resource_present"
    NO_RESOURCE = "no_resource"
    CITES_CARD = "cites_card"
    CITES_RECIPE = "cites_recipe"
    CITES_PATH = "cites_path"
    ARGUMENT_PRESENT = "argument_present"
    ARGUMENT_ABSENT = "argument_absent"
    IMPORT_SYNTAX_MATCH = "import_syntax_match"
    MANIFEST_CHECK = "manifest_check"


class Axis(StrEnum):
    """What differs between two arms."""

    SKILL = "skill"
    CONTEXT = "context"
    CANDIDATE = "candidate"


class Arm(StrEnum):
    """One condition that is compared."""

    SKILL_ON = "skill-on"
    SKILL_OFF = "skill-off"
    CONTEXT_OFF = "context-off"
    CONTEXT_ON = "context-on"
    BASELINE = "baseline"
    CANDIDATE = "candidate"


class Status(StrEnum):
    """How a case or a run ended."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIPPED = "skipped"
    INCONCLUSIVE = "inconclusive"


class Outcome(StrEnum):
    """How a trial ended. The first three are the subject's doing and usable."""

    OK = "ok"
    TIMEOUT = "timeout"
    LIMIT = "limit"
    INFRASTRUCTURE = "infrastructure"
    UNSCORED = "unscored"
    MISSING = "missing"
    SKIPPED = "skipped"
    DEGRADED = "degraded"
    CONTAMINATED = "contaminated"

    usable: bool  # whether a trial with this outcome carries a score; asked of every row, so settled once

    def __init__(self, word: str) -> None:
        self.usable = word in ("ok", "timeout", "limit")


class DegradedReason(StrEnum):
    """Why a trial of the context axis says nothing about its context: the whole list."""

    HOOKS_DISABLED = "hooks_disabled"
    CONTEXT_ROOT_UNAVAILABLE = "context_root_unavailable"
    CONTEXT_ROOT_MUTATED_LIVE_STATE = "context_root_mutated_live_state"
    CONTEXT_VARIANT_UNSUPPORTED = "context_variant_unsupported"
    INSUFFICIENT_DECISION_EVIDENCE = "insufficient_decision_evidence"
    RUNTIME_UNAVAILABLE = "runtime_unavailable"


class Verdict(StrEnum):
    """What a comparison concluded."""

    PASS = "pass"
    FAIL = "fail"
    IMPROVEMENT = "improvement"
    REGRESSION = "regression"
    ADVISORY = "advisory"
    INCONCLUSIVE = "inconclusive"


class GateVerdict(StrEnum):
    """What a gate decided."""

    PASS = "pass"
    REGRESSION = "regression"
    CANNOT_GATE = "cannot_gate"
    INCONCLUSIVE = "inconclusive"


class GateStatistic(StrEnum):
    """The number of a run that a gate follows."""

    PASS_RATE = "pass_rate"
    DIFFERENCE = "difference"
    LIFT = "lift"


class GateRule(StrEnum):
    """How a gate decides."""

    THREE_VERDICT = "three-verdict"
    LEGACY = "legacy"
    NON_INFERIORITY = "non-inferiority"
    ABSOLUTE = "absolute"
    PER_CASE = "per-case"
    CRITICAL = "critical"
    MINIMUM_DELTA = "minimum-delta"


class Isolation(StrEnum):
    """What held the process tree of a trial together, strongest first."""

    BWRAP = "bwrap"
    CGROUP = "cgroup"
    SUBREAPER = "subreaper"
    KILLPG = "killpg"
