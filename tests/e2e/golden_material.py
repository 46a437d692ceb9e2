"""What a small harbour's team reads: 40 documents in 15 formats, notes, memories, a conversation and two checkouts.

Each document states one fact nobody else states, in a place that has a name: a page, a slide, a range of rows."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from importlib.util import find_spec
from pathlib import Path

FILLER = (
    "The harbour office keeps its records in order and reviews them every quarter.",
    "Staff are reminded to log what they did before they go home.",
    "Nothing else of note happened in the period this page covers.",
)


@dataclass(frozen=True, slots=True)
class GoldenDocument:
    """A file, and the sections it is made of: heading and text each."""

    name: str
    sections: tuple[tuple[str, str], ...]

    def to_bytes(self) -> bytes:
        return BUILDERS[self.name.rpartition(".")[2]](self.sections)


def build_pdf(sections: Sequence[tuple[str, str]]) -> bytes:
    """One page for each section, its text as Helvetica lines."""
    objects: list[bytes] = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    pages = []
    for heading, text in sections:
        lines = [heading, *text.split(". ")]
        shown = " T* ".join(f"({line.replace('(', '[').replace(')', ']')}) Tj" for line in lines)
        stream = f"BT /F1 11 Tf 14 TL 50 780 Td {shown} ET".encode("latin-1", "replace")
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        pages.append(len(objects))
    kids = " ".join(f"{number} 0 R" for number in pages)
    objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode()
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def build_docx(sections: Sequence[tuple[str, str]]) -> bytes:
    """Headings of the first level, a paragraph under each."""
    heading = '<w:p><w:pPr><w:pStyle w:val="Heading1"/><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>{}</w:t></w:r></w:p>'
    body = "".join(heading.format(head) + f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for head, text in sections)
    return _package(
        "word/document.xml",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
        {"word/document.xml": f'<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'},
    )


def build_pptx(sections: Sequence[tuple[str, str]]) -> bytes:
    """A slide for each section, with a title and a text."""
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="{0}" name="{1}"/><p:cNvSpPr/><p:nvPr><p:ph type="{1}"/></p:nvPr></p:nvSpPr>'
        "<p:txBody><a:p><a:r><a:t>{2}</a:t></a:r></a:p></p:txBody></p:sp>"
    )
    members, ids, relations = {}, "", ""
    for number, (head, text) in enumerate(sections, 1):
        shapes = shape.format(2, "title", head) + shape.format(3, "body", text)
        members[f"ppt/slides/slide{number}.xml"] = (
            f'<p:sld xmlns:p="{_P}" xmlns:a="{_A}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>'
        )
        ids += f'<p:sldId id="{255 + number}" r:id="rId{number}"/>'
        relations += f'<Relationship Id="rId{number}" Type="{_R}/slide" Target="slides/slide{number}.xml"/>'
    members["ppt/presentation.xml"] = (
        f'<p:presentation xmlns:p="{_P}" xmlns:r="{_R}"><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>'
    )
    members["ppt/_rels/presentation.xml.rels"] = (
        f'<Relationships xmlns="{_PACKAGE}/relationships">{relations}</Relationships>'
    )
    main = "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
    return _package("ppt/presentation.xml", main, members)


def _package(main: str, content_type: str, members: Mapping[str, str]) -> bytes:
    """An Office file: its members, and those that say which of them is the main one."""
    types = (
        f'<Types xmlns="{_PACKAGE}/content-types"><Override PartName="/{main}" ContentType="{content_type}"/></Types>'
    )
    office = f'<Relationship Id="rId1" Type="{_R}/officeDocument" Target="{main}"/>'
    relations = f'<Relationships xmlns="{_PACKAGE}/relationships">{office}</Relationships>'
    return _zipped({"[Content_Types].xml": types, "_rels/.rels": relations, **members})


def build_xlsx(sections: Sequence[tuple[str, str]]) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.title = "Register"
    sheet.append(["entry", "remark"])
    for row in sections:
        sheet.append(list(row))
    return _saved(book.save)


def build_odt(sections: Sequence[tuple[str, str]]) -> bytes:
    body = "".join(f'<text:h text:outline-level="1">{head}</text:h><text:p>{text}</text:p>' for head, text in sections)
    content = (
        '<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text>'
        f"{body}</office:text></office:body></office:document-content>"
    )
    return _zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def build_epub(sections: Sequence[tuple[str, str]]) -> bytes:
    chapters = {f"c{number}.xhtml": section for number, section in enumerate(sections)}
    manifest = "".join(f'<item id="i{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in chapters)
    spine = "".join(f'<itemref idref="i{name}"/>' for name in chapters)
    opf = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Harbour reader</dc:title></metadata>'
        f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        "<rootfiles>"
        '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    pages = {
        name: f'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>{head}</h1><p>{text}</p></body></html>'
        for name, (head, text) in chapters.items()
    }
    return _zipped({"mimetype": "application/epub+zip", "META-INF/container.xml": container, "book.opf": opf, **pages})


def build_html(sections: Sequence[tuple[str, str]]) -> bytes:
    body = "".join(f"<h2>{head}</h2><p>{text}</p>" for head, text in sections)
    head = f"<head><title>{sections[0][0]}</title></head>"
    return f"<html>{head}<body><nav>Home About</nav><main>{body}</main></body></html>".encode()


def build_markdown(sections: Sequence[tuple[str, str]]) -> bytes:
    return "\n".join(f"## {head}\n\n{text}\n" for head, text in sections).encode()


def build_text(sections: Sequence[tuple[str, str]]) -> bytes:
    return "\n\n".join(f"{head}\n{text}" for head, text in sections).encode()


def build_csv(sections: Sequence[tuple[str, str]]) -> bytes:
    return "\n".join(["entry,remark", *(f'{head},"{text}"' for head, text in sections)]).encode()


def build_json(sections: Sequence[tuple[str, str]]) -> bytes:
    return json.dumps({"entries": [{"entry": head, "remark": text} for head, text in sections]}, indent=1).encode()


def build_yaml(sections: Sequence[tuple[str, str]]) -> bytes:
    return "".join(f"- entry: {head}\n  remark: {text}\n" for head, text in sections).encode()


def build_eml(sections: Sequence[tuple[str, str]]) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"] = "Ines Falk <ines@harbour.example>", "office@harbour.example"
    mail["Subject"], mail["Date"] = sections[0][0], "Mon, 02 Mar 2026 09:30:00 +0000"
    mail.set_content("\n\n".join(text for _, text in sections))
    return mail.as_bytes()


def build_ipynb(sections: Sequence[tuple[str, str]]) -> bytes:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": [f"# {head}\n", text]} for head, text in sections]
    cells.append({"cell_type": "code", "metadata": {}, "source": ["total = 3\n"], "outputs": [], "execution_count": 1})
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def build_srt(sections: Sequence[tuple[str, str]]) -> bytes:
    cues = [
        f"{number + 1}\n00:{number:02}:00,000 --> 00:{number:02}:20,000\n{text}\n"
        for number, (_, text) in enumerate(sections)
    ]
    return "\n".join(cues).encode()


BUILDERS: Mapping[str, Callable[[Sequence[tuple[str, str]]], bytes]] = {
    "pdf": build_pdf, "docx": build_docx, "pptx": build_pptx, "xlsx": build_xlsx, "odt": build_odt,
    "epub": build_epub, "html": build_html, "md": build_markdown, "txt": build_text, "csv": build_csv,
    "json": build_json, "yaml": build_yaml, "eml": build_eml, "ipynb": build_ipynb, "srt": build_srt,
}  # fmt: skip


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def _zipped(members: Mapping[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


def _around(heading: str, fact: str, place: int = 2, count: int = 4) -> tuple[tuple[str, str], ...]:
    """Sections of which one, counted from 1, states the fact."""
    others = [(f"Entry {number}", " ".join(FILLER)) for number in range(1, count + 1)]
    others[place - 1] = (heading, f"{fact} {FILLER[0]}")
    return tuple(others)


FACTS: tuple[tuple[str, str, str], ...] = (
    ("mooring-contract.pdf", "Liability", "The mooring contract caps liability at 42000 euros per vessel"),
    ("dredging-report.pdf", "Depth", "The dredging survey measured seven metres at the eastern quay"),
    ("insurance-policy.pdf", "Exclusions", "The insurance policy excludes damage by ice drift"),
    ("crane-manual.pdf", "Load", "The gantry crane lifts at most 18 tonnes in strong wind"),
    ("fire-drill.pdf", "Assembly", "During a fire drill everybody gathers at the old weighbridge"),
    ("pilotage-rules.pdf", "Pilots", "Pilotage is compulsory for tankers longer than 90 metres"),
    ("staff-handbook.docx", "Leave", "Employees carry over five vacation days until March"),
    ("berth-lease.docx", "Term", "The berth lease ends with nine months of notice"),
    ("noise-study.docx", "Findings", "The noise study blames the shunting locomotive"),
    ("procurement.docx", "Vendors", "Rope is procured from the Ostrava cooperative"),
    ("strategy.pptx", "Goal", "The strategy is to halve diesel consumption by shore power"),
    ("onboarding.pptx", "First day", "New colleagues receive the amber badge on their first day"),
    ("audit.pptx", "Gap", "The audit found missing ladder inspections"),
    ("tariffs.xlsx", "Kayak", "Kayaks berth free of charge on weekdays"),
    ("inventory.xlsx", "Fenders", "Sixty two pneumatic fenders lie in shed four"),
    ("payroll.xlsx", "Night", "The night shift surcharge is 35 percent"),
    ("minutes.odt", "Vote", "The council voted against the marina extension"),
    ("bylaws.odt", "Quorum", "A quorum needs eleven members present"),
    ("history.epub", "Founding", "The lighthouse was founded by a guild of coopers"),
    ("tides.epub", "Neap", "Neap tides reveal the wreck of the Gudrun"),
    ("api-billing.html", "Retries", "The billing endpoint retries three times with jitter"),
    ("wiki-deploy.html", "Window", "Deployments freeze between Thursday noon and Monday"),
    ("wiki-oncall.html", "Handover", "The on-call handover takes place at 08:45"),
    ("wiki-dns.html", "Records", "The DNS zone is hosted by the university"),
    ("wiki-backup.html", "Vault", "Backup tapes rest in the former salt mine"),
    ("readme-scanner.md", "Calibration", "Calibrate the sonar scanner with the brass sphere"),
    ("runbook.md", "Restart", "Restart the tide gauge by pulling the green lever"),
    ("decision-log.md", "Choice", "We chose MQTT over polling for buoy telemetry"),
    ("style.md", "Spelling", "Vessel names are written in small capitals"),
    ("letter.txt", "Complaint", "The ferry operator complains about seagull nests"),
    ("log.txt", "Storm", "Storm Ulrike tore away the northern pontoon"),
    ("sensors.csv", "S14", "Sensor S14 drifts two millibar after rain"),
    ("contacts.csv", "Diver", "The diver on duty is Tarik Osei"),
    ("config.json", "Timeout", "The radar timeout is set to 640 milliseconds"),
    ("schema.json", "Field", "The field draught_cm is mandatory since version nine"),
    ("deploy.yaml", "Region", "The service runs in the region Tromso"),
    ("invoice-question.eml", "Invoice 7731", "Invoice 7731 was paid twice by mistake"),
    ("greeting.eml", "Festival", "The harbour festival needs forty volunteers"),
    ("analysis.ipynb", "Result", "The regression shows that salinity predicts corrosion"),
    ("interview.srt", "Interview", "The retired pilot remembers the fog of 1979"),
)
"""Name, heading and the fact, of all forty."""

DOCUMENTS = tuple(
    GoldenDocument(name, _around(heading, fact + ".", place=1 if name.endswith(".eml") else 2))
    for name, heading, fact in FACTS
)

NOTES = {
    "projects/harbour light.md": "# Harbour light\n\n## Lamp\n\nThe lamp of the lighthouse uses 400 watts of LED.\n",
    "people/ines falk.md": "# Ines Falk\n\n## Role\n\nInes is responsible for customs clearance.\n",
    "daily/2026-03-02.md": "# 2026-03-02\n\n## Work\n\nPainted the bollards in signal yellow.\n",
    "ideas/solar.md": "# Solar roof\n\n## Cost\n\nSolar panels on the fish hall would cost 88000 euros.\n",
}

MEMORIES: tuple[tuple[str, str], ...] = (
    ("decision", "We decided to store buoy positions as WGS84 decimal degrees."),
    ("error", "The ferry timetable import failed because of a duplicate key in winter schedules."),
    ("preference", "Piotr prefers tabs over spaces in shell scripts."),
    ("fact", "The staging cluster answers on port 9443."),
    ("learning", "Restarting the AIS receiver twice clears its stuck channel."),
    ("plan", "Next quarter we replace the barcode readers with RFID gates."),
)
TRANSCRIPT = (
    ("user", "Why does the weighbridge display flicker?"),
    ("assistant", "The weighbridge display flickers because its ground wire is loose; I tightened the clamp K7."),
    ("user", "Please also rename the branch."),
    ("assistant", "The branch is now called weighbridge-grounding."),
)

CHECKOUTS = ("aiosqlite", "limits")
"""Libraries of this environment, laid out as repositories somebody works in."""


def lay_out_checkout(root: Path, package: str) -> Path:
    """A copy of an installed library under version control, with one commit."""
    import pygit2

    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    target = root / f"{package}-checkout"
    shutil.copytree(Path(spec.origin).parent, target / package, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    repository = pygit2.init_repository(str(target))
    repository.index.add_all()
    tree = repository.index.write_tree()
    author = pygit2.Signature("Ada", "ada@harbour.example")
    repository.create_commit("HEAD", author, author, "first", tree, [])
    return target


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """What is asked; the kind of the answer, where it is said to stand, and words its text holds."""

    query: str
    kind: str
    place: str
    holds: str


QUESTIONS: tuple[GoldenQuestion, ...] = (
    GoldenQuestion(
        "how much liability does the mooring contract cap", "document", "mooring-contract.pdf page 2", "42000"
    ),
    GoldenQuestion("depth measured at the eastern quay", "document", "dredging-report.pdf page 2", "seven metres"),
    GoldenQuestion("what does the insurance exclude", "document", "insurance-policy.pdf page 2", "ice drift"),
    GoldenQuestion("gantry crane maximum load in wind", "document", "crane-manual.pdf page 2", "18 tonnes"),
    GoldenQuestion("where do we gather in a fire drill", "document", "fire-drill.pdf page 2", "weighbridge"),
    GoldenQuestion("how many vacation days carry over", "document", "staff-handbook.docx Leave", "five vacation"),
    GoldenQuestion("notice period of the berth lease", "document", "berth-lease.docx Term", "nine months"),
    GoldenQuestion("where is rope procured", "document", "procurement.docx Vendors", "Ostrava"),
    GoldenQuestion("strategy for diesel consumption", "document", "strategy.pptx slide 2", "shore power"),
    GoldenQuestion("amber badge for new colleagues", "document", "onboarding.pptx slide 2", "amber badge"),
    GoldenQuestion("how many pneumatic fenders are there", "document", "inventory.xlsx sheet Register", "shed four"),
    GoldenQuestion("night shift surcharge percent", "document", "payroll.xlsx sheet Register", "35 percent"),
    GoldenQuestion("quorum members present", "document", "bylaws.odt Quorum", "eleven"),
    GoldenQuestion("who founded the lighthouse", "document", "history.epub Founding", "coopers"),
    GoldenQuestion("how often does the billing endpoint retry", "document", "api-billing.html Retries", "three times"),
    GoldenQuestion("when do deployments freeze", "document", "wiki-deploy.html Window", "Thursday noon"),
    GoldenQuestion("how to restart the tide gauge", "document", "runbook.md Restart", "green lever"),
    GoldenQuestion("why MQTT for buoy telemetry", "document", "decision-log.md Choice", "polling"),
    GoldenQuestion("what tore away the northern pontoon", "document", "log.txt", "Ulrike"),
    GoldenQuestion("who is the diver on duty", "document", "contacts.csv rows", "Tarik Osei"),
    GoldenQuestion("radar timeout milliseconds", "document", "config.json", "640"),
    GoldenQuestion("region where the service runs", "document", "deploy.yaml", "Tromso"),
    GoldenQuestion("invoice paid twice", "document", "invoice-question.eml Invoice 7731", "7731"),
    GoldenQuestion("what predicts corrosion", "document", "analysis.ipynb cell", "salinity"),
    GoldenQuestion("pilot remembers fog", "document", "interview.srt 00:00", "1979"),
    GoldenQuestion("lamp of the lighthouse watts", "note", "harbour light.md", "400 watts"),
    GoldenQuestion("who does customs clearance", "note", "ines falk.md", "Ines"),
    GoldenQuestion("colour of the bollards", "note", "2026-03-02.md", "signal yellow"),
    GoldenQuestion("cost of solar panels on the fish hall", "note", "solar.md", "88000"),
    GoldenQuestion("format of buoy positions", "memory", "", "WGS84"),
    GoldenQuestion("why did the ferry timetable import fail", "memory", "", "duplicate key"),
    GoldenQuestion("port of the staging cluster", "memory", "", "9443"),
    GoldenQuestion("how to clear the stuck channel of the AIS receiver", "memory", "", "twice"),
    GoldenQuestion("what replaces the barcode readers", "memory", "", "RFID"),
    GoldenQuestion("why does the weighbridge display flicker", "transcript", "turn", "clamp K7"),
    GoldenQuestion("name of the renamed branch", "transcript", "turn", "weighbridge-grounding"),
    GoldenQuestion("class FixedWindowRateLimiter", "code", "strategies.py lines", "class FixedWindowRateLimiter"),
    GoldenQuestion("parse a rate limit string into items", "code", "util.py lines", "def parse"),
    GoldenQuestion("execute_fetchall", "code", "core.py lines", "execute_fetchall"),
    GoldenQuestion("MovingWindowRateLimiter get_window_stats", "code", "strategies.py lines", "get_window_stats"),
)
