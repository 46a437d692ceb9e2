-- The account a vault has in a social network, and what was sent there.

-- canonical: one account for each network
CREATE TABLE social_accounts (
    network   TEXT PRIMARY KEY,
    api_key   BLOB NOT NULL,                     -- sealed with a key of the data folder: nobody reads it from here
    stored_by TEXT NOT NULL,                     -- the principal
    stored_at TEXT NOT NULL
) STRICT;

-- canonical: what limits and the guard against duplicates go by; of posts hashes, of comments the time alone
CREATE TABLE social_sent (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT NOT NULL CHECK (kind IN ('post', 'comment')),
    submolt      TEXT,
    title_hash   TEXT,
    content_hash TEXT,
    sent_at      TEXT NOT NULL
) STRICT;
CREATE INDEX social_sent_by_time ON social_sent (kind, sent_at);
CREATE INDEX social_sent_by_submolt ON social_sent (submolt) WHERE kind = 'post';
