-- Passkeys by which people sign in: the public half alone, so who reads this table signs in nowhere with it.

-- canonical
CREATE TABLE passkeys (
    id         TEXT PRIMARY KEY,            -- of the credential, base64url
    person     TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
    name       TEXT NOT NULL,               -- as the person calls it
    public_key BLOB NOT NULL,               -- COSE
    sign_count INTEGER NOT NULL,            -- the last that it told; 0 for those that count nothing
    created_at TEXT NOT NULL,
    used_at    TEXT
) STRICT;
CREATE INDEX passkeys_of_person ON passkeys (person);

-- canonical
CREATE TABLE used_challenges (
    digest     TEXT PRIMARY KEY,
    expires_at TEXT NOT NULL                -- from then on the challenge is too old in any case
) STRICT, WITHOUT ROWID;
CREATE INDEX used_challenges_by_end ON used_challenges (expires_at);

ALTER TABLE people ADD COLUMN handle TEXT;  -- by which a passkey names its person: random, so that it says nothing of them
UPDATE people SET handle = lower(hex(randomblob(32)));
