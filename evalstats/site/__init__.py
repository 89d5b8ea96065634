"""The dashboard: static pages that stand on published reports and on the decisions of gates, and on nothing else.

===============  ==============================================================================================
:func:`build`    what lies in some :class:`Places` -> a folder of pages that works alone, put in place whole
:func:`serve`    that folder over loopback, until it is told to stop
===============  ==============================================================================================

Inside, what is read: ``published`` reports that are intact, ``decisions`` of gates, ``standing`` of the suites,
``holdouts`` as their keeper published them; ``known`` holds all of it, with every :class:`Problem` met. What is said:
``headline`` which lift may be one, ``overview`` the first page, ``suite_page`` that of one suite, ``lift_sections``
what both tell of a lift, ``pieces`` what a page is made of. ``writing`` puts the folder in place, ``serving`` shows it.

A figure on the dashboard is the very figure of a report, or draws the very estimates of several; nothing is estimated
here. What was altered is named and not shown. Of a private suite there is the published aggregate alone.
"""

from evalstats.site.known import Places
from evalstats.site.problems import Problem
from evalstats.site.serving import serve
from evalstats.site.writing import Built, build

__all__ = ["Built", "Places", "Problem", "build", "serve"]
