/**
 * Proofs that no task and no entry of the audit log was removed. For each
 * tenant, a MAC protects the number of its tasks and the end of its audit log.
 *
 * @module
 */

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 as sha256Hash } from "@noble/hashes/sha2.js";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { BoundedMap } from "../../../shared/bounded_map.ts";
import { sha256 } from "../digest.ts";
import type { AuditEntry } from "../store.ts";
import type { ProofKey } from "../../secrets/master_keys.ts";
import { numberOf, type Row, textOf } from "./reader.ts";

const encoder = new TextEncoder();

/** A row of the table `proofs`. */
export interface Proof {
  /** The tenant's number; 0 in the row about the whole table. */
  readonly tenant: number;
  /** The tenant's id; undefined in the row about the whole table. */
  readonly tenantId: string | undefined;
  /** The number of the tenant's tasks; in row 0, the number of other rows. */
  readonly tasks: number;
  /** The number of the last entry of the audit log. */
  readonly audits: number;
  /**
   * The hash of that entry; empty when it was written before hashes were
   * introduced.
   */
  readonly auditHash: string;
  /** The MAC; null in a database that has never been sealed. */
  readonly mac: string | null;
}

/** The outcome of verifying a MAC. */
type ProofVerdict =
  | "sealed"
  /** The database has never been sealed. */
  | "unsealed"
  /**
   * The key that made the MAC is not available, or was not when the row
   * changed.
   */
  | "unknown_key"
  | "broken";

/** The tenant number of the row that holds the number of the other rows. */
export const ALL_TENANTS = 0;

/**
 * Replaces the MAC of a row that was found changed, so that the fault stays
 * visible.
 */
const BROKEN = "broken";

/**
 * The beginning of the text that replaces the MAC of a row that changed while
 * its key was not available.
 */
const KEYLESS = "?";

/** The query of the rows that {@linkcode proofOf} reads. */
export const PROOF_ROWS: string =
  "SELECT proofs.tenant, tasks, audits, audit_hash, mac, " +
  "tenants.id AS id FROM proofs LEFT JOIN tenants " +
  "ON tenants.tenant = proofs.tenant";

/** Reads the proof from a row of {@linkcode PROOF_ROWS}. */
export function proofOf(row: Row): Proof {
  return {
    tenant: numberOf(row, "tenant"),
    tenantId: row["id"] === null ? undefined : textOf(row, "id"),
    tasks: numberOf(row, "tasks"),
    audits: numberOf(row, "audits"),
    auditHash: textOf(row, "audit_hash"),
    mac: row["mac"] === null ? null : textOf(row, "mac"),
  };
}

/**
 * The hash of an audit log entry, which covers the hash of the entry before.
 */
export function auditHash(
  prev: string,
  { number, atMs, action, text }: AuditEntry,
): string {
  return sha256(`${prev}\n${number}\n${atMs}\n${action}\n${text}`);
}

/** Verifies the MAC of a proof. */
export function judgeProof(
  proof: Proof,
  keys: readonly ProofKey[],
): ProofVerdict {
  const { mac } = proof;
  if (mac === null) return "unsealed";
  if (mac === BROKEN) return "broken";
  const key = keyOf(mac, keys);
  if (key === undefined) return "unknown_key";
  return isSame(mac, macOf(proof, key)) ? "sealed" : "broken";
}

/** Compares two texts in a time that does not reveal where they differ. */
function isSame(text: string, other: string): boolean {
  let difference = text.length ^ other.length;
  for (let i = 0; i < other.length; i++) {
    difference |= text.charCodeAt(i) ^ other.charCodeAt(i);
  }
  return difference === 0;
}

/** The key that made a MAC; undefined when it is not available. */
function keyOf(
  mac: string | null,
  keys: readonly ProofKey[],
): ProofKey | undefined {
  return keys.find(({ id }) => mac?.startsWith(`${id}:`));
}

