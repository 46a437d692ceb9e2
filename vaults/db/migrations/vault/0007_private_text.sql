-- What somebody keeps private stands in indexes of its own. A full-text index weighs a word by all the rows that hold it:
-- with everybody's text in one, the scores of what is shared told whether somebody's private text holds a word.
-- Likewise an external id of a private memory is unique among its owner's alone, so that nobody meets it as taken.

CREATE INDEX passages_by_owner ON passages (owner) WHERE owner IS NOT NULL;

DROP TRIGGER passages_fts_insert;
DROP TRIGGER passages_fts_delete;
DROP TRIGGER passages_fts_update;
DROP TABLE passages_words;
DROP TABLE passages_fts;

CREATE VIEW passages_shared AS
SELECT seq, title, body, labels, before, after FROM passages WHERE owner IS NULL;
CREATE VIEW passages_owned AS
SELECT seq, title, body, labels, before, after FROM passages WHERE owner IS NOT NULL;

-- derived from passages: those that everybody may read
CREATE VIRTUAL TABLE passages_fts USING fts5 (
    title, body, labels, before, after,
    content = 'passages_shared', content_rowid = 'seq',
    tokenize = "porter unicode61 remove_diacritics 2"
);
INSERT INTO passages_fts (passages_fts) VALUES ('rebuild');

-- derived from passages: those that are private to somebody
CREATE VIRTUAL TABLE private_fts USING fts5 (
    title, body, labels, before, after,
    content = 'passages_owned', content_rowid = 'seq',
    tokenize = "porter unicode61 remove_diacritics 2"
);
INSERT INTO private_fts (private_fts) VALUES ('rebuild');

CREATE TRIGGER passages_fts_insert AFTER INSERT ON passages WHEN new.owner IS NULL BEGIN
    INSERT INTO passages_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER private_fts_insert AFTER INSERT ON passages WHEN new.owner IS NOT NULL BEGIN
    INSERT INTO private_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER passages_fts_delete AFTER DELETE ON passages WHEN old.owner IS NULL BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
END;
CREATE TRIGGER private_fts_delete AFTER DELETE ON passages WHEN old.owner IS NOT NULL BEGIN
    INSERT INTO private_fts (private_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
END;
CREATE TRIGGER passages_fts_update AFTER UPDATE OF title, body, labels, before, after ON passages
WHEN old.owner IS NULL AND new.owner IS NULL BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO passages_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER private_fts_update AFTER UPDATE OF title, body, labels, before, after ON passages
WHEN old.owner IS NOT NULL AND new.owner IS NOT NULL BEGIN
    INSERT INTO private_fts (private_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO private_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER passages_fts_hidden AFTER UPDATE OF owner ON passages
WHEN old.owner IS NULL AND new.owner IS NOT NULL BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO private_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;
CREATE TRIGGER passages_fts_shown AFTER UPDATE OF owner ON passages
WHEN old.owner IS NOT NULL AND new.owner IS NULL BEGIN
    INSERT INTO private_fts (private_fts, rowid, title, body, labels, before, after)
    VALUES ('delete', old.seq, old.title, old.body, old.labels, old.before, old.after);
    INSERT INTO passages_fts (rowid, title, body, labels, before, after)
    VALUES (new.seq, new.title, new.body, new.labels, new.before, new.after);
END;

-- derived from passages_fts: how many passages hold a word
CREATE VIRTUAL TABLE passages_words USING fts5vocab (passages_fts, 'row');

-- derived from passages: as passages_pairs, of those that are private to somebody
CREATE VIRTUAL TABLE private_pairs USING fts5 (
    pairs, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
);
INSERT INTO private_pairs (rowid, pairs)
SELECT s.rowid, s.pairs FROM passages p JOIN passages_pairs s ON s.rowid = p.seq WHERE p.owner IS NOT NULL;
DELETE FROM passages_pairs WHERE rowid IN (SELECT seq FROM passages WHERE owner IS NOT NULL);
INSERT INTO passages_pairs (passages_pairs) VALUES ('optimize');

CREATE TRIGGER passages_pairs_hidden AFTER UPDATE OF owner ON passages
WHEN old.owner IS NULL AND new.owner IS NOT NULL BEGIN
    INSERT INTO private_pairs (rowid, pairs) SELECT rowid, pairs FROM passages_pairs WHERE rowid = old.seq;
    DELETE FROM passages_pairs WHERE rowid = old.seq;
END;
CREATE TRIGGER passages_pairs_shown AFTER UPDATE OF owner ON passages
WHEN old.owner IS NOT NULL AND new.owner IS NULL BEGIN
    INSERT INTO passages_pairs (rowid, pairs) SELECT rowid, pairs FROM private_pairs WHERE rowid = old.seq;
    DELETE FROM private_pairs WHERE rowid = old.seq;
END;

-- SQLite cannot drop a column that is unique by itself: the old one stays, empty.
ALTER TABLE memories RENAME COLUMN external_id TO external_id_of_vault;
ALTER TABLE memories ADD COLUMN external_id TEXT;
UPDATE memories SET external_id = external_id_of_vault, external_id_of_vault = NULL
WHERE external_id_of_vault IS NOT NULL;
CREATE UNIQUE INDEX memories_by_external_id
ON memories (external_id, (CASE visibility WHEN 'private' THEN stored_by ELSE '' END)) WHERE external_id IS NOT NULL;

-- Cursors hold numbers of rows, which count what everybody stores: they are sealed with a key of the vault.
INSERT INTO vault_info (key, value) VALUES ('cursor_key', lower(hex(randomblob(32)))) ON CONFLICT (key) DO NOTHING;

-- Lines of more than 16 KB are cut into passages in parts now: notes that may hold one are read again.
UPDATE notes SET mtime_ns = 0, complete = 0 WHERE size > 16384;
