/**
 * Encrypts texts for an account, and decrypts them with keys from its key
 * servers. Texts exist unencrypted only here and in the application.
 *
 * @module
 */

import { decodeUtf8 } from "../memory/encodings.ts";
import { throwIfEnded } from "../memory/life.ts";
import type { ClientParts } from "../memory/client_parts.ts";
import { SharedFlight } from "../memory/shared_flight.ts";
import type { SharedObject } from "../vault/approval.ts";
import {
  type EncryptedObject,
  readEncryptedObject,
} from "../vault/encrypted_object.ts";
import {
  type KeyServer,
  type UserKeys,
  weighted,
} from "../vault/key_server_client.ts";
import {
  type LedgerAccount,
  type LedgerRead,
  LedgerReader,
} from "../vault/ledger_reader.ts";
import {
  decryptWithKeys,
  encryptForIdentity,
} from "../vault/threshold_encryption.ts";
import { type Deployment, findDeployment } from "./deployment.ts";
import {
  findKeyGroup,
  formatKeyName,
  type KeyGroup,
  KeyRing,
  type WantedKey,
} from "./key_ring.ts";
import { KeySessions } from "./key_sessions.ts";
import { readObjectId, type ResolvedManualConfig } from "./manual_config.ts";
import { MemLedgerError } from "./manual_errors.ts";
import {
  buildIdentity,
  deriveLocalAccountId,
  identityFault,
} from "./memory_identity.ts";

/** The outcome of decrypting a memory. */
type OpenedMemory =
  | { readonly kind: "ok"; readonly text: string }
  | FailedMemory;

interface FailedMemory {
  readonly kind: "failed";
  readonly reason: string;
}

/** What the vault has read from the relayer and the ledger. */
interface Surroundings {
  readonly deployment: Deployment;
  readonly ledger: LedgerReader;
  readonly keyServers: readonly KeyServer[];
  /** The key servers that this client encrypts for. */
  readonly own: KeyGroup;
  /**
   * The registry in the form that transactions need; undefined where there is
   * no registry.
   */
  readonly registry: SharedObject | undefined;
}

/** A memory that can be decrypted once its keys are there. */
interface LockedMemory extends WantedKey {
  readonly at: number;
  readonly object: EncryptedObject;
}

/** The longest wait for a key server or the ledger. */
const MAX_PEER_MS = 10_000;

/** Encrypts and decrypts for one account. */
export class MemoryVault {
  readonly #config: ResolvedManualConfig;
  readonly #parts: ClientParts;
  readonly #accountId: string;
  readonly #surroundings: SharedFlight<Surroundings>;
  readonly #sessions: KeySessions;
  readonly #peerTimeoutMs: number;
  readonly #ring: KeyRing;

