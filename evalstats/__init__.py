"""Is this change real? Statistics, reports and gates for agent and LLM evals.

The flow, left to right; nobody looks ahead::

    suite -> trials -> journal -> store -> estimates -> notebook -> report -> gate, site
             (runner, importers)            ^
                                          stats

The rooms, bottom to top. The room is the API: ``from evalstats import store, estimates``.

=============  =====================================================================
errors         what can go wrong, sorted by who must act
contract       the words: enumerations, schemas, strict JSON, all problems at once
redact         credentials and private text out of anything that leaves
suite          Suite, Case, Expectation; loading; the hash layers
trials         Trial, Judgement, Label and their stable keys and seeds
scoring        trial results and a suite's scoring -> case, dimension, aggregate, status
journal        append-only JSONL: write, read, recover a torn tail
artifacts      content-addressed blobs: stdout, stderr, transcripts
judgements     what judges and people said of trials, and which judge decides
importers      logs of other tools -> trials; one file a format
stats          arrays in, Estimate or Test out; imports nothing of evalstats
store          DuckDB: open, ingest, rebuild, one method per question
runner         plan, spawn, execute, runtimes, judge expectations, write run records
estimates      the bridge: tidy trials x stats -> tidy results
judging        a model as judge: ask, repeat, watch, migrate; labels of people
governance     lint, coverage, baselines, audits, locks, holdouts, quarantine, ratchet
report         notebook -> versioned bundle: build, charts, tables, page, verify
gate           published report x policy -> verdict with reasons
site           published reports and decisions -> static pages
selfcheck      published numbers, worked out again on this machine -> certificate
nightly        the order of a night: run, ingest, reports, gate
cli            one file per verb group; reads arguments and environment
=============  =====================================================================

This file imports nothing, so ``import evalstats.stats`` costs what ``stats`` costs.
"""
