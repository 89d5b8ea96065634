"""The dashboard: static pages that stand on published reports and on the decisions of gates, and on nothing else.

===============  ==============================================================================================
:func:`build`    reports and decisions -> a folder of pages that works alone, put in place whole
:func:`serve`    that folder over loopback, until it is told to stop
===============  ==============================================================================================

Inside: ``published`` reads the newest intact version of every report, ``decisions`` the ledgers of gates; ``pages``
says what stands on which page, ``writing`` puts the folder in place, ``serving`` shows it. A figure on the dashboard
is the very figure of a report, never computed again. A report that was altered is named and not shown. Private
suites have no reports, so nothing here can tell of them.
"""

from evalstats.site.serving import serve
from evalstats.site.writing import Built, build

__all__ = ["Built", "build", "serve"]
