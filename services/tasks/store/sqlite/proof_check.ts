/**
 * Checks that no task and no entry of an audit log was removed from the
 * database.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import type { ProofKey } from "../../secrets/master_keys.ts";
import {
  ALL_TENANTS,
  auditHash,
  judgeProof,
  type Proof,
  PROOF_ROWS,
  proofOf,
} from "./proofs.ts";
import { numberOf, type Reader, type Row, textOf } from "./reader.ts";

/** How many rows are in memory at once. */
const PAGE = 500;

/** Options of {@linkcode proofFaults}. */
interface ProofFaultsOptions {
  /** The number of existing tasks, by the number of their tenant. */
  readonly tasks: ReadonlyMap<number, number>;
  /** The keys of the MACs; when empty, MACs are not verified. */
  readonly keys: readonly ProofKey[];
  /** Called for each entry of an audit log that has no hash. */
  readonly onUnchained: () => void;
}

/**
 * Yields what is missing or was changed, a sentence for each tenant and kind.
 */
export function* proofFaults(
  reader: Reader,
  { tasks, keys, onUnchained }: ProofFaultsOptions,
): Generator<string> {
  const proofs = new Map(
    reader.rows(PROOF_ROWS).map(proofOf).map((proof) => [proof.tenant, proof]),
  );
  yield* macFaults([...proofs.values()], keys);
  const all = proofs.get(ALL_TENANTS)?.tasks;
  if (all !== proofs.size - 1) {
    yield `Cannot trust the tenants: there are ${proofs.size - 1}, ` +
      `${all ?? "none"} were written`;
  }
  const ends = auditEnds(reader, onUnchained);
  for (const proof of proofs.values()) {
    const { tenant, tenantId } = proof;
    if (tenant === ALL_TENANTS) continue;
    const name = nameOf(proof);
    const found = tasks.get(tenant) ?? 0;
    if (found !== proof.tasks) {
      yield `Cannot trust the tasks of tenant ${name}: there are ${found}, ` +
        `${proof.tasks} were written`;
    }
    if (tenantId === undefined) {
      yield `Cannot trust tenant ${name}: it has no name`;
    }
    const end = ends.get(tenant) ?? NO_AUDIT;
    if (end.fault !== undefined) {
      yield `Cannot trust the audit log of tenant ${name} at entry ` +
        `${end.number}: ${end.fault}`;
    } else if (end.number !== proof.audits || end.hash !== proof.auditHash) {
      yield `Cannot trust the audit log of tenant ${name} at entry ` +
        `${end.number}: ${proof.audits} were written`;
    }
  }
  for (const tenant of new Set([...tasks.keys(), ...ends.keys()])) {
    if (proofs.has(tenant)) continue;
    yield `Cannot trust the tenants: number ${tenant} is not known`;
  }
}

function* macFaults(
  proofs: readonly Proof[],
  keys: readonly ProofKey[],
): Generator<string> {
  if (keys.length === 0) return;
  let unsealed = 0;
  for (const proof of proofs) {
    const what = proof.tenant === ALL_TENANTS
      ? "the number of tenants"
      : `the counts of tenant ${nameOf(proof)}`;
    switch (judgeProof(proof, keys)) {
      case "sealed":
        break;
      case "unsealed":
        unsealed++;
        break;
      case "unknown_key":
        yield `Cannot verify ${what}: the master key that sealed them is not ` +
          "given, or was not when they changed";
        break;
      case "broken":
        yield `Cannot trust ${what}: they are not what was sealed`;
    }
  }
  if (unsealed > 0) {
    yield `Cannot verify the counts of ${unsealed} rows: no master key has ` +
      'sealed them; where there was none when they were written, "tasks ' +
      'rewrap" does';
  }
}

/** The last entry of an audit log, and the first fault of the log. */
interface AuditEnd {
  readonly number: number;
  readonly hash: string;
  readonly fault?: string;
  /** Whether the entry was removed because of its age. */
  readonly isRemoved?: boolean;
}

const NO_AUDIT: AuditEnd = { number: 0, hash: "" };

function auditEnds(
  reader: Reader,
  onUnchained: () => void,
): ReadonlyMap<number, AuditEnd> {
  const ends = new Map<number, AuditEnd>();
  const rows = reader.paged(
    "SELECT tenant, number, at_ms, action, text, hash FROM audit " +
      "WHERE (tenant, number) > (?, ?) ORDER BY tenant, number LIMIT ?",
    { key: ["tenant", "number"], pageSize: PAGE },
  );
  for (const row of rows) {
    const tenant = numberOf(row, "tenant");
    const end = ends.get(tenant) ?? endBefore(row);
    if (end.fault !== undefined) continue;
    if (row["hash"] === null && end.hash === "") onUnchained();
    ends.set(tenant, nextEnd(end, row));
  }
  return ends;
}

/**
 * What comes before the first entry that is there: nothing, or entries that
 * were removed because of their age, whose hashes are not known.
 */
function endBefore(row: Row): AuditEnd {
  const number = numberOf(row, "number") - 1;
  return number === 0 ? NO_AUDIT : { number, hash: "", isRemoved: true };
}

function nextEnd(end: AuditEnd, row: Row): AuditEnd {
  const number = numberOf(row, "number");
  if (end.isRemoved === true && row["hash"] !== null) {
    return { number, hash: textOf(row, "hash") };
  }
  if (number !== end.number + 1) {
    return { ...end, number, fault: `number ${end.number + 1} is missing` };
  }
  // Entries from before hashes were introduced precede all others.
  if (row["hash"] === null && end.hash === "") return { number, hash: "" };
  const hash = auditHash(end.hash, {
    number,
    atMs: numberOf(row, "at_ms"),
    action: textOf(row, "action"),
    text: textOf(row, "text"),
  });
  return row["hash"] === hash
    ? { number, hash }
    : { number, hash, fault: "its content has another hash" };
}

function nameOf({ tenant, tenantId }: Proof): string {
  return tenantId === undefined ? `number ${tenant}` : quote(tenantId);
}
