-- vault.db: one tenant's memories and what is derived from them.
-- Times are RFC 3339 UTC with milliseconds, so that text order is time order. Order of events is by seq, never by time.

-- canonical
CREATE TABLE vault_info (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- canonical
CREATE TABLE memories (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    external_id     TEXT UNIQUE,
    type            TEXT NOT NULL,
    title           TEXT NOT NULL,
    title_derived   INTEGER NOT NULL,           -- 1: cut from the content, so it adds nothing to search
    content         TEXT NOT NULL,
    content_hash    TEXT NOT NULL,
    duplicate_key   TEXT,                       -- equal for what counts as the same memory; NULL: never a duplicate
    tags            TEXT NOT NULL,              -- JSON array
    keywords        TEXT NOT NULL,              -- JSON array
    metadata        TEXT NOT NULL,              -- JSON object
    entity          TEXT,
    author          TEXT NOT NULL,              -- who said it
    stored_by       TEXT NOT NULL,              -- the principal that stored it
    workspace       TEXT NOT NULL,
    thread          TEXT,
    applies_to      TEXT NOT NULL,
    parent          TEXT,
    position        INTEGER,
    confidence      REAL,
    occurred_at     TEXT,
    expires_at      TEXT,
    visibility      TEXT NOT NULL CHECK (visibility IN ('shared', 'private')),
    tier            TEXT NOT NULL CHECK (tier IN ('hot', 'warm', 'cold')),
    archived_at     TEXT,
    archived_reason TEXT,
    superseded_by   TEXT,
    supersedes      TEXT,
    version         INTEGER NOT NULL,
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL
) STRICT;
CREATE INDEX memories_by_duplicate_key ON memories (duplicate_key) WHERE duplicate_key IS NOT NULL;
CREATE INDEX memories_by_parent ON memories (parent, position) WHERE parent IS NOT NULL;
CREATE INDEX memories_by_thread ON memories (thread) WHERE thread IS NOT NULL;
CREATE INDEX memories_by_expiry ON memories (expires_at) WHERE expires_at IS NOT NULL;

-- canonical: how often a memory was opened. Bookkeeping, not the owner's words: not versioned, not exported.
CREATE TABLE memory_accesses (
    memory      INTEGER PRIMARY KEY REFERENCES memories (seq) ON DELETE CASCADE,
    accessed_at TEXT NOT NULL,
    times       INTEGER NOT NULL
) STRICT;

-- canonical
CREATE TABLE memory_links (
    from_memory INTEGER NOT NULL REFERENCES memories (seq) ON DELETE CASCADE,
    relation    TEXT NOT NULL,
    to_memory   INTEGER NOT NULL REFERENCES memories (seq) ON DELETE CASCADE,
    created_by  TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    PRIMARY KEY (from_memory, relation, to_memory)
) STRICT;
CREATE INDEX memory_links_by_target ON memory_links (to_memory);

-- canonical
CREATE TABLE idempotency_keys (
    stored_by    TEXT NOT NULL,
    key          TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    memory       TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    PRIMARY KEY (stored_by, key)
) STRICT;

-- canonical: what an admin did that cannot be undone
CREATE TABLE audit (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    at     TEXT NOT NULL,
    who    TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    reason TEXT
) STRICT;

-- derived from memories
CREATE TABLE memory_tags (
    memory INTEGER NOT NULL REFERENCES memories (seq) ON DELETE CASCADE,
    tag    TEXT NOT NULL,
    PRIMARY KEY (tag, memory)
) STRICT;
CREATE INDEX memory_tags_by_memory ON memory_tags (memory);

-- derived from memories: the searchable units
CREATE TABLE passages (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: vector indexes of other processes know it
    kind        TEXT NOT NULL,
    item        INTEGER NOT NULL,
    ordinal     INTEGER NOT NULL,
    title       TEXT NOT NULL,
    body        TEXT NOT NULL,
    labels      TEXT NOT NULL,                      -- tags, entity, keywords, author
    text_hash   TEXT NOT NULL,                      -- of the text that is embedded
    source_hash TEXT NOT NULL,                      -- of the item it was cut from
    UNIQUE (kind, item, ordinal)
) STRICT;

-- derived from passages
CREATE VIRTUAL TABLE passages_fts USING fts5 (
    title, body, labels,
    content = 'passages', content_rowid = 'seq',
    tokenize = "porter unicode61 remove_diacritics 2"
);
CREATE TRIGGER passages_fts_insert AFTER INSERT ON passages BEGIN
    INSERT INTO passages_fts (rowid, title, body, labels) VALUES (new.seq, new.title, new.body, new.labels);
END;
CREATE TRIGGER passages_fts_delete AFTER DELETE ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, body, labels)
    VALUES ('delete', old.seq, old.title, old.body, old.labels);
END;
CREATE TRIGGER passages_fts_update AFTER UPDATE OF title, body, labels ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, body, labels)
    VALUES ('delete', old.seq, old.title, old.body, old.labels);
    INSERT INTO passages_fts (rowid, title, body, labels) VALUES (new.seq, new.title, new.body, new.labels);
END;

-- derived from passages: the truth of vectors; each change takes the next number of vector_clock
CREATE TABLE embeddings (
    passage   INTEGER PRIMARY KEY REFERENCES passages (seq),
    model     TEXT NOT NULL,
    text_hash TEXT NOT NULL,
    vector    BLOB NOT NULL,                        -- float32, little endian, unit length
    change    INTEGER NOT NULL UNIQUE
) STRICT;
CREATE INDEX embeddings_by_text ON embeddings (text_hash, model);

-- derived from passages: vectors that went, for indexes that still hold them
CREATE TABLE vector_removals (
    change  INTEGER PRIMARY KEY,
    passage INTEGER NOT NULL
) STRICT;

-- derived from passages: one row
CREATE TABLE vector_clock (
    last   INTEGER NOT NULL,                        -- the newest change number
    pruned INTEGER NOT NULL                         -- removals up to here are forgotten: an older index starts anew
) STRICT;
INSERT INTO vector_clock VALUES (0, 0);

-- derived from passages: texts whose vector is still owed
CREATE TABLE embedding_queue (
    passage  INTEGER PRIMARY KEY REFERENCES passages (seq) ON DELETE CASCADE,
    attempts INTEGER NOT NULL DEFAULT 0
) STRICT;
