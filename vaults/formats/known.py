"""The formats that are read, each with the module that reads it."""

from __future__ import annotations

from dataclasses import dataclass

OFFICE = "application/vnd.openxmlformats-officedocument"


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format by name. ``module``: of this package, with ``parse(data, limits)``; ``is_text``: what a file of no
    recognised content may be, because its name says so."""

    name: str
    mime: str
    suffixes: tuple[str, ...]
    module: str
    other_mimes: tuple[str, ...] = ()
    is_text: bool = True


FORMATS = (
    FileFormat("text", "text/plain", (".txt", ".text", ".log", ".rst", ".adoc", ".org", ".tex"), "plain_text"),
    FileFormat("markdown", "text/markdown", (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd"), "markdown_text"),
    FileFormat("html", "text/html", (".html", ".htm", ".xhtml"), "html_page", ("application/xhtml+xml",)),
    FileFormat("pdf", "application/pdf", (".pdf",), "pdf", is_text=False),
    FileFormat("docx", f"{OFFICE}.wordprocessingml.document", (".docx", ".docm"), "docx", is_text=False),
    FileFormat("pptx", f"{OFFICE}.presentationml.presentation", (".pptx", ".pptm", ".ppsx"), "pptx", is_text=False),
    FileFormat("xlsx", f"{OFFICE}.spreadsheetml.sheet", (".xlsx", ".xlsm"), "xlsx", is_text=False),
    FileFormat("odt", "application/vnd.oasis.opendocument.text", (".odt", ".ott"), "odt", is_text=False),
    FileFormat("epub", "application/epub+zip", (".epub",), "epub", is_text=False),
    FileFormat("csv", "text/csv", (".csv", ".tsv", ".tab"), "delimited", ("text/tab-separated-values",)),
    FileFormat(
        "json", "application/json", (".json", ".jsonl", ".ndjson"), "json_values", ("application/x-ndjson", "text/json")
    ),
    FileFormat("yaml", "application/yaml", (".yaml", ".yml"), "yaml_text", ("text/yaml", "application/x-yaml")),
    FileFormat("email", "message/rfc822", (".eml",), "mail"),
    FileFormat("mbox", "application/mbox", (".mbox", ".mbx"), "mbox"),
    FileFormat("notebook", "application/x-ipynb+json", (".ipynb",), "notebook"),
    FileFormat("subtitles", "application/x-subrip", (".srt", ".vtt"), "subtitles", ("text/vtt", "text/srt")),
)
BY_NAME = {each.name: each for each in FORMATS}
BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}
BY_MIME = {mime: each for each in FORMATS for mime in (each.mime, *each.other_mimes)}
TEXT = BY_NAME["text"]
"""What source code counts as, and text of no known kind."""
