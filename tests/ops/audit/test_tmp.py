from tests.conftest import *
import sqlite3, json
async def test_x(opening, tmp_path):
    async with opening() as services:
        ask=asker(services)
        r=await ask("remember", content="hello there")
        assert r.ok, r.text
        r=await ask("note_write", path="a/b", content="x")
        assert r.ok, r.text
        r=await ask("memory_forget", ids=["nope"])
    for f in (tmp_path/"audit").iterdir(): 
        print(f, f.stat().st_size)
        if f.suffix==".db":
            for row in sqlite3.connect(f).execute("select body from entries"): print(row[0])
            for row in sqlite3.connect(f).execute("select seq, statement from checkpoints"): print(row)
    async with opening() as services:
        from ops.audit.verification import verify
        from ops.audit.searching import search, AuditQuery
        print(await verify(services.audit))
        v=services.registry_cache.entry("main").vault_id
        print([e.seq for e in await search(services.audit, v, AuditQuery(subject="owner"))])