  /**
   * Creates a vault; the first request is made when a text is encrypted or a
   * memory decrypted.
   */
  constructor(config: ResolvedManualConfig, parts: ClientParts) {
    this.#config = config;
    this.#parts = parts;
    this.#accountId = readObjectId(config.base.accountId, "accountId");
    this.#peerTimeoutMs = Math.min(MAX_PEER_MS, parts.requestTimeoutMs);
    this.#surroundings = new SharedFlight(() => this.#look());
    const { clock, signal } = parts;
    const { signer } = config;
    const sessions = new KeySessions({ signer, clock, signal });
    this.#sessions = sessions;
    this.#ring = new KeyRing({
      sessions,
      parts,
      fetch: this.#fetch,
      timeoutMs: this.#peerTimeoutMs,
    });
  }

  /**
   * Encrypts a text. The count of removed keys is read from the ledger for each
   * text, so that a delegate that was just removed cannot decrypt the text.
   *
   * @throws {MemLedgerError} When the ledger cannot be reached, or the account
   * is deactivated.
   */
  async seal(text: string, namespace: string): Promise<Uint8Array> {
    const { deployment, ledger, keyServers } = await this.#surroundings.join();
    const account = await this.#account(ledger, deployment);
    if (!account.isActive) {
      throw new MemLedgerError(
        `Cannot encrypt: the account ${this.#accountId} is deactivated`,
      );
    }
    const { packageId, threshold } = deployment;
    return await encryptForIdentity({
      keyServers: weighted(keyServers),
      threshold,
      packageId,
      id: buildIdentity(namespace, account),
      data: new TextEncoder().encode(text),
    });
  }

  /**
   * Decrypts memories of a namespace and returns their outcomes in order. A
   * memory that cannot be decrypted is an outcome; key servers that give no
   * keys at all are an error.
   *
   * @throws {MemKeyServerError} When too few key servers give keys.
   * @throws {MemLedgerError} When the ledger cannot be reached.
   */
  async open(
    blobs: readonly Uint8Array[],
    namespace: string,
  ): Promise<readonly OpenedMemory[]> {
    if (blobs.length === 0) return [];
    const surroundings = await this.#surroundings.join();
    const { ledger, deployment } = surroundings;
    const account = await this.#account(ledger, deployment);
    const opened: OpenedMemory[] = [];
    const locked: LockedMemory[] = [];
    for (const [at, bytes] of blobs.entries()) {
      const outcome = examine(bytes, { surroundings, account, namespace });
      if (outcome.kind === "failed") opened[at] = outcome;
      else locked.push({ ...outcome, at });
    }
    const keys = await this.#ring.keysFor(locked, {
      packageId: deployment.packageId,
      account,
      registry: surroundings.registry,
      own: surroundings.own,
    });
    for (const want of locked) {
      const given = keys.get(formatKeyName(want));
      opened[want.at] = given === undefined
        ? failed("too few of its key servers gave keys")
        : await decryptText(want.object, given);
      // Decrypting one memory blocks for tens of milliseconds, so other work
      // gets a turn between two memories.
      await turn();
      throwIfEnded(this.#parts.signal);
    }
    return opened;
  }

  /** Removes all keys, and overwrites the private ones. */
  wipe(): void {
    this.#sessions.wipe();
    this.#ring.clear();
  }

  async #look(): Promise<Surroundings> {
    const deployment = await findDeployment(this.#config, this.#parts);
    const { isSelfCertified, keyServers, registryId } = deployment;
    const ledger = new LedgerReader({
      url: deployment.ledgerRpcUrl,
      fetch: this.#fetch,
      timeoutMs: this.#peerTimeoutMs,
    });
    const [servers, registry] = await Promise.all([
      ledger.keyServers(keyServers, { isSelfCertified }),
      registryId === undefined ? undefined : ledger.sharedObject(registryId),
    ]);
    const known = demandValue(servers, "key servers");
    const services = weighted(known);
    const own = findKeyGroup(
      { services, threshold: deployment.threshold },
      known,
    );
    if (own === undefined) {
      throw new MemLedgerError("Cannot use key servers: they are too few");
    }
    return {
      deployment,
      ledger,
      keyServers: known,
      own,
      // The first version of the contract has no registry.
      registry: registry === undefined || registry.kind === "missing"
        ? undefined
        : demandValue(registry, "registry"),
    };
  }

  /** Reads the account's current state from the ledger. */
  async #account(
    ledger: LedgerReader,
    { isSelfCertified, packageId }: Deployment,
  ): Promise<LedgerAccount> {
    const read = await ledger.account(this.#accountId);
    const account = demandValue(read, `account ${this.#accountId}`);
    if (
      isSelfCertified &&
      await deriveLocalAccountId(packageId, account.owner) !== this.#accountId
    ) {
      throw new MemLedgerError(
        `Cannot use the ledger: it names another owner of the account ` +
          `${this.#accountId} than its id proves`,
      );
    }
    return account;
  }

  readonly #fetch = (
    input: string | URL | Request,
    init: RequestInit = {},
  ): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    return this.#config.base.fetch(url, init);
  };
}

/** Checks whether a blob can be a memory of the account's namespace. */
function examine(
  bytes: Uint8Array,
  { surroundings, account, namespace }: {
    readonly surroundings: Surroundings;
    readonly account: LedgerAccount;
    readonly namespace: string;
  },
):
  | {
    readonly kind: "ok";
    readonly object: EncryptedObject;
    readonly id: Uint8Array;
    readonly group: KeyGroup;
  }
  | FailedMemory {
  const { deployment: { packageId }, keyServers } = surroundings;
  const read = readEncryptedObject(bytes);
  if (read.kind === "invalid") return failed(read.reason);
  const { object } = read;
  const { id } = object;
  if (object.packageId !== packageId) {
    return failed("it is encrypted for another package");
  }
  const fault = identityFault(id, { namespace, account });
  if (fault !== undefined) return failed(fault);
  const group = findKeyGroup(object, keyServers);
  return group === undefined
    ? failed("it is encrypted for other key servers")
    : { kind: "ok", object, id, group };
}

async function decryptText(
  object: EncryptedObject,
  userKeys: UserKeys,
): Promise<OpenedMemory> {
  const outcome = await decryptWithKeys(object, { userKeys });
  switch (outcome.kind) {
    case "locked":
      return failed(
        `keys for ${outcome.shares} of its shares are there, and ` +
          `${outcome.threshold} are needed`,
      );
    case "invalid":
      return failed(outcome.reason);
    case "ok": {
      const text = decodeUtf8(outcome.data);
      return text === undefined
        ? failed("what it holds is not text")
        : { kind: "ok", text };
    }
  }
}

function demandValue<T>(read: LedgerRead<T>, what: string): T {
  switch (read.kind) {
    case "ok":
      return read.value;
    case "missing":
      throw new MemLedgerError(
        `Cannot use the ledger: it does not have the ${what}`,
      );
    case "failed":
      throw new MemLedgerError(read.reason);
  }
}

function failed(reason: string): FailedMemory {
  return { kind: "failed", reason };
}

/** Lets pending timers and socket events run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
