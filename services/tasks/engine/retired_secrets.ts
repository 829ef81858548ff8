/**
 * Secrets that were replaced or removed while somebody may still work with them:
 * whoever took a lease before may say them until that ends. So they are kept,
 * sealed as they were, to be taken out of what is stored, for as long as an
 * attempt may last.
 *
 * @module
 */

import { MAX_SECRETS_PER_WORKER } from "../secrets/secret_rules.ts";
import type { Write } from "../store/store.ts";
import type {
  Repositories,
  RetiredSecrets,
  RetiredValue,
  SecretRecord,
} from "./repositories.ts";

/**
 * How long a value is kept: an attempt lasts a day at most, and one may begin
 * with the value while it is being replaced.
 */
export const RETIRED_MS: number = 86_400_000 + 60_000;

/**
 * Most values that are kept of a worker, so that all of its secrets may be
 * replaced at once; of more the oldest go.
 */
export const MAX_RETIRED: number = MAX_SECRETS_PER_WORKER;

/** Options of {@linkcode retiring}. */
export interface RetiringOptions {
  /** Where they are kept. */
  readonly repositories: Pick<Repositories, "retiredSecrets">;
  /** The time. */
  readonly nowMs: number;
}

/**
 * The writes that keep secrets of one worker which are replaced or removed in
 * the same transaction.
 */
export async function retiring(
  secrets: readonly SecretRecord[],
  { repositories: { retiredSecrets }, nowMs }: RetiringOptions,
): Promise<readonly Write[]> {
  const [first] = secrets;
  if (first === undefined) return [];
  const { tenantId, workerId } = first;
  const previous = await retiredSecrets.get(tenantId, workerId);
  const untilMs = nowMs + RETIRED_MS;
  const next: RetiredSecrets = {
    tenantId,
    id: workerId,
    version: (previous?.version ?? 0) + 1,
    values: [
      ...liveValues(previous, nowMs),
      ...secrets.map(({ name, version, sealed }) => ({
        name,
        version,
        sealed,
        untilMs,
      })),
    ].slice(-MAX_RETIRED),
  };
  return [
    previous === undefined
      ? retiredSecrets.insert(next)
      : retiredSecrets.update(previous, next),
  ];
}

/** The values that somebody may still know. */
export function liveValues(
  retired: RetiredSecrets | undefined,
  nowMs: number,
): readonly RetiredValue[] {
  return retired?.values.filter(({ untilMs }) => untilMs > nowMs) ?? [];
}

/** The write that removes what has outlived its time; undefined when nothing has. */
export function expiring(
  retired: RetiredSecrets,
  { repositories: { retiredSecrets }, nowMs }: RetiringOptions,
): Write | undefined {
  const values = liveValues(retired, nowMs);
  if (values.length === retired.values.length) return undefined;
  return values.length === 0
    ? retiredSecrets.remove(retired)
    : retiredSecrets.update(retired, {
      ...retired,
      version: retired.version + 1,
      values,
    });
}
