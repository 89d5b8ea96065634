"""A store from before control groups takes trials that ran in one, and keeps what it had."""

from evalstats import store
from evalstats.store import database, sql

ROW = (
    "INSERT INTO trials (trial_key, run_id, suite_id, case_id, arm, trial_index, attempt, status, outcome,"
    " usable, score, started_at, isolation)"
    " VALUES (?, 'r', 's', 'c', 'skill-on', 1, 1, 'pass', 'ok', true, 1, now()::TIMESTAMP, ?)"
)


def test_a_word_is_added_to_what_is_there(tmp_path, monkeypatch):
    path, names = tmp_path / "s.duckdb", sql.names("schema")
    with monkeypatch.context() as earlier:
        earlier.setattr(sql, "names", lambda folder: [name for name in names if name < "0004"])
        database._expected_catalog.cache_clear()
        with store.open(path) as opened:
            opened.connection.execute(ROW, ["old", "bwrap"])
    database._expected_catalog.cache_clear()
    with store.open(path) as opened:
        opened.connection.execute(ROW, ["new", "cgroup"])
        kept = opened.connection.execute("SELECT trial_key, isolation FROM trials ORDER BY 1").fetchall()
    assert kept == [("new", "cgroup"), ("old", "bwrap")]
