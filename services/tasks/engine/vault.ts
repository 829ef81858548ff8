/**
 * Encrypts ("seals") and decrypts the secrets of workers. Secrets that were
 * replaced or removed are kept for a while: a worker that leased a task before
 * may still report them until its lease ends, so they are removed from stored
 * texts for as long as an attempt may last.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { type Clock, steadyClock } from "../../shared/clock.ts";
import { newSigningSecret } from "../delivery/webhook_signature.ts";
import type {
  Signer,
  SigningSecret as StoredSigning,
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
import { MAX_RECORD_AGE_MS } from "./record_cache.ts";
import { SecretsError, TenantKeys } from "./tenant_keys.ts";

/** Identifies a worker, or a webhook. */
type WorkerKey = Pick<Signer, "tenantId" | "id">;

/**
 * The place to which the seal of a signing secret is bound, by the secret's
 * number. No client's secret can have a name in lower case.
 */
function signingRow({ tenantId, id }: WorkerKey, number: number): SecretRow {
  return { tenantId, workerId: id, name: "signing", version: number };
}

/** The place to which the seal of a private key is bound. */
function keyPairRow({ tenantId, id }: WorkerKey): SecretRow {
  return { tenantId, workerId: id, name: "signing_key", version: 1 };
}

/** The place to which the seal of a value is bound; names are in lower case. */
function valueRow({ tenantId, id }: WorkerKey, name: string): SecretRow {
  return { tenantId, workerId: id, name, version: 1 };
}

/** The most workers whose decrypted secrets are cached. */
const MAX_OPENED = 1_000;

/** The decrypted secrets of a worker. */
export interface OpenedSecrets {
  /** The values by their names. */
  readonly values: ReadonlyMap<string, string>;
  /**
   * Removes from texts these secrets, and those that were replaced or removed
   * while an attempt may still know them; absent when there are no secrets.
   */
  readonly scrubber?: Scrubber;
}

interface VaultOptions {
  /** The repositories of secrets and data keys. */
  readonly repositories: Pick<
    Repositories,
    "secrets" | "retiredSecrets" | "dataKeys"
  >;
  /**
   * The master keys that wrap data keys.
   *
   * @default none: secrets can be neither sealed nor opened
   */
  readonly masterKeys?: MasterKeys | undefined;
  readonly clock: Clock;
}

const NOTHING = { of: "", secrets: { values: new Map<string, string>() } };

/** The decrypted secrets of a worker, as they were read. */
interface Opened {
  /** What they were decrypted from. */
  readonly of: string;
  readonly secrets: OpenedSecrets;
  /** How many writes of secrets there were before. */
  readonly changes: number;
  /** When they were read, by a steady clock. */
  readonly readAtMs: number;
}

/** Seals and opens the secrets of workers. */
export class Vault {
  /** The data keys of tenants. */
  readonly keys: TenantKeys;
  /** Whether secrets can be stored, for which a master key is needed. */
  readonly isAvailable: boolean;
  readonly #options: VaultOptions;
  readonly #steady: Clock;
  readonly #opened = new BoundedMap<string, Opened>({ maxEntries: MAX_OPENED });

  /** Starts with an empty cache. */
  constructor(options: VaultOptions) {
    this.#options = options;
    this.#steady = steadyClock(options.clock);
    this.keys = new TenantKeys(options);
    this.isAvailable = options.masterKeys !== undefined;
  }

  /**
   * Removes all secrets of a tenant from the cache, as when the tenant is
   * removed.
   */
  forget(tenantId: string): void {
    this.keys.forget(tenantId);
    for (const [name] of this.#opened) {
      if (name.startsWith(`${tenantId}\n`)) this.#opened.delete(name);
    }
  }

  /**
   * Decrypts all named secrets of a worker. Other instances change secrets, too,
   * so those that were read some seconds ago are read again, and decrypted only
   * if they have changed.
   *
   * @throws {SecretsError} when a secret cannot be decrypted, as without a
   * master key
   */
  async open(tenantId: string, workerId: string): Promise<OpenedSecrets> {
    const { secrets: repository, retiredSecrets } = this.#options.repositories;
    // Every lease asks for the secrets, but they seldom change, so they are
    // cached.
    const changes = repository.changes + retiredSecrets.changes;
    const name = `${tenantId}\n${workerId}`;
    const known = this.#opened.get(name);
    const nowMs = this.#steady.nowMs();
    const isFresh = known?.changes === changes &&
      nowMs - known.readAtMs < MAX_RECORD_AGE_MS;
    if (isFresh) return known.secrets;
    const read = await this.#openAll({ tenantId, id: workerId }, known);
    this.#opened.set(name, { ...read, changes, readAtMs: nowMs });
    return read.secrets;
  }

  /** Creates a signing secret for a worker or webhook, sealed under its number. */
  newSigning(
    worker: WorkerKey,
    options: { readonly key: SealingKey; readonly number: number },
  ): { readonly text: string; readonly stored: StoredSigning } {
    const { key, number } = options;
    const text = newSigningSecret();
    const sealed = sealSecret(text, { key, row: signingRow(worker, number) });
    return { text, stored: { sealed, number } };
  }

