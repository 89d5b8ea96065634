"""A runner as a process of its own, for tests that signal and kill it.

``drive.py DATA SUITE RUN_ID JOBS TRIALS MODE`` runs or, where the run exists, resumes. One JSON line an event.
EXECUTOR in the environment says where the trials run.
"""

import json
import os
import resource
import sys
from pathlib import Path

from evalstats import runner
from evalstats.errors import EvalstatsError
from evalstats.suite import load


def main():
    data, suite, run_id, jobs, trials, mode = Path(sys.argv[1]), *sys.argv[2:]
    if "FILE_LIMIT" in os.environ:
        limit = int(os.environ["FILE_LIMIT"])
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if "OPEN_FILES" in os.environ:
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(os.environ["OPEN_FILES"]),) * 2)
    try:
        if list((data / "runs").glob(f"{run_id}*")):
            plan = runner.resume_plan(data, run_id)
        else:
            options = runner.Options(
                run_id=run_id,
                trials=int(trials),
                mode=mode,
                require_isolation=os.environ.get("REQUIRE"),
            )
            plan = runner.plan(load(Path(suite)), options)
        executor = os.environ.get("EXECUTOR", "local")
        result = runner.run(plan, data=data, jobs=int(jobs), executor=executor, on_event=tell)
    except EvalstatsError as error:
        print(json.dumps({"error": type(error).__name__, "message": str(error)}), flush=True)
        return error.exit_code
    print(json.dumps({"records": len(result.records), "stopped_by": result.stopped_by}), flush=True)
    return 0 if result.stopped_by is None else 128 + result.stopped_by


def tell(event):
    line = {"event": type(event).__name__}
    if isinstance(event, runner.events.TrialFinished):
        line["key"] = event.trial.key
    if isinstance(event, runner.events.TrialStarted):
        line["key"] = event.spec.key
    if isinstance(event, runner.events.Started):
        line["orphans"] = event.orphans
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
