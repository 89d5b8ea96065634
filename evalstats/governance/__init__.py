"""What may be concluded from run records, and who may say so.

What a run is held against, upwards::

    baselines, captures         where a promoted run lies; which run is meant, and what is kept of it
    verdicts                    the rules of a verdict, on plain facts
    quantities, comparing       dimensions and aggregate with their noise; the whole comparison
    chain, reviews              an append-only file; who has looked at a run
    run_evidence, holdout_runs  is all there that a run stands on; did private holdouts regress
    refusals, promotion         what keeps a run from becoming the baseline; its promotion
    provenance                  where each baseline comes from
"""
