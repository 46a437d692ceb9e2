-- Documents: what is neither a memory nor a note, such as the transcript of a conversation or a file that was read in.

-- canonical
CREATE TABLE documents (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    external_id TEXT,
    kind        TEXT NOT NULL CHECK (kind IN ('document', 'transcript')),
    format      TEXT NOT NULL,
    title       TEXT NOT NULL,
    uri         TEXT,                           -- where it is from
    workspace   TEXT NOT NULL,
    collection  TEXT,
    thread      TEXT,
    author      TEXT,                           -- of parts that name none
    stored_by   TEXT NOT NULL,                  -- the principal that stored it
    visibility  TEXT NOT NULL CHECK (visibility IN ('shared', 'private')),
    metadata    TEXT NOT NULL,                  -- JSON object
    hash        TEXT NOT NULL,                  -- of what is searched of it and its parts
    size        INTEGER NOT NULL,               -- characters of its parts
    created_at  TEXT NOT NULL,
    modified_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX documents_by_external_id ON documents (external_id, stored_by) WHERE external_id IS NOT NULL;
CREATE INDEX documents_counted ON documents (kind, visibility, stored_by);
CREATE INDEX documents_by_storer ON documents (stored_by, size);

-- canonical: the turns of a transcript, the pages or sections of a document
CREATE TABLE document_parts (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (seq) ON DELETE CASCADE,
    position INTEGER NOT NULL,                  -- its number in the document, by which it is known again
    text     TEXT NOT NULL,
    heading  TEXT,
    locator  TEXT,                              -- its place for people, such as a page
    author   TEXT,
    role     TEXT,
    at       TEXT,
    thinking INTEGER NOT NULL,                  -- 1: reasoning of an agent, told apart from what it said
    UNIQUE (document, position)
) STRICT;

-- Documents stand on a shelf of their own, in full text as among vectors: however many there are, finding a memory costs
-- what it did, and weighs its words by memories and notes. Kinds not listed here are those of memories and notes.

DROP TRIGGER passages_fts_insert;
DROP TRIGGER private_fts_insert;
DROP TRIGGER passages_fts_delete;
DROP TRIGGER private_fts_delete;
DROP TRIGGER passages_fts_update;
DROP TRIGGER private_fts_update;
DROP TRIGGER passages_fts_hidden;
DROP TRIGGER passages_fts_shown;
DROP VIEW passages_shared;
DROP VIEW passages_owned;

CREATE VIEW passages_shared AS
SELECT seq, title, body, labels, before, after FROM passages
WHERE owner IS NULL AND kind NOT IN ('document', 'transcript', 'code');
CREATE VIEW passages_owned AS
SELECT seq, title, body, labels, before, after FROM passages
WHERE owner IS NOT NULL AND kind NOT IN ('document', 'transcript', 'code');
CREATE VIEW documents_shared AS
SELECT seq, title, body, labels, before, after FROM passages
WHERE owner IS NULL AND kind IN ('document', 'transcript', 'code');
CREATE VIEW documents_owned AS
SELECT seq, title, body, labels, before, after FROM passages
WHERE owner IS NOT NULL AND kind IN ('document', 'transcript', 'code');

-- derived from passages: those of documents that everybody may read
CREATE VIRTUAL TABLE documents_fts USING fts5 (
    title, body, labels, before, after,
    content = 'documents_shared', content_rowid = 'seq',
    tokenize = "porter unicode61 remove_diacritics 2"
);

-- derived from passages: those of documents that are private to somebody
CREATE VIRTUAL TABLE private_documents_fts USING fts5 (
    title, body, labels, before, after,
    content = 'documents_owned', content_rowid = 'seq',
    tokenize = "porter unicode61 remove_diacritics 2"
);

-- derived from passages: as passages_pairs, of documents
CREATE VIRTUAL TABLE documents_pairs USING fts5 (
    pairs, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
);

-- derived from passages: as private_pairs, of documents
CREATE VIRTUAL TABLE private_documents_pairs USING fts5 (
    pairs, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
);

CREATE TRIGGER passages_fts_insert AFTER INSERT ON passages
WHEN new.owner IS NULL AND new.kind NOT IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO passages_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER passages_fts_delete AFTER DELETE ON passages
WHEN old.owner IS NULL AND old.kind NOT IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
END;
CREATE TRIGGER passages_fts_update AFTER UPDATE OF title, body, labels, before, after ON passages
WHEN old.owner IS NULL AND new.owner IS NULL AND new.kind NOT IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO passages_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER private_fts_insert AFTER INSERT ON passages
WHEN new.owner IS NOT NULL AND new.kind NOT IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO private_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER private_fts_delete AFTER DELETE ON passages
WHEN old.owner IS NOT NULL AND old.kind NOT IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO private_fts (private_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
END;
CREATE TRIGGER private_fts_update AFTER UPDATE OF title, body, labels, before, after ON passages
WHEN old.owner IS NOT NULL AND new.owner IS NOT NULL AND new.kind NOT IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO private_fts (private_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO private_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER passages_fts_hidden AFTER UPDATE OF owner ON passages
WHEN old.owner IS NULL AND new.owner IS NOT NULL AND new.kind NOT IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO private_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER passages_fts_shown AFTER UPDATE OF owner ON passages
WHEN old.owner IS NOT NULL AND new.owner IS NULL AND new.kind NOT IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO private_fts (private_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO passages_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;

CREATE TRIGGER documents_fts_insert AFTER INSERT ON passages
WHEN new.owner IS NULL AND new.kind IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO documents_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER documents_fts_delete AFTER DELETE ON passages
WHEN old.owner IS NULL AND old.kind IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO documents_fts (documents_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
END;
CREATE TRIGGER documents_fts_update AFTER UPDATE OF title, body, labels, before, after ON passages
WHEN old.owner IS NULL AND new.owner IS NULL AND new.kind IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO documents_fts (documents_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO documents_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER private_documents_fts_insert AFTER INSERT ON passages
WHEN new.owner IS NOT NULL AND new.kind IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO private_documents_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER private_documents_fts_delete AFTER DELETE ON passages
WHEN old.owner IS NOT NULL AND old.kind IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO private_documents_fts (private_documents_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
END;
CREATE TRIGGER private_documents_fts_update AFTER UPDATE OF title, body, labels, before, after ON passages
WHEN old.owner IS NOT NULL AND new.owner IS NOT NULL AND new.kind IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO private_documents_fts (private_documents_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO private_documents_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER documents_fts_hidden AFTER UPDATE OF owner ON passages
WHEN old.owner IS NULL AND new.owner IS NOT NULL AND new.kind IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO documents_fts (documents_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO private_documents_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER documents_fts_shown AFTER UPDATE OF owner ON passages
WHEN old.owner IS NOT NULL AND new.owner IS NULL AND new.kind IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO private_documents_fts (private_documents_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO documents_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER documents_pairs_hidden AFTER UPDATE OF owner ON passages
WHEN old.owner IS NULL AND new.owner IS NOT NULL AND new.kind IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO private_documents_pairs (rowid, pairs) SELECT rowid, pairs FROM documents_pairs WHERE rowid = old.seq;
    DELETE FROM documents_pairs WHERE rowid = old.seq;
END;
CREATE TRIGGER documents_pairs_shown AFTER UPDATE OF owner ON passages
WHEN old.owner IS NOT NULL AND new.owner IS NULL AND new.kind IN ('document', 'transcript', 'code') BEGIN
    INSERT INTO documents_pairs (rowid, pairs) SELECT rowid, pairs FROM private_documents_pairs WHERE rowid = old.seq;
    DELETE FROM private_documents_pairs WHERE rowid = old.seq;
END;

DROP INDEX passages_by_owner;
CREATE INDEX passages_by_owner ON passages (owner, kind) WHERE owner IS NOT NULL;

-- 1: of a document. Those of memories and notes are made first, and no search of memories waits for the others.
ALTER TABLE embeddings ADD COLUMN shelf INTEGER NOT NULL DEFAULT 0;
ALTER TABLE embedding_queue ADD COLUMN shelf INTEGER NOT NULL DEFAULT 0;
CREATE INDEX embedding_queue_in_order ON embedding_queue (shelf, attempts, passage);
CREATE INDEX embeddings_by_shelf ON embeddings (shelf, change);
