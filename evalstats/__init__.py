"""Is this change real? Statistics, reports and gates for agent and LLM evals.

The flow, left to right; nobody looks ahead::

    suite -> trials -> journal -> store -> estimates -> notebook -> report -> gate
             (runner)                       ^
                                          stats

The rooms, bottom to top. The room is the API: ``from evalstats import store, estimates``.

=============  =====================================================================
errors         what can go wrong, sorted by who must act
contract       the words: enumerations, schemas, strict JSON, all problems at once
redact         credentials out of anything that leaves
suite          Suite, Case, Expectation; loading; the hash layers
trials         Trial and its stable key and seed
scoring        trial results and a suite's scoring -> case, dimension, aggregate, status
journal        append-only JSONL: write, read, recover a torn tail
artifacts      content-addressed blobs: stdout, stderr, transcripts
stats          arrays in, Estimate or Test out; imports nothing of evalstats
store          DuckDB: open, ingest, rebuild, one method per question
runner         plan, spawn, execute, judge expectations, write run records
estimates      the bridge: tidy trials x stats -> tidy results
report         notebook -> versioned bundle: build, charts, tables, page, verify
gate           published report x policy -> verdict with reasons
cli            one file per verb group; reads arguments and environment
=============  =====================================================================

This file imports nothing, so ``import evalstats.stats`` costs what ``stats`` costs.
"""
