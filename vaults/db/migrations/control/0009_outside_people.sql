-- People who sign in through an outside provider, and grants that follow their groups there.

-- canonical
CREATE TABLE outside_identities (
    issuer     TEXT NOT NULL,               -- of the provider, as its tokens name it
    subject    TEXT NOT NULL,               -- the provider's own name for them, which it never gives to another
    person     TEXT NOT NULL UNIQUE REFERENCES people (name) ON DELETE CASCADE,
    provider   TEXT NOT NULL,               -- as the settings call it
    created_at TEXT NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

ALTER TABLE grants ADD COLUMN source TEXT;  -- the provider whose groups it follows; NULL: somebody gave it
