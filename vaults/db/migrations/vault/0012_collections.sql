-- Documents from files: what they were read from; and collections, folders that are read besides the notes.

-- A CHECK cannot be altered. Of all ways round that, this one copies no transcript: no stored row changes.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, '(kind IN (''document'', ''transcript''))', '(kind IN (''document'', ''transcript'', ''code''))')
WHERE type = 'table' AND name = 'documents';
PRAGMA writable_schema = RESET;

ALTER TABLE documents ADD COLUMN mime TEXT;          -- of the file it was read from
ALTER TABLE documents ADD COLUMN source_hash TEXT;   -- SHA-256 of the bytes it was read from
CREATE INDEX documents_by_source_hash ON documents (source_hash) WHERE source_hash IS NOT NULL;
CREATE INDEX documents_by_collection ON documents (collection, kind) WHERE collection IS NOT NULL;

-- canonical: folders that are read besides the notes
CREATE TABLE collections (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('markdown', 'code', 'documents')),
    root        TEXT NOT NULL,                       -- absolute path
    include     TEXT NOT NULL,                       -- JSON array of globs; empty: what the kind reads
    exclude     TEXT NOT NULL,                       -- JSON array of patterns as in .gitignore
    context     TEXT NOT NULL,                       -- a line on what this is, indexed with every passage
    workspace   TEXT NOT NULL,
    watch       INTEGER NOT NULL,                    -- 0: read on demand only
    revision    INTEGER NOT NULL,                    -- grows with each change, and whenever all is to be read again
    removed     INTEGER NOT NULL,                    -- 1: its documents are being deleted, and then this row
    added_by    TEXT NOT NULL,                       -- the principal
    created_at  TEXT NOT NULL,
    modified_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX collections_by_name ON collections (name) WHERE removed = 0;

-- derived from the folders of collections: how each was when it was last looked at
CREATE TABLE collection_states (
    collection INTEGER PRIMARY KEY REFERENCES collections (seq) ON DELETE CASCADE,
    revision   INTEGER NOT NULL,                     -- of the collection, as read; 0: not read yet
    phase      TEXT NOT NULL,                        -- reading, ready, unavailable
    reason     TEXT,                                 -- why it is not ready
    watching   TEXT NOT NULL,                        -- how changes are noticed
    read_at    TEXT,                                 -- when all of it was last looked at
    head       TEXT,                                 -- the commit that is checked out there
    device     INTEGER,                              -- the disk it was on
    files      INTEGER NOT NULL,
    documents  INTEGER NOT NULL,
    problems   INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    left_out   TEXT NOT NULL                         -- JSON object: files, and folders as one, by reason
) STRICT;

-- derived from the files of collections: what was read of each
CREATE TABLE collection_files (
    collection INTEGER NOT NULL REFERENCES collections (seq) ON DELETE CASCADE,
    path       TEXT NOT NULL,                        -- below the root
    stamp      TEXT NOT NULL,                        -- size, times and inode when it was read
    hash       TEXT,                                 -- SHA-256 of its bytes; NULL: it was not read
    size       INTEGER NOT NULL,
    document   INTEGER,                              -- seq; NULL: nothing came of it
    left_out   TEXT,                                 -- why it is none that is read, as its bytes show
    problem    TEXT,                                 -- why nothing or not all came of it
    PRIMARY KEY (collection, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX collection_files_by_document ON collection_files (document) WHERE document IS NOT NULL;
