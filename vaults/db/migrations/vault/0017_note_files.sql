-- The files of notes as the vault's own rows, where the folder is only a view of them: in a cluster, whose servers may
-- burn. On one machine the folder is the truth, and this table stays empty.

-- canonical: every file of the notes folder, by what stands in it
CREATE TABLE note_files (
    path     TEXT PRIMARY KEY,                      -- from the notes folder, with /
    version  TEXT NOT NULL REFERENCES note_versions (hash),
    mtime_ns INTEGER NOT NULL,                      -- as the index knows it, so that nothing is read again
    mode     INTEGER                                -- permission bits; NULL: those of new files
) STRICT;
CREATE INDEX note_files_by_version ON note_files (version);
