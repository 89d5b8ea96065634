-- The words (schemas/words.v1.json owns them; a test holds the two equal).
CREATE TYPE visibility AS ENUM ('public_canary', 'private_holdout');
CREATE TYPE tier AS ENUM ('deterministic', 'headless', 'live', 'release');
CREATE TYPE axis AS ENUM ('skill', 'context', 'candidate');
CREATE TYPE arm AS ENUM ('skill-on', 'skill-off', 'context-off', 'context-on', 'baseline', 'candidate');
CREATE TYPE status AS ENUM ('pass', 'fail', 'error', 'skipped', 'inconclusive');
CREATE TYPE outcome AS ENUM (
    'ok', 'timeout', 'limit', 'infrastructure', 'unscored', 'missing', 'skipped', 'degraded', 'contaminated'
);
CREATE TYPE isolation AS ENUM ('bwrap', 'subreaper', 'killpg');

-- Times are UTC. What is not known is NULL.
CREATE TABLE migrations (
    name VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);

-- One row a run, from its manifest.
CREATE TABLE runs (
    run_id VARCHAR PRIMARY KEY,
    group_id VARCHAR,
    suite_id VARCHAR NOT NULL,
    suite_path VARCHAR,
    tier tier,
    visibility visibility,
    axis axis,
    arm arm NOT NULL,
    mode VARCHAR,
    seed BIGINT,
    created_at TIMESTAMP NOT NULL,
    suite_sha256 VARCHAR,
    suite_canonical VARCHAR,
    suite_scoring VARCHAR,
    suite_policy VARCHAR,
    registry_version VARCHAR,
    cli_version VARCHAR,
    model VARCHAR,
    judge_model VARCHAR,
    judge_rubric_sha256 VARCHAR,
    runtime VARCHAR,
    is_mock BOOLEAN,
    trials_per_case BIGINT,
    manifest JSON NOT NULL
);

-- What was asked: the digest of each case of a run.
CREATE TABLE cases (
    run_id VARCHAR NOT NULL,
    case_id VARCHAR NOT NULL,
    case_hash VARCHAR NOT NULL
);

-- The facts, one row a trial. No index: at 1e8 rows it would not fit in memory. Ingest drops duplicates.
CREATE TABLE trials (
    trial_key VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    suite_id VARCHAR NOT NULL,
    case_id VARCHAR NOT NULL,
    archetype VARCHAR,
    arm arm NOT NULL,
    trial_index BIGINT NOT NULL CHECK (trial_index >= 1),
    attempt BIGINT NOT NULL CHECK (attempt >= 1),
    seed BIGINT,
    status status NOT NULL,
    outcome outcome NOT NULL,
    usable BOOLEAN NOT NULL,
    reason VARCHAR,
    score DOUBLE CHECK (NOT isnan(score) AND score >= 0 AND score <= 1),
    passed BOOLEAN,
    started_at TIMESTAMP NOT NULL,
    duration_s DOUBLE CHECK (NOT isnan(duration_s) AND duration_s >= 0),
    exit_code BIGINT,
    tokens_in BIGINT,
    tokens_out BIGINT,
    tokens_cache BIGINT,
    cost DOUBLE CHECK (NOT isnan(cost) AND cost >= 0),
    cost_source VARCHAR,
    tool_calls BIGINT,
    stop_reason VARCHAR,
    cited_cards VARCHAR[],
    cited_recipes VARCHAR[],
    error_class VARCHAR,
    isolation isolation,
    leftover_processes BIGINT,
    stdout_sha256 VARCHAR,
    stderr_sha256 VARCHAR,
    transcript_sha256 VARCHAR,
    CHECK (usable = (outcome IN ('ok', 'timeout', 'limit'))),
    CHECK (usable = (score IS NOT NULL)),
    CHECK (usable OR reason IS NOT NULL)
);

CREATE TABLE expectations (
    trial_key VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    case_id VARCHAR NOT NULL,
    idx BIGINT NOT NULL CHECK (idx >= 0),
    type VARCHAR NOT NULL,
    required BOOLEAN NOT NULL,
    passed BOOLEAN,
    detail VARCHAR NOT NULL
);

CREATE TABLE dimension_scores (
    trial_key VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    dimension VARCHAR NOT NULL,
    score DOUBLE CHECK (NOT isnan(score))
);

-- The journals that were read: their whole lines only, so that a grown journal is read on from there.
CREATE TABLE sources (
    path VARCHAR PRIMARY KEY,
    run_id VARCHAR NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 VARCHAR NOT NULL,
    lines BIGINT NOT NULL,
    torn BOOLEAN NOT NULL,
    ingested_at TIMESTAMP NOT NULL
);
