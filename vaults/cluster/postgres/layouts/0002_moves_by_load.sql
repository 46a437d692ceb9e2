-- What moving vaults away from busy servers goes by.
ALTER TABLE strongroom.servers ADD COLUMN cpu real NOT NULL DEFAULT 0;  -- share of its cores in use, 0 to 1
ALTER TABLE strongroom.servers ADD COLUMN memory real NOT NULL DEFAULT 0;  -- share of its memory for vectors in use
ALTER TABLE strongroom.placement ADD COLUMN moved_to text;  -- the id of the server it was moved to because its own was busy; of no account once that one is gone
CREATE INDEX placement_moved ON strongroom.placement (vault) WHERE moved_to IS NOT NULL;
