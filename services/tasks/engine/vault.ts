/**
 * The secrets of workers: opened when they are needed, and kept for a while after
 * they were replaced or removed. A worker that leased a task before may still report
 * them until its lease ends; so they are removed from what is stored for as long as
 * an attempt may last.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import { newSigningSecret } from "../delivery/webhook_signature.ts";
import type {
  SigningSecret as StoredSigning,
  WorkerDefinition,
} from "../domain/records.ts";
import {
  openSecret,
  sealedKeyId,
  sealSecret,
  type SecretOutcome,
  type SecretRow,
} from "../secrets/envelope.ts";
import type { MasterKeys, SealingKey } from "../secrets/master_keys.ts";
import { Scrubber } from "../secrets/scrub.ts";
import { MAX_SECRETS_PER_WORKER } from "../secrets/secret_rules.ts";
import type { Write } from "../store/store.ts";
import type {
  Repositories,
  RetiredSecrets,
  RetiredValue,
  SecretRecord,
} from "./repositories.ts";
import { SecretsError, TenantKeys } from "./tenant_keys.ts";

/** Names a worker by its definition. */
type WorkerKey = Pick<WorkerDefinition, "tenantId" | "id">;

/**
 * Where the signing secret of that number is sealed; no client's secret can have
 * a name in small letters.
 */
function signingRow({ tenantId, id }: WorkerKey, number: number): SecretRow {
  return { tenantId, workerId: id, name: "signing", version: number };
}

/** Where the private half of a key pair is sealed. */
function keyPairRow({ tenantId, id }: WorkerKey): SecretRow {
  return { tenantId, workerId: id, name: "signing_key", version: 1 };
}

/** Workers whose opened secrets are cached. */
const MAX_OPENED = 1_000;

/** Opened secrets of a worker. */
export interface OpenedSecrets {
  /** Values by name. */
  readonly values: ReadonlyMap<string, string>;
  /**
   * Takes them out of texts, and those that were replaced or removed while an
   * attempt may know them; absent when there is nothing to take out.
   */
  readonly scrubber?: Scrubber;
}

interface VaultOptions {
  /** Where secrets and data keys are. */
  readonly repositories: Pick<
    Repositories,
    "secrets" | "retiredSecrets" | "dataKeys"
  >;
  /**
   * What data keys are wrapped by.
   * @default none: nothing is sealed then, and nothing opens
   */
  readonly masterKeys?: MasterKeys | undefined;
  readonly clock: Clock;
}

const NOTHING: OpenedSecrets = { values: new Map() };

/** Seals and opens. */
export class Vault {
  /** The keys of tenants. */
  readonly keys: TenantKeys;
  readonly #options: VaultOptions;
  readonly #opened = new BoundedMap<
    string,
    { readonly changes: number; readonly secrets: OpenedSecrets }
  >({ maxEntries: MAX_OPENED });

  /** A vault that has opened nothing. */
  constructor(options: VaultOptions) {
    this.#options = options;
    this.keys = new TenantKeys(options);
  }

  /** Whether secrets can be kept. */
  get isAvailable(): boolean {
    return this.#options.masterKeys !== undefined;
  }

  /** Forgets everything that was opened for a tenant, as when it is removed. */
  forget(tenantId: string): void {
    this.keys.forget(tenantId);
    for (const [name] of this.#opened) {
      if (name.startsWith(`${tenantId}\n`)) this.#opened.delete(name);
    }
  }

  /**
   * Opens all named secrets of a worker.
   *
   * @throws {SecretsError} when one cannot be opened, as without a master key
   */
  async open(tenantId: string, workerId: string): Promise<OpenedSecrets> {
    const { secrets: repository, retiredSecrets } = this.#options.repositories;
    // Each lease asks, and secrets seldom change.
    const changes = repository.changes + retiredSecrets.changes;
    const name = `${tenantId}\n${workerId}`;
    const known = this.#opened.get(name);
    if (known?.changes === changes) return known.secrets;
    const secrets = await this.#openAll(tenantId, workerId);
    this.#opened.set(name, { changes, secrets });
    return secrets;
  }

  /** Makes a signing secret for a worker, sealed under its number. */
  newSigning(
    worker: WorkerKey,
    options: { readonly key: SealingKey; readonly number: number },
  ): { readonly text: string; readonly stored: StoredSigning } {
    const { key, number } = options;
    const text = newSigningSecret();
    const sealed = sealSecret(text, { key, row: signingRow(worker, number) });
    return { text, stored: { sealed, number } };
  }