  /** Seals the private key of a worker's key pair. */
  sealKeyPair(
    worker: WorkerKey,
    options: { readonly key: SealingKey; readonly text: string },
  ): string {
    const { key, text } = options;
    return sealSecret(text, { key, row: keyPairRow(worker) });
  }

  /** Seals a value that a webhook or alert sends, under the value's name. */
  sealValue(
    owner: WorkerKey,
    { key, name, text }: {
      readonly key: SealingKey;
      readonly name: string;
      readonly text: string;
    },
  ): string {
    return sealSecret(text, { key, row: valueRow(owner, name) });
  }

  /**
   * Opens what {@linkcode sealValue} has sealed.
   *
   * @throws {SecretsError} when it cannot be decrypted
   */
  async openValue(
    owner: WorkerKey,
    { name, sealed }: { readonly name: string; readonly sealed: string },
  ): Promise<string> {
    const open = await this.#createOpener(owner.tenantId, [sealed]);
    return opened(open(sealed, valueRow(owner, name)));
  }

  /**
   * The secrets that sign the calls of a worker or webhook now, as text; empty when it has no
   * secret. A replaced secret that cannot be decrypted is left out, since its
   * successor signs too.
   *
   * @throws {SecretsError} when another secret cannot be decrypted, as without
   * a master key
   */
  async signing(worker: Signer): Promise<readonly string[]> {
    const { tenantId, asymmetric } = worker;
    const nowMs = this.#options.clock.nowMs();
    const live = worker.signing.filter(({ expiresAtMs }) =>
      expiresAtMs === undefined || expiresAtMs > nowMs
    );
    if (live.length === 0 && asymmetric === undefined) return [];
    const open = await this.#createOpener(tenantId, [
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

  async #openAll(
    { tenantId, id: workerId }: WorkerKey,
    known: Opened | undefined,
  ): Promise<Pick<Opened, "of" | "secrets">> {
    const { clock, repositories } = this.#options;
    // These are read in this order, and from the store: a secret that is
    // replaced between the two reads is then in at least one of the results.
    const records = await repositories.secrets.all(tenantId, workerId);
    const [retired] = await repositories.retiredSecrets.all(tenantId, workerId);
    const late = liveValues(retired, clock.nowMs());
    if (records.length === 0 && late.length === 0) return NOTHING;
    const of = JSON.stringify([
      records.map(({ name, version, sealed }) => [name, version, sealed]),
      late,
    ]);
    if (of === known?.of) return known;
    const open = await this.#createOpener(
      tenantId,
      [...records, ...late].map(({ sealed }) => sealed),
    );
    const values = new Map(
      records.map(({ name, version, sealed }) => [
        name,
        opened(open(sealed, { tenantId, workerId, name, version })),
      ]),
    );
    // A retired secret that can no longer be decrypted must not stop the
    // worker.
    const lateValues = late.flatMap(({ name, version, sealed }) => {
      const outcome = open(sealed, { tenantId, workerId, name, version });
      return outcome.kind === "ok" ? [{ name, value: outcome.value }] : [];
    });
    const scrubber = new Scrubber([
      ...[...values].map(([name, value]) => ({ name, value })),
      ...lateValues,
    ]);
    return { of, secrets: { values, scrubber } };
  }

  async #createOpener(
    tenantId: string,
    sealed: readonly string[],
  ): Promise<(sealed: string, row: SecretRow) => OpenerOutcome> {
    const keys = await this.keys.findKeys(tenantId, sealed);
    return (text, row) => {
      const key = keys.get(sealedKeyId(text) ?? "");
      return key === undefined
        ? { kind: "no_key" }
        : openSecret(text, { key, row });
    };
  }
}

/** The outcome of decrypting a secret whose key may be missing. */
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
 * How long a retired value is kept, in milliseconds: an attempt lasts a day at
 * most, and may begin with the value while the value is being replaced.
 */
const RETIRED_MS: number = 86_400_000 + 60_000;

/**
 * The most retired values of a worker, so that all of its secrets may be
 * replaced at once; beyond that, the oldest are dropped.
 */
const MAX_RETIRED: number = MAX_SECRETS_PER_WORKER;

/** Options of {@linkcode retiring}. */
interface RetiringOptions {
  /** The repository of the retired secrets. */
  readonly repositories: Pick<Repositories, "retiredSecrets">;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * The writes that keep the secrets of one worker that are replaced or removed
 * in the same transaction.
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

/** The retired values that the holder of a lease may still know. */
function liveValues(
  retired: RetiredSecrets | undefined,
  nowMs: number,
): readonly RetiredValue[] {
  return retired?.values.filter(({ untilMs }) => untilMs > nowMs) ?? [];
}

/**
 * The write that drops retired values that were kept long enough; undefined
 * when there are no such values.
 */
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
