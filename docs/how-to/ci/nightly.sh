#!/bin/sh
# One night, with its history on a git branch that outlives this machine.
#
#     sh docs/how-to/ci/nightly.sh [SUITE... or any option of `evalstats nightly`]
#
# Run it from the root of the repository. Exit code: that of the night (0 pass, 1 regression, 2 bad input,
# 3 cannot gate, 4 inconclusive), or 5 when the history could not be kept.
set -u
BRANCH="${EVALS_BRANCH:-evals-history}"
HISTORY="${EVALS_HISTORY:-../evals-history}"

# The branch of the history, in a folder beside this checkout; the first night begins it.
if [ ! -e "$HISTORY" ]; then
    git worktree prune
    if git fetch --quiet origin "+refs/heads/$BRANCH:refs/remotes/origin/$BRANCH" 2>/dev/null; then
        git worktree add --quiet -B "$BRANCH" "$HISTORY" "origin/$BRANCH" || exit 5
    else
        git worktree add --quiet --detach "$HISTORY" || exit 5
        git -C "$HISTORY" switch --quiet --orphan "$BRANCH" || exit 5
    fi
fi

code=0
evalstats nightly --history "$HISTORY" "$@" || code=$?

# Whatever the night said, it is history now. A bad call (2) leaves nothing to keep.
if [ "$code" -ne 2 ]; then
    git -C "$HISTORY" add --all || exit 5
    git -C "$HISTORY" diff --cached --quiet || git -C "$HISTORY" commit --quiet -m "A night: exit code $code" || exit 5
    git -C "$HISTORY" push --quiet origin "HEAD:refs/heads/$BRANCH" || exit 5
fi
exit "$code"
