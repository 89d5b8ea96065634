"""Judges: asking a model for verdicts on stored transcripts, and asking whether it can be trusted.

Upwards, each file uses only those above it::

    families              of which family is a model
    fence                 a hostile text between delimiters that it cannot know
    questions             what is asked of a text, and what an answer means
    judge                 model + rubric + prompt -> one judgement
    transcripts           the runs of a name, their suite, the texts of their trials
    passes                what is missing is asked and journaled; which judge is deployed
    records               the run record with the votes of its judge
    labels                human verdicts as CSV, out and back
    exact, sentinel       has the judge changed? frozen texts, asked again
    verdicts              one verdict out of repeats
    rewordings            does it hang on the words of the question?
    migration             what moves when another judge takes its place
    escalation            what a person should label next

A judgement is a fact with a key of its own, beside the trial. How votes become a score is `evalstats.scoring.settled`;
where they are kept, `evalstats.judgements`; what they say about noise and accuracy, `evalstats.estimates`.
"""
