-- Whoever stored something may have it removed for good after it was let go, too: by its id, as while it was there.

ALTER TABLE evictions ADD COLUMN stored_by TEXT;     -- the principal that stored it; NULL: it went before this was kept
UPDATE evictions SET stored_by = owner;
CREATE INDEX evictions_by_item ON evictions (id);
