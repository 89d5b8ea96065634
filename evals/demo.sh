#!/bin/sh
# The demo of `make demo`: real runs of the bundled suites, a store, a report, a verdict. Needs `evalstats` on PATH.
set -eu
DATA="${DATA:-data}" TRIALS="${TRIALS:-5}" RUNS="${RUNS:-9}"

say() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }

say "Two small suites, both arms: what does the skill change?"
show evalstats run contract-canaries --data "$DATA"
show evalstats run ab-demo --mode both --data "$DATA"
show evalstats run weights-demo --mode both --data "$DATA"

say "A stochastic subject: $RUNS runs of the solver, both arms, $TRIALS trials a case"
run=1
while [ "$run" -le "$RUNS" ]; do
    # Exit code 1: some cases fail, as they should; the solver is not perfect. Anything else stops the demo.
    evalstats run solver --mode both --trials "$TRIALS" --data "$DATA" --summary || [ $? -eq 1 ]
    run=$((run + 1))
done

say "A report with honest error bars"
show evalstats report variance_bands lift nightly -p suite=solver --data "$DATA"
show evalstats report verify variance_bands/solver --data "$DATA"

say "Is the last run worse than its history?"
code=0
show evalstats gate variance_bands/solver --policy evals/solver/policy.json --data "$DATA" || code=$?
case "$code" in
    0) echo "Exit code 0: a change would land." ;;
    1) echo "Exit code 1: a change would be blocked." ;;
    3) echo "Exit code 3: the gate says why it cannot judge. That is an answer, not a failure of the demo." ;;
    4) echo "Exit code 4: neither blocked nor cleared; more runs would tell." ;;
    *) exit "$code" ;;
esac

say "The dashboard: static pages of all that was published"
show evalstats site build --data "$DATA"

say "Where to look"
echo "the dashboard   $DATA/site/index.html"
printf 'the report      %s\n' "$(evalstats report path variance_bands/solver --data "$DATA")"
echo "all versions    .venv/bin/evalstats report list"
echo "all runs        .venv/bin/evalstats runs"
