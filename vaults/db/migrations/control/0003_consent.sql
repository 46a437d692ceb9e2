-- Whether a person is asked before what destroys, in whatever write mode.

ALTER TABLE vaults ADD COLUMN destructive TEXT NOT NULL DEFAULT 'ask' CHECK (destructive IN ('ask', 'auto'));
