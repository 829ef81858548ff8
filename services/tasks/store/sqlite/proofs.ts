/**
 * What proves that no task and no entry of the audit log was taken away: how many
 * tasks each tenant has and where its audit log ends, under a MAC.
 *
 * @module
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { sha256 } from "../../engine/digest.ts";
import type { ProofKey } from "../../secrets/master_keys.ts";
import { numberOf, type Row, textOf } from "./reader.ts";

/** What a row of `proofs` proves. */
export interface Proof {
  /** The tenant's number; 0 for what is true of all of them. */
  readonly tenant: number;
  /** The tenant's id; empty for all of them. */
  readonly tenantId: string;
  /** How many tasks there are; of tenant 0, how many other rows. */
  readonly tasks: number;
  /** The number of the last entry of the audit log. */
  readonly audits: number;
  /** Its hash; empty when it was written before there were hashes. */
  readonly auditHash: string;
  /** The MAC; null in a database that has never been sealed. */
  readonly mac: string | null;
}

/** What a MAC tells. */
export type ProofVerdict =
  | "sealed"
  /** There is none, as it has never been sealed. */
  | "unsealed"
  /** The key that made it is not given. */
  | "unknown_key"
  | "broken";

/** The row that tells how many others there are. */
export const ALL_TENANTS = 0;

/** In the place of the MAC of what was found changed, so that it stays known. */
const BROKEN = "broken";

/** Asks for the rows that {@linkcode proofOf} reads. */
export const PROOF_ROWS: string =
  "SELECT proofs.tenant, tasks, audits, audit_hash, mac, " +
  "coalesce(tenants.id, '') AS id FROM proofs LEFT JOIN tenants " +
  "ON tenants.tenant = proofs.tenant";

/** The proof in a row of {@linkcode PROOF_ROWS}. */
export function proofOf(row: Row): Proof {
  return {
    tenant: numberOf(row, "tenant"),
    tenantId: textOf(row, "id"),
    tasks: numberOf(row, "tasks"),
    audits: numberOf(row, "audits"),
    auditHash: textOf(row, "audit_hash"),
    mac: row["mac"] === null ? null : textOf(row, "mac"),
  };
}

/** An entry of the audit log as its hash covers it. */
export interface HashedAudit {
  /** Its number; 1 for the first of a tenant. */
  readonly number: number;
  /** When, in milliseconds since the epoch. */
  readonly atMs: number;
  /** What was done. */
  readonly action: string;
  /** The rest of it, as JSON text. */
  readonly text: string;
}

/** The hash of an entry of the audit log, over that of the one before. */
export function auditHash(
  prev: string,
  { number, atMs, action, text }: HashedAudit,
): string {
  return sha256(`${prev}\n${number}\n${atMs}\n${action}\n${text}`);
}

/** Tells whether a proof is what was written. */
export function judgeProof(
  proof: Proof,
  keys: readonly ProofKey[],
): ProofVerdict {
  const { mac } = proof;
  if (mac === null) return "unsealed";
  const colon = mac.indexOf(":");
  if (colon === -1) return "broken";
  const key = keys.find(({ id }) => id === mac.slice(0, colon));
  if (key === undefined) return "unknown_key";
  const encoder = new TextEncoder();
  const [found, wanted] = [mac, macOf(proof, key)]
    .map((text) => encoder.encode(text));
  return found?.length === wanted?.length && found !== undefined &&
      wanted !== undefined && timingSafeEqual(found, wanted)
    ? "sealed"
    : "broken";
}

function macOf(proof: Proof, { id, key }: ProofKey): string {
  const { tenant, tenantId, tasks, audits, auditHash } = proof;
  const text = [tenant, tenantId, tasks, audits, auditHash].join("\n");
  return `${id}:${createHmac("sha256", key).update(text).digest("base64url")}`;
}

/** Keeps the proofs of a database, in the transactions that change what they prove. */
export class ProofWriter {
  readonly #keys: readonly ProofKey[];
  readonly #find: StatementSync;
  readonly #add: StatementSync;
  readonly #count: StatementSync;
  readonly #setHead: StatementSync;
  readonly #setMac: StatementSync;
  readonly #addAudit: StatementSync;
  /** Tenants whose row changes in this group, and what its MAC told before. */
  readonly #touched = new Map<number, ProofVerdict>();
  /** Tasks that were added in this group, less those that were removed. */
  readonly #groupTasks = new Map<number, number>();
  #unitTasks: { readonly tenant: number; readonly tasks: number }[] = [];

