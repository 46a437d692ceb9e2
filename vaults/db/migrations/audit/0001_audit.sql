-- One chain of the audit: of a vault, or of the installation. Each row names the one before it by its hash.

-- canonical: lost, nobody knows any more who did what
CREATE TABLE entries (
    seq  INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,                  -- milliseconds since 1970; the body says it for people
    body TEXT NOT NULL,                     -- JSON
    hash BLOB NOT NULL                      -- SHA-256 of the hash before and the body
) STRICT;

CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
BEGIN
    SELECT RAISE(ABORT, 'entries of the audit are never changed');
END;

-- canonical: what the server signed, so that nobody without its key can write the chain anew
CREATE TABLE checkpoints (
    seq       INTEGER PRIMARY KEY,          -- the entry it vouches for
    statement TEXT NOT NULL,                -- JSON
    kid       TEXT NOT NULL,                -- the key that signed it
    signature BLOB NOT NULL
) STRICT;

-- canonical: what the chain begins after, where its first entries are no longer kept
CREATE TABLE anchors (
    seq       INTEGER PRIMARY KEY,
    statement TEXT NOT NULL,
    kid       TEXT NOT NULL,
    signature BLOB NOT NULL
) STRICT;

-- canonical: keys that no longer sign, each vouched for by one that came after it
CREATE TABLE vouchers (
    seq       INTEGER PRIMARY KEY,
    statement TEXT NOT NULL,
    kid       TEXT NOT NULL,
    signature BLOB NOT NULL
) STRICT;

-- canonical: how far the chain was sent elsewhere
CREATE TABLE forwarded (
    receiver TEXT PRIMARY KEY,              -- syslog or webhook
    seq      INTEGER NOT NULL               -- of the last entry it took
) STRICT, WITHOUT ROWID;

-- derived from entries: the names that the indexes below stand for
CREATE TABLE names (
    number INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE
) STRICT;

-- derived from entries: how far the indexes go
CREATE TABLE indexed (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL
) STRICT;
INSERT INTO indexed VALUES (1, 0);

-- derived from entries
CREATE TABLE entry_subjects (
    subject INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (subject, at, seq)
) STRICT, WITHOUT ROWID;

-- derived from entries
CREATE TABLE entry_tools (
    tool INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    seq  INTEGER NOT NULL,
    PRIMARY KEY (tool, at, seq)
) STRICT, WITHOUT ROWID;

-- derived from entries
CREATE TABLE entry_times (
    at  INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (at, seq)
) STRICT, WITHOUT ROWID;

-- derived from entries
CREATE TABLE entry_targets (
    target INTEGER NOT NULL,                -- the first eight bytes of a hash of the id or path
    seq    INTEGER NOT NULL,
    PRIMARY KEY (target, seq)
) STRICT, WITHOUT ROWID;
