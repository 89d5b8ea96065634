"""How often does each test reject when nothing is going on? Its size, beside the declared 5%."""

from __future__ import annotations