  /** Seals the private half of a worker's key pair. */
  sealKeyPair(
    worker: WorkerKey,
    options: { readonly key: SealingKey; readonly text: string },
  ): string {
    const { key, text } = options;
    return sealSecret(text, { key, row: keyPairRow(worker) });
  }

  /**
   * The secrets that sign a worker's calls now, as text; none when it has none.
   * One that was replaced and does not open is left out: the one in its place
   * signs.
   *
   * @throws {SecretsError} when one cannot be opened, as without a master key
   */
  async signing(worker: WorkerDefinition): Promise<readonly string[]> {
    const { tenantId, asymmetric } = worker;
    const nowMs = this.#options.clock.nowMs();
    const live = worker.signing.filter(({ expiresAtMs }) =>
      expiresAtMs === undefined || expiresAtMs > nowMs
    );
    if (live.length === 0 && asymmetric === undefined) return [];
    const open = await this.#openerOf(tenantId, [
      ...live.map(({ sealed }) => sealed),
      ...(asymmetric === undefined ? [] : [asymmetric.sealed]),
    ]);
    const texts = live.flatMap(({ sealed, number, expiresAtMs }) => {
      const outcome = open(sealed, signingRow(worker, number));
      const isReplaced = expiresAtMs !== undefined;
      return outcome.kind !== "ok" && isReplaced ? [] : [opened(outcome)];
    });
    if (asymmetric !== undefined) {
      texts.push(opened(open(asymmetric.sealed, keyPairRow(worker))));
    }
    return texts;
  }

  async #openAll(tenantId: string, workerId: string): Promise<OpenedSecrets> {
    const { clock, repositories } = this.#options;
    // One after the other, and none from the cache: a secret that is replaced
    // between the reads is among these or among those.
    const records = await repositories.secrets.all(tenantId, workerId);
    const [retired] = await repositories.retiredSecrets.all(tenantId, workerId);
    const late = liveValues(retired, clock.nowMs());
    if (records.length === 0 && late.length === 0) return NOTHING;
    const open = await this.#openerOf(
      tenantId,
      [...records, ...late].map(({ sealed }) => sealed),
    );
    const values = new Map(
      records.map(({ name, version, sealed }) => [
        name,
        opened(open(sealed, { tenantId, workerId, name, version })),
      ]),
    );
    // Of these, one that no longer opens does not keep a worker from working.
    const lateValues = late.flatMap(({ name, version, sealed }) => {
      const outcome = open(sealed, { tenantId, workerId, name, version });
      return outcome.kind === "ok" ? [{ name, value: outcome.value }] : [];
    });
    const scrubber = new Scrubber([
      ...[...values].map(([name, value]) => ({ name, value })),
      ...lateValues,
    ]);
    return { values, scrubber };
  }

  async #openerOf(
    tenantId: string,
    sealed: readonly string[],
  ): Promise<(sealed: string, row: SecretRow) => OpenerOutcome> {
    const keys = await this.keys.keysOf(tenantId, sealed);
    return (text, row) => {
      const key = keys.get(sealedKeyId(text) ?? "");
      return key === undefined
        ? { kind: "no_key" }
        : openSecret(text, { key, row });
    };
  }
}

/** The outcome of opening a secret whose key may be missing. */
type OpenerOutcome = SecretOutcome | { readonly kind: "no_key" };

function opened(outcome: OpenerOutcome): string {
  if (outcome.kind === "ok") return outcome.value;
  throw new SecretsError(
    outcome.kind === "no_key"
      ? "Cannot open secret: no master key opens the key it is sealed with"
      : `Cannot open secret: ${outcome.kind}`,
  );
}

/**
 * How long a value is kept: an attempt lasts a day at most, and one may begin
 * with the value while it is being replaced.
 */
const RETIRED_MS: number = 86_400_000 + 60_000;

/**
 * Most values that are kept of a worker, so that all of its secrets may be
 * replaced at once; of more the oldest go.
 */
const MAX_RETIRED: number = MAX_SECRETS_PER_WORKER;

/** Options of {@linkcode retiring}. */
interface RetiringOptions {
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

/** The values that the holder of a lease may still know. */
function liveValues(
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
