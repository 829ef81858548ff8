/**
 * The secrets of workers, opened when they are needed.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { newSigningSecret } from "../delivery/signing_secret.ts";
import type {
  SigningSecret as StoredSigning,
  WorkerDefinition,
} from "../domain/worker.ts";
import type { MasterKeys, SealingKey } from "../secrets/master_keys.ts";
import { Scrubber } from "../secrets/scrub.ts";
import { openSecret, sealSecret } from "../secrets/sealed.ts";
import { createTenantKey } from "../secrets/tenant_key.ts";
import { TenantKeyCache } from "../secrets/tenant_key_cache.ts";
import type { Write } from "../store/store.ts";
import type { Books, SecretRecord } from "./books.ts";

/** The name under which signing secrets are sealed; no client's can be that. */
const SIGNING_NAME = "signing";
/** The name under which the private half of a key pair is sealed. */
const KEY_PAIR_NAME = "signing_key";
/** Workers whose opened secrets are kept at hand. */
const MAX_OPENED = 1_000;

/** What is sealed cannot be opened, however often it is tried. */
export class SecretsError extends Error {
  /** The name by which it shows up in logs. */
  override readonly name = "SecretsError";
}

/** Opened secrets of a worker. */
export interface OpenedSecrets {
  /** Values by name. */
  readonly values: ReadonlyMap<string, string>;
  /** Takes them out of texts; absent when there is nothing to take out. */
  readonly scrubber?: Scrubber;
}

/** A tenant's key, and what has to be written when it is new. */
export interface SealingTicket {
  /** What seals. */
  readonly key: SealingKey;
  /** Writes that have to go along with what was sealed. */
  readonly writes: readonly Write[];
}

/** Options of {@linkcode Vault}. */
export interface VaultOptions {
  /** Where secrets and data keys are. */
  readonly books: Pick<Books, "secrets" | "dataKeys">;
  /**
   * What data keys are wrapped by.
   * @default none: there are no secrets then
   */
  readonly masterKeys?: MasterKeys;
  /** The time. */
  readonly clock: Clock;
}

const NOTHING: OpenedSecrets = { values: new Map() };

/** Seals and opens. */
export class Vault {
  readonly #options: VaultOptions;
  readonly #keys: TenantKeyCache | undefined;
  readonly #opened = new Map<
    string,
    { readonly changes: number; readonly secrets: OpenedSecrets }
  >();

  /** A vault that has opened nothing. */
  constructor(options: VaultOptions) {
    this.#options = options;
    const { masterKeys } = options;
    this.#keys = masterKeys && new TenantKeyCache({ masterKeys });
  }

  /** Whether secrets can be kept. */
  get isAvailable(): boolean {
    return this.#keys !== undefined;
  }

  /** Lets go of all that was opened for a tenant, as when it is removed. */
  forget(tenantId: string): void {
    this.#keys?.forget(tenantId);
    for (const name of this.#opened.keys()) {
      if (name.startsWith(`${tenantId}\n`)) this.#opened.delete(name);
    }
  }

