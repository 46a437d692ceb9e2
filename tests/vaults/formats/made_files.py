"""Files made for tests, as small as their formats allow."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping

from vaults.formats.document_reader import read_document
from vaults.formats.parsed_document import ParsedDocument, ParseLimits

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
CORE = (
    '<c:coreProperties xmlns:c="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
    "<dc:title>Contract</dc:title><dc:creator>Ann</dc:creator>"
    "<dcterms:created>2024-02-03T04:05:06Z</dcterms:created></c:coreProperties>"
)


def read(data: bytes, name: str = "file", limits: ParseLimits | None = None) -> ParsedDocument:
    """What is read of a file, in this process."""
    return read_document(data, name, None, limits or ParseLimits())


def make_zip(members: Mapping[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return packed.getvalue()


def make_relations(**targets: str) -> str:
    """Relations by id; the kind is the id without its digits, an address is outside."""
    digits, outside = "0123456789", 'TargetMode="External"'
    listed = "".join(
        f'<Relationship Id="{key}" Type="{R}/{key.rstrip(digits)}" Target="{target}"'
        f"{outside if '://' in target else ''}/>"
        for key, target in targets.items()
    ).replace('"TargetMode', '" TargetMode')
    return f'<Relationships xmlns="{RELATIONS}">{listed}</Relationships>'


STYLES = f"""<w:styles xmlns:w="{W}">
<w:style w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="H2"/></w:style>
<w:style w:styleId="Items"><w:name w:val="List Bullet"/></w:style>
</w:styles>"""


def make_paragraph(text: str, style: str = "", within: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r>{within}</w:p>"


def make_docx(body: str, others: Mapping[str, str | bytes] | None = None, **relations: str) -> bytes:
    """A DOCX with this body, in WordprocessingML."""
    return make_zip(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": make_relations(officeDocument="word/document.xml"),
            "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>',
            "word/_rels/document.xml.rels": make_relations(styles="styles.xml", **relations),
            "word/styles.xml": STYLES,
            "docProps/core.xml": CORE,
            **(others or {}),
        }
    )


def make_pdf(
    pages: Iterable[str], *, title: str = "", outline: Iterable[tuple[str, int]] = (), trailer: str = ""
) -> bytes:
    """A PDF with these texts, a line of each per line; ``outline``: headings and the pages, from 0, they lead to."""
    texts, entries = list(pages), list(outline)
    first_page, first_entry = 5, 5 + 2 * len(texts)
    kids = " ".join(f"{first_page + 2 * at} 0 R" for at in range(len(texts)))
    objects = {
        1: f"<< /Type /Catalog /Pages 2 0 R {'/Outlines 4 0 R' if entries else ''} >>",
        2: f"<< /Type /Pages /Count {len(texts)} /Kids [{kids}] >>",
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        4: f"<< /First {first_entry} 0 R /Last {first_entry + len(entries) - 1} 0 R >>"
        if entries
        else f"<< /Title ({title}) /Author (Dee) /CreationDate (D:20240102030405+01'00') >>",
    }
    for at, text in enumerate(texts):
        number = first_page + 2 * at
        lines = "".join(f"({line}) Tj T* " for line in text.split("\n")) if text else ""
        stream = f"BT /F1 12 Tf 14 TL 40 700 Td {lines}ET" if text else "0 0 100 100 re f"
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {number + 1} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects[number + 1] = f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream"
    for at, (heading, page) in enumerate(entries):
        after = f"/Next {first_entry + at + 1} 0 R" if at + 1 < len(entries) else ""
        objects[first_entry + at] = (
            f"<< /Title ({heading}) /Parent 4 0 R /Dest [{first_page + 2 * page} 0 R /Fit] {after} >>"
        )
    return assemble_pdf(objects, trailer if entries or trailer else "/Info 4 0 R")


def assemble_pdf(objects: Mapping[int, str], trailer: str = "") -> bytes:
    """The objects of a PDF as a file; the first is the catalogue."""
    written = bytearray(b"%PDF-1.7\n")
    places: dict[int, int] = {}
    for number, content in sorted(objects.items()):
        places[number] = len(written)
        written += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    start = len(written)
    size = max(objects) + 1
    written += f"xref\n0 {size}\n0000000000 65535 f \n".encode()
    for number in range(1, size):
        written += f"{places.get(number, 0):010} 00000 {'n' if number in places else 'f'} \n".encode()
    written += f"trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(written)
