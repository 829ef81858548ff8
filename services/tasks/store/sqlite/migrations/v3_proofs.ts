/**
 * What proves that nothing was changed behind the service's back, and a row to
 * try writing with.
 *
 * @module
 */

/** Makes the tables of version 3. */
export const PROOF_TABLES = `
-- What each tenant has: how many tasks, and where its audit log ends. mac is over
-- all of that, under a key that the master key gives; null in a database that
-- has never been sealed. The row of tenant 0 tells in tasks how many other rows
-- there are, so that none of them can be taken away.
CREATE TABLE proofs(
  tenant INTEGER PRIMARY KEY,
  tasks INTEGER NOT NULL,
  audits INTEGER NOT NULL,
  audit_hash TEXT NOT NULL,
  mac TEXT
) STRICT;
INSERT INTO proofs
  SELECT tenant,
    (SELECT count(*) FROM tasks WHERE tasks.tenant = tenants.tenant),
    (SELECT coalesce(max(number), 0) FROM audit
      WHERE audit.tenant = tenants.tenant),
    '',
    NULL
  FROM tenants;
INSERT INTO proofs SELECT 0, count(*), 0, '', NULL FROM proofs;

-- Of each entry of the audit log the hash of it and of the one before; null in
-- entries from before there were hashes.
ALTER TABLE audit ADD COLUMN hash TEXT;

-- As much as some commits write, for who asks whether there is room.
CREATE TABLE probe(bytes BLOB NOT NULL) STRICT;
INSERT INTO probe VALUES(zeroblob(65536));
`;
