-- What is done to a vault's folder after the registry says so: a kill in between leaves the rest to the next process.

-- canonical
CREATE TABLE folder_moves (
    vault_id   TEXT PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('rename', 'erase')),
    from_name  TEXT NOT NULL,               -- the vault's name, which names its folder
    to_name    TEXT,                        -- of a rename
    path       TEXT,                        -- of a vault served in place
    since      TEXT NOT NULL
) STRICT;
