"""DuckDB: open, ingest, rebuild, and one method a question. No other room knows DuckDB.

==================  ==============================================================================
:func:`open`        a database file or a folder of Parquet -> :class:`Store`, which answers questions
:func:`ingest`      what is new in the run folders -> the store
:func:`rebuild`     the store anew from the run folders, in place of the old one
:func:`check`       where store and run folders disagree
:func:`export_parquet`  the whole store -> a folder of Parquet
:func:`snapshot`    the inputs of one report -> a folder of Parquet
:func:`rows_digest` what a table says, as a digest
:func:`fingerprint` what a store says, as one digest a table
:func:`enum_values` the words as the SQL schema spells them
==================  ==============================================================================

Inside: ``sql/`` the statements; ``database`` opens and migrates; ``rows`` turns trials into Arrow;
``journals`` reads the run folders and ``agreement`` compares; ``questions`` asks; ``lake`` writes Parquet;
``digests`` says when two stores or tables are equal.
"""

from evalstats.store.agreement import Finding, check
from evalstats.store.database import enum_values
from evalstats.store.digests import fingerprint, rows_digest
from evalstats.store.journals import IngestReport, ingest, rebuild
from evalstats.store.lake import export_parquet, snapshot
from evalstats.store.questions import Store, open

__all__ = [
    "Finding",
    "IngestReport",
    "Store",
    "check",
    "enum_values",
    "export_parquet",
    "fingerprint",
    "ingest",
    "open",
    "rebuild",
    "rows_digest",
    "snapshot",
]
