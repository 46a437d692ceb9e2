-- How backups went: what is to be kept, and how old the last good one is.

-- canonical: bookkeeping, the newest of each vault
CREATE TABLE backups (
    number   INTEGER PRIMARY KEY,
    vault_id TEXT NOT NULL,                 -- '': of control.db
    vault    TEXT NOT NULL,                 -- its name then
    began_at TEXT NOT NULL,
    seconds  REAL NOT NULL,
    size     INTEGER NOT NULL,              -- bytes of what was backed up
    moved    INTEGER NOT NULL,              -- bytes written to the target
    target   TEXT NOT NULL,                 -- an archive's path, or a snapshot's name in its store
    position INTEGER NOT NULL,              -- the vault's highest change number
    outcome  TEXT NOT NULL                  -- 'ok', or the code of what failed
) STRICT;
CREATE INDEX backups_of_vault ON backups (vault_id, number);