  /**
   * The key that seals for a tenant; made when it has none.
   *
   * @throws {Error} when there are no master keys
   * @throws {SecretsError} when none of them opens it
   */
  async ticket(tenantId: string): Promise<SealingTicket> {
    const { masterKeys, books } = this.#options;
    if (masterKeys === undefined) {
      throw new Error("Cannot seal secret: no master key is set");
    }
    const record = await books.dataKeys.get(tenantId, "data");
    if (record !== undefined) {
      return { key: this.#open(tenantId, record.wrapped), writes: [] };
    }
    const { key, wrapped } = createTenantKey({ tenantId, masterKeys });
    const write = books.dataKeys.adding({
      tenantId,
      id: "data",
      version: 1,
      wrapped,
    });
    return { key, writes: [write] };
  }

  /**
   * Opens all named secrets of a worker.
   *
   * @throws {SecretsError} when one cannot be opened
   */
  async open(tenantId: string, workerId: string): Promise<OpenedSecrets> {
    const { books } = this.#options;
    if (this.#keys === undefined) return NOTHING;
    // Each lease asks, and secrets seldom change.
    const { changes } = books.secrets;
    const name = `${tenantId}\n${workerId}`;
    const known = this.#opened.get(name);
    if (known?.changes === changes) return known.secrets;
    const records = await books.secrets.all(tenantId, workerId);
    const secrets = records.length === 0
      ? NOTHING
      : openRecords(records, await this.#tenantKey(tenantId));
    const oldest = this.#opened.keys().next().value;
    if (this.#opened.size >= MAX_OPENED && oldest !== undefined) {
      this.#opened.delete(oldest);
    }
    this.#opened.set(name, { changes, secrets });
    return secrets;
  }

  /** Makes a signing secret for a worker, sealed under its number. */
  newSigning(
    worker: Pick<WorkerDefinition, "tenantId" | "id">,
    options: { readonly key: SealingKey; readonly number: number },
  ): { readonly text: string; readonly stored: StoredSigning } {
    const text = newSigningSecret({});
    const sealed = sealSecret(text, {
      key: options.key,
      row: {
        tenantId: worker.tenantId,
        workerId: worker.id,
        name: SIGNING_NAME,
        version: options.number,
      },
    });
    return { text, stored: { sealed, number: options.number } };
  }

  /** Seals the private half of a worker's key pair. */
  sealKeyPair(
    worker: Pick<WorkerDefinition, "tenantId" | "id">,
    options: { readonly key: SealingKey; readonly text: string },
  ): string {
    return sealSecret(options.text, {
      key: options.key,
      row: {
        tenantId: worker.tenantId,
        workerId: worker.id,
        name: KEY_PAIR_NAME,
        version: 1,
      },
    });
  }

  /**
   * The secrets that sign a worker's calls now, as text; none without a master key.
   *
   * @throws {SecretsError} when one cannot be opened
   */
  async signing(worker: WorkerDefinition): Promise<readonly string[]> {
    if (this.#keys === undefined || worker.signing.length === 0) return [];
    const { tenantId, id: workerId } = worker;
    const key = await this.#tenantKey(tenantId);
    const nowMs = this.#options.clock.nowMs();
    const texts = worker.signing
      .filter(({ expiresAtMs }) =>
        expiresAtMs === undefined || expiresAtMs > nowMs
      )
      .map(({ sealed, number }) =>
        opened(
          openSecret(sealed, {
            key,
            row: { tenantId, workerId, name: SIGNING_NAME, version: number },
          }),
        )
      );
    if (worker.asymmetric !== undefined) {
      const row = { tenantId, workerId, name: KEY_PAIR_NAME, version: 1 };
      texts.push(opened(openSecret(worker.asymmetric.sealed, { key, row })));
    }
    return texts;
  }

  async #tenantKey(tenantId: string): Promise<SealingKey> {
    const record = await this.#options.books.dataKeys.get(tenantId, "data");
    if (record === undefined) {
      throw new SecretsError("Cannot open secret: the tenant has no data key");
    }
    return this.#open(tenantId, record.wrapped);
  }

  #open(tenantId: string, wrapped: string): SealingKey {
    const outcome = this.#keys?.unwrap(tenantId, wrapped);
    if (outcome?.kind === "ok") return outcome.key;
    throw new SecretsError(
      `Cannot open data key: ${outcome?.kind ?? "no master key is set"}`,
    );
  }
}

function openRecords(
  records: readonly SecretRecord[],
  key: SealingKey,
): OpenedSecrets {
  const values = new Map(
    records.map((record) => [record.name, openRecord(record, key)]),
  );
  const scrubber = new Scrubber(
    [...values].map(([name, value]) => ({ name, value })),
  );
  return { values, scrubber };
}

function openRecord(record: SecretRecord, key: SealingKey): string {
  const { tenantId, workerId, name, version, sealed } = record;
  return opened(
    openSecret(sealed, { key, row: { tenantId, workerId, name, version } }),
  );
}

function opened(
  outcome: ReturnType<typeof openSecret>,
): string {
  if (outcome.kind === "ok") return outcome.value;
  throw new SecretsError(`Cannot open secret: ${outcome.kind}`);
}
