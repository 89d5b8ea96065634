#!/bin/sh
# Is this change worse than the nights before it? For a pull request (some cases) or a release tag (all of them).
#
#     sh docs/how-to/ci/change.sh SUITE [--smoke]
#
# Run it from the root of the repository, with the branch of the history fetched. The history is read, never
# written: a change becomes a yardstick when it has landed and a night has run it. Exit code: that of the gate.
set -eu
SUITE="$1"
BRANCH="${EVALS_BRANCH:-evals-history}"
DATA="${EVALS_DATA:-data/change}"
POLICY="${EVALS_POLICY:-evals/$SUITE/policy.json}"
SUMMARY="${GITHUB_STEP_SUMMARY:-$DATA/change.md}"

# A copy of the history: the runs as Parquet, and which of them the gate blocked.
rm -rf "$DATA"
mkdir -p "$DATA"
git archive "refs/remotes/origin/$BRANCH" | tar -x -C "$DATA"

cases=""
if [ "${2:-}" = "--smoke" ]; then
    # Exit code 3: so few cases cannot see the margin. Then the gate says so too; its verdict is what counts.
    evalstats smoke "$SUITE" --policy "$POLICY" --data "$DATA" --store "$DATA/lake" --out "$DATA/smoke.json" || [ $? -eq 3 ]
    cases=$(python3 -c 'import json, sys; [print("--case", case) for case in json.load(open(sys.argv[1]))["case_ids"]]' "$DATA/smoke.json")
fi

# Exit code 1: some case failed. Whether that is worse than before is for the gate to say.
# shellcheck disable=SC2086  # one word each
evalstats run "$SUITE" --mode "${EVALS_MODE:-both}" --data "$DATA" --summary $cases || [ $? -eq 1 ]
evalstats db export --parquet "$DATA/lake" --data "$DATA"
evalstats report variance_bands -p "suite=$SUITE" --data "$DATA" --store "$DATA/lake"
exec evalstats gate "variance_bands/$SUITE" --policy "$POLICY" --data "$DATA" \
    --summary "$SUMMARY" --junit "$DATA/change.xml" ${cases:+--smoke}
