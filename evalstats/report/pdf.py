"""A report's page on paper: WeasyPrint over ``report.html``, with its print style and without any network."""

from __future__ import annotations

from pathlib import Path

from evalstats.errors import UsageError
from evalstats.report import theme


def as_pdf(folder: Path) -> bytes:
    """Return the page of a version as PDF.

    Raises UsageError when the optional package is absent.
    """
    try:
        import weasyprint  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError as error:
        if error.name != "weasyprint":
            raise
        raise UsageError(
            "a PDF needs the optional package weasyprint; install evalstats-notebooks[pdf]", field="pdf"
        ) from None
    except OSError as error:  # the package is there, the libraries of the system under it are not
        raise UsageError(f"weasyprint finds no Pango on this system: {error}", field="pdf") from None
    text = theme.painted((folder / "report.html").read_text("utf-8"))
    page = weasyprint.HTML(string=text, url_fetcher=_refuse)
    return bytes(page.write_pdf(pdf_variant="pdf/ua-1"))


def _refuse(url: str, *_: object, **__: object) -> object:
    raise ValueError(f"a report asks for nothing, but this one asks for {url[:80]}")