  /** Prepares the statements. The first of the keys seals. */
  constructor(db: DatabaseSync, keys: readonly ProofKey[]) {
    this.#keys = keys;
    this.#find = db.prepare(`${PROOF_ROWS} WHERE proofs.tenant = ?`);
    this.#add = db.prepare(
      "INSERT OR IGNORE INTO proofs VALUES(?, 0, 0, '', ?)",
    );
    this.#count = db.prepare(
      "UPDATE proofs SET tasks = tasks + ? WHERE tenant = ?",
    );
    this.#setHead = db.prepare(
      "UPDATE proofs SET audits = ?, audit_hash = ? WHERE tenant = ?",
    );
    this.#setMac = db.prepare("UPDATE proofs SET mac = ? WHERE tenant = ?");
    this.#addAudit = db.prepare(
      "INSERT INTO audit(tenant, number, at_ms, action, text, hash) " +
        "VALUES(?, ?, ?, ?, ?, ?)",
    );
  }

  /** A group begins. */
  beginGroup(): void {
    this.#touched.clear();
    this.#groupTasks.clear();
    this.#unitTasks = [];
  }

  /** A unit ends; what it counted stays or is forgotten. */
  endUnit(isApplied: boolean): void {
    if (this.#unitTasks.length === 0) return;
    if (isApplied) {
      for (const { tenant, tasks } of this.#unitTasks) {
        const there = this.#groupTasks.get(tenant) ?? 0;
        this.#groupTasks.set(tenant, there + tasks);
      }
    }
    this.#unitTasks = [];
  }

  /** The group is about to be committed. */
  endGroup(): void {
    for (const [tenant, tasks] of this.#groupTasks) {
      if (tasks === 0) continue;
      this.#touch(tenant);
      this.#count.run(tasks, tenant);
    }
    for (const [tenant, verdict] of this.#touched) this.#seal(tenant, verdict);
  }

  /** A tenant got its number. */
  addTenant(tenant: number): void {
    const all = this.#touch(ALL_TENANTS);
    if (this.#add.run(tenant, null).changes === 0) return;
    // It is as well proven as that there are no others.
    this.#touched.set(tenant, all === "sealed" ? "sealed" : "unsealed");
    this.#count.run(1, ALL_TENANTS);
  }

  /** Tasks were added, or removed when there are fewer than none. */
  count(tenant: number, tasks: number): void {
    this.#unitTasks.push({ tenant, tasks });
  }

  /** Adds to the audit log. */
  addAudit(tenant: number, entry: Omit<HashedAudit, "number">): void {
    this.#touch(tenant);
    const { audits, auditHash: prev } = this.#read(tenant);
    const { atMs, action, text } = entry;
    const number = audits + 1;
    const hash = auditHash(prev, { number, ...entry });
    this.#addAudit.run(tenant, number, atMs, action, text, hash);
    this.#setHead.run(number, hash, tenant);
  }

  /** Looks at the MAC of a row before it changes, once in a group. */
  #touch(tenant: number): ProofVerdict {
    const known = this.#touched.get(tenant);
    if (known !== undefined) return known;
    // A row that was taken away is there again, and known to be wrong.
    this.#add.run(tenant, BROKEN);
    const verdict = judgeProof(this.#read(tenant), this.#keys);
    this.#touched.set(tenant, verdict);
    return verdict;
  }

  #seal(tenant: number, verdict: ProofVerdict): void {
    const [key] = this.#keys;
    // What is wrong could become right again by what it counts from now on.
    if (verdict === "broken") {
      // Undoing a unit may have taken it away once more.
      this.#add.run(tenant, BROKEN);
      this.#setMac.run(BROKEN, tenant);
    }
    if (verdict !== "sealed" || key === undefined) return;
    this.#setMac.run(macOf(this.#read(tenant), key), tenant);
  }

  #read(tenant: number): Proof {
    const row = this.#find.get(tenant);
    if (row !== undefined) return proofOf(row);
    throw new TypeError(`Cannot read proof of tenant ${tenant}: none is there`);
  }
}

/** Options of {@linkcode sealProofs}. */
export interface SealProofsOptions {
  /** The keys; the first seals. */
  readonly keys: readonly ProofKey[];
  /** Which rows are sealed, beside those that are. */
  readonly also: readonly ProofVerdict[];
}

/**
 * Seals all proofs by the first key, but for those that are not what was written.
 *
 * @returns how many were left as they are
 */
export function sealProofs(
  db: DatabaseSync,
  { keys, also }: SealProofsOptions,
): number {
  const [key] = keys;
  if (key === undefined) return 0;
  const set = db.prepare("UPDATE proofs SET mac = ? WHERE tenant = ?");
  let left = 0;
  for (const row of db.prepare(PROOF_ROWS).all()) {
    const proof = proofOf(row);
    const verdict = judgeProof(proof, keys);
    if (verdict === "sealed" || also.includes(verdict)) {
      const mac = macOf(proof, key);
      if (mac !== proof.mac) set.run(mac, proof.tenant);
    } else left++;
  }
  return left;
}