function macOf(proof: Proof, { id, key }: ProofKey): string {
  const { tenant, tenantId, tasks, audits, auditHash } = proof;
  const text = JSON.stringify([
    tenant,
    tenantId ?? null,
    tasks,
    audits,
    auditHash,
  ]);
  // This is faster than `node:crypto`, which takes a thread 30 ms to load.
  const mac = hmac(sha256Hash, key, encoder.encode(text));
  return `${id}:${mac.toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

/** A proof as the thread that writes knows it. */
interface KnownProof {
  readonly proof: Proof;
  /** The verdict on the proof when it was read. */
  readonly verdict: ProofVerdict;
}

/** The most tenants whose proof is cached. */
const MAX_KNOWN = 10_000;

/**
 * Updates the proofs of a database in the transactions that change what they
 * prove.
 */
export class ProofWriter {
  readonly #keys: readonly ProofKey[];
  readonly #find: StatementSync;
  readonly #findMac: StatementSync;
  readonly #put: StatementSync;
  readonly #lastAudit: StatementSync;
  readonly #addAudit: StatementSync;
  /** The committed proofs; other processes only seal them with another key. */
  readonly #known = new BoundedMap<number, KnownProof>({
    maxEntries: MAX_KNOWN,
  });
  /** The proofs that the current group changes. */
  readonly #changed = new Map<number, KnownProof>();
  /**
   * The proofs before the current transaction, to restore them if it is undone.
   */
  readonly #beforeTransaction = new Map<number, KnownProof>();

  /** Prepares the statements. The first of the keys seals. */
  constructor(db: DatabaseSync, keys: readonly ProofKey[]) {
    this.#keys = keys;
    this.#find = db.prepare(`${PROOF_ROWS} WHERE proofs.tenant = ?`);
    this.#findMac = db.prepare("SELECT mac FROM proofs WHERE tenant = ?");
    this.#put = db.prepare(
      "INSERT OR REPLACE INTO proofs(tenant, tasks, audits, audit_hash, mac) " +
        "VALUES(?, ?, ?, ?, ?)",
    );
    this.#lastAudit = db.prepare(
      "SELECT max(number) AS number FROM audit WHERE tenant = ?",
    );
    this.#addAudit = db.prepare(
      "INSERT INTO audit(tenant, number, at_ms, action, text, hash) " +
        "VALUES(?, ?, ?, ?, ?, ?)",
    );
  }

  /** Begins a group, and drops the changes of a group that was rolled back. */
  beginGroup(): void {
    this.#changed.clear();
    this.#beforeTransaction.clear();
  }

  /** Ends a transaction; its changes are kept or undone. */
  endTransaction(isApplied: boolean): void {
    if (this.#beforeTransaction.size === 0) return;
    if (!isApplied) {
      for (const [tenant, before] of this.#beforeTransaction) {
        this.#changed.set(tenant, before);
      }
    }
    this.#beforeTransaction.clear();
  }

  /** Writes the changed proofs, before the group is committed. */
  endGroup(): void {
    for (const [tenant, { proof, verdict }] of this.#changed) {
      const mac = this.#macOf(proof, verdict);
      const { tasks, audits, auditHash } = proof;
      this.#put.run(tenant, tasks, audits, auditHash, mac);
      this.#changed.set(tenant, { proof: { ...proof, mac }, verdict });
    }
  }

  /** Notes that the group is committed. */
  committed(): void {
    for (const [tenant, known] of this.#changed) {
      if (known.verdict === "sealed") this.#known.set(tenant, known);
    }
  }

  /** Adds the proof of a tenant that got its number. */
  addTenant(tenant: number, tenantId: string): void {
    const all = this.#read(ALL_TENANTS);
    const { proof } = all;
    const tasks = proof.tasks + 1;
    this.#changed.set(ALL_TENANTS, { ...all, proof: { ...proof, tasks } });
    // The new proof is as trustworthy as the number of tenants.
    const isSealed = all.verdict === "sealed";
    const blank = { tenant, tenantId, tasks: 0, audits: 0, auditHash: "" };
    this.#changed.set(tenant, {
      proof: { ...blank, mac: isSealed ? proof.mac : null },
      verdict: isSealed ? "sealed" : "unsealed",
    });
  }

  /**
   * Changes the number of a tenant's tasks; `tasks` is negative for removed
   * ones.
   */
  count(tenant: number, tasks: number): void {
    const { proof } = this.#read(tenant);
    this.#change(tenant, { tasks: proof.tasks + tasks });
  }

  /** Adds an entry to the audit log. */
  addAudit(tenant: number, entry: Omit<AuditEntry, "number">): void {
    const { proof: { audits, auditHash: prev } } = this.#read(tenant);
    const { atMs, action, text } = entry;
    // The number cannot be that of an entry that another program added; such an
    // entry is revealed by its hash.
    const last = this.#lastAudit.get(tenant)?.["number"];
    const number = Math.max(audits, Number(last ?? 0)) + 1;
    const hash = auditHash(prev, { number, ...entry });
    this.#addAudit.run(tenant, number, atMs, action, text, hash);
    this.#change(tenant, { audits: number, auditHash: hash });
  }

  #change(tenant: number, patch: Partial<Proof>): void {
    const before = this.#read(tenant);
    if (!this.#beforeTransaction.has(tenant)) {
      this.#beforeTransaction.set(tenant, before);
    }
    const proof = { ...before.proof, ...patch };
    this.#changed.set(tenant, { ...before, proof });
  }

  #read(tenant: number): KnownProof {
    const changed = this.#changed.get(tenant);
    if (changed !== undefined) return changed;
    const known = this.#known.get(tenant);
    if (
      known !== undefined &&
      this.#findMac.get(tenant)?.["mac"] === known.proof.mac
    ) return known;
    const row = this.#find.get(tenant);
    if (row !== undefined) {
      const proof = proofOf(row);
      return { proof, verdict: judgeProof(proof, this.#keys) };
    }
    // The row was removed, so its counts can no longer be right.
    const blank = { tenantId: undefined, tasks: 0, audits: 0, auditHash: "" };
    return { proof: { tenant, ...blank, mac: BROKEN }, verdict: "broken" };
  }

  #macOf(proof: Proof, verdict: ProofVerdict): string | null {
    switch (verdict) {
      case "sealed": {
        // A row keeps its key; only a command replaces the key.
        const key = keyOf(proof.mac, this.#keys);
        return key === undefined ? BROKEN : macOf(proof, key);
      }
      case "unsealed":
        return null;
      case "unknown_key":
        return `${KEYLESS}${proof.mac?.split(":")[0]?.replace(KEYLESS, "")}`;
      case "broken":
        // A MAC over the counts from now on might look right again.
        return BROKEN;
    }
  }
}

/** Options of {@linkcode sealProofs}. */
export interface SealProofsOptions {
  /** The available keys; the first one seals. */
  readonly keys: readonly ProofKey[];
  /**
   * The verdicts of rows that are sealed besides those that are sealed already.
   */
  readonly also: readonly ProofVerdict[];
}

/**
 * Seals all proofs with the first key, except those that were changed.
 *
 * @returns how many proofs were left as they are
 */
export function sealProofs(
  db: DatabaseSync,
  { keys, also }: SealProofsOptions,
): number {
  const [key] = keys;
  if (key === undefined) return 0;
  const set = db.prepare("UPDATE proofs SET mac = ? WHERE tenant = ?");
  let left = 0;
  const proofs = db.prepare(PROOF_ROWS).all().map(proofOf);
  const all = proofs.find(({ tenant }) => tenant === ALL_TENANTS);
  const isSealed = all !== undefined && judgeProof(all, keys) === "sealed";
  for (const proof of proofs) {
    const judged = judgeProof(proof, keys);
    // All rows are sealed together, so a row without a MAC has lost it since.
    const verdict = isSealed && judged === "unsealed" ? "broken" : judged;
    if (verdict === "sealed" || also.includes(verdict)) {
      const mac = macOf(proof, key);
      if (mac !== proof.mac) set.run(mac, proof.tenant);
    } else left++;
  }
  return left;
}
