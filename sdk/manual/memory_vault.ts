/**
 * Encrypts texts for an account, and decrypts them with keys of its key servers. Only
 * here and in the application are the texts in the clear.
 *
 * @module
 */

import type { ClientParts } from "../memory/client_parts.ts";
import { encodeHex } from "../memory/encodings.ts";
import { SharedFlight } from "../memory/shared_flight.ts";
import {
  MAX_APPROVALS,
  type SharedObject,
  writeApproval,
} from "../vault/approval.ts";
import {
  type EncryptedObject,
  readEncryptedObject,
} from "../vault/encrypted_object.ts";
import {
  type KeyServer,
  KeyServerClient,
  type UserKeys,
} from "../vault/key_server_client.ts";
import {
  type LedgerAccount,
  type LedgerRead,
  LedgerReader,
} from "../vault/ledger_reader.ts";
import type { SessionKey } from "../vault/session_key.ts";
import {
  decryptWithKeys,
  encryptForIdentity,
} from "../vault/threshold_encryption.ts";
import { type Deployment, findDeployment } from "./deployment.ts";
import { KeySessions } from "./key_sessions.ts";
import { objectIdOf, type ResolvedManualConfig } from "./manual_config.ts";
import { MemKeyServerError, MemLedgerError } from "./manual_errors.ts";
import {
  identityFault,
  identityOf,
  localAccountIdOf,
} from "./memory_identity.ts";

/** The outcome of decrypting a memory. */
export type OpenedMemory =
  | { readonly kind: "ok"; readonly text: string }
  | { readonly kind: "failed"; readonly reason: string };

/** What the vault has found out about its surroundings. */
interface Surroundings {
  readonly deployment: Deployment;
  readonly ledger: LedgerReader;
  readonly keyServers: readonly KeyServer[];
  /** The registry as transactions name it, where there is one. */
  readonly registry: SharedObject | undefined;
}

/** A memory that may be decrypted once there are keys. */
interface LockedMemory {
  readonly at: number;
  readonly object: EncryptedObject;
  /** The identity in hexadecimal digits. */
  readonly identity: string;
}

/** What keys are asked for with. */
interface AskOptions {
  readonly surroundings: Surroundings;
  readonly account: LedgerAccount;
  readonly threshold: number;
}

/** Keys, in the order of the identities that were asked for. */
interface GivenKeys {
  readonly keys: readonly UserKeys[];
  /** When the session ends that they were given in. */
  readonly untilMs: number;
}

/** What key servers call a session that is not, or no longer, valid. */
const SESSION_REFUSED = /Certificate|Session|Expired/;
/** The longest wait for a key server or the ledger. */
const MAX_PEER_MS = 10_000;
/** Identities whose keys are kept; more of them are asked for again. */
const MAX_KEPT = 100;

/** Encrypts and decrypts for one account. */
export class MemoryVault {
  readonly #config: ResolvedManualConfig;
  readonly #parts: ClientParts;
  readonly #accountId: string;
  readonly #surroundings: SharedFlight<Surroundings>;
  readonly #sessions: KeySessions;
  readonly #peerTimeoutMs: number;
  readonly #kept = new Map<string, UserKeys>();
  #keptUntilMs = 0;

  /** Nothing is asked until something is encrypted or decrypted. */
  constructor(config: ResolvedManualConfig, parts: ClientParts) {
    this.#config = config;
    this.#parts = parts;
    this.#accountId = objectIdOf(config.base.accountId, "accountId");
    this.#peerTimeoutMs = Math.min(MAX_PEER_MS, parts.requestTimeoutMs);
    this.#surroundings = new SharedFlight(() => this.#look());
    const { clock, signal } = parts;
    this.#sessions = new KeySessions({ signer: config.signer, clock, signal });
  }

  /**
   * Encrypts a text. The count of withdrawn keys is read for each, so that a delegate
   * that was just removed cannot open it.
   *
   * @throws {MemLedgerError} When the ledger does not answer, or the account is off.
   */
  async seal(text: string, namespace: string): Promise<Uint8Array> {
    const { deployment, ledger, keyServers } = await this.#surroundings.join();
    const account = await this.#account(ledger, deployment);
    if (!account.isActive) {
      throw new MemLedgerError(
        `Cannot encrypt: the account ${this.#accountId} is switched off`,
      );
    }
    const { packageId, threshold } = deployment;
    return await encryptForIdentity({
      keyServers: weighted(keyServers),
      threshold,
      packageId,
      id: identityOf(namespace, account),
      data: new TextEncoder().encode(text),
    });
  }

  /**
   * Decrypts memories of a namespace, in order. One that cannot be decrypted is an
   * outcome; key servers that give no keys for any of them are an error.
   *
   * @throws {MemKeyServerError} When too few key servers give keys.
   * @throws {MemLedgerError} When the ledger does not answer.
   */
  async open(
    blobs: readonly Uint8Array[],
    namespace: string,
  ): Promise<readonly OpenedMemory[]> {
    if (blobs.length === 0) return [];
    const surroundings = await this.#surroundings.join();
    const { ledger, deployment } = surroundings;
    const account = await this.#account(ledger, deployment);
    const opened: OpenedMemory[] = blobs.map(() => failed(""));
    const locked: LockedMemory[] = [];
    for (const [at, bytes] of blobs.entries()) {
      const read = readEncryptedObject(bytes);
      const fault = read.kind === "ok"
        ? faultOf(read.object, { surroundings, account, namespace })
        : read.reason;
      if (fault !== undefined) opened[at] = failed(fault);
      else if (read.kind === "ok") {
        const { object } = read;
        locked.push({ at, object, identity: encodeHex(object.id) });
      }
    }
    const keys = await this.#keysFor(locked, { surroundings, account });
    for (const { at, object, identity } of locked) {
      const given = keys.get(keyNameOf(identity, object.threshold));
      opened[at] = given === undefined
        ? failed("too few key servers gave keys for it")
        : await decryptText(object, given);
      // A pairing takes tens of milliseconds: others get their turn in between.
      await turn();
      this.#parts.signal.throwIfAborted();
    }
    return opened;
  }

  /** Overwrites the keys. */
  wipe(): void {
    this.#sessions.wipe();
    this.#forgetKeys();
  }

  async #look(): Promise<Surroundings> {
    const { exchange, preflightTimeoutMs: timeoutMs } = this.#parts;
    const deployment = await findDeployment(this.#config, {
      exchange,
      timeoutMs,
    });
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
    return {
      deployment,
      ledger,
      keyServers: valueOf(servers, "key servers"),
      // The contract's first version does without one.
      registry: registry?.kind === "ok" ? registry.value : undefined,
    };
  }

  /** The account as the ledger has it now. */
  async #account(
    ledger: LedgerReader,
    { isSelfCertified, packageId }: Deployment,
  ): Promise<LedgerAccount> {
    const read = await ledger.account(this.#accountId);
    const account = valueOf(read, `account ${this.#accountId}`);
    if (
      isSelfCertified &&
      await localAccountIdOf(packageId, account.owner) !== this.#accountId
    ) {
      throw new MemLedgerError(
        `Cannot use the ledger: it names another owner of the account ` +
          `${this.#accountId} than its id proves`,
      );
    }
    return account;
  }

  /** Keys by identity and threshold; those that are known are not asked for. */
  async #keysFor(
    locked: readonly LockedMemory[],
    { surroundings, account }: {
      readonly surroundings: Surroundings;
      readonly account: LedgerAccount;
    },
  ): Promise<ReadonlyMap<string, UserKeys>> {
    if (this.#parts.clock.nowMs() >= this.#keptUntilMs) this.#forgetKeys();
    const found = new Map<string, UserKeys>();
    const missing = new Map<number, Map<string, Uint8Array>>();
    for (const { object: { id, threshold }, identity } of locked) {
      const name = keyNameOf(identity, threshold);
      const kept = this.#kept.get(name);
      if (kept !== undefined) {
        found.set(name, kept);
        continue;
      }
      const ids = missing.get(threshold) ?? new Map<string, Uint8Array>();
      missing.set(threshold, ids.set(identity, id));
    }
    let error: MemKeyServerError | undefined;
    for (const [threshold, ids] of missing) {
      const outcome = await this.#askFor([...ids.values()], {
        surroundings,
        account,
        threshold,
      });
      if (outcome instanceof MemKeyServerError) {
        error ??= outcome;
        continue;
      }
      for (const [at, identity] of [...ids.keys()].entries()) {
        const keys = outcome.keys[at];
        if (keys === undefined) continue;
        const name = keyNameOf(identity, threshold);
        found.set(name, keys);
        this.#keep(name, keys, outcome.untilMs);
      }
    }
    if (error !== undefined && found.size === 0) throw error;
    return found;
  }

  /**
   * Asks for keys, with another session when this one is refused: the clock of this
   * machine may have been set back since it began.
   */
  async #askFor(
    ids: readonly Uint8Array[],
    options: AskOptions,
  ): Promise<GivenKeys | MemKeyServerError> {
    const { packageId } = options.surroundings.deployment;
    const session = await this.#sessions.current(packageId);
    const outcome = await this.#ask(ids, { ...options, session });
    if (!(outcome instanceof MemKeyServerError)) return outcome;
    const isRefused = outcome.failures.some(({ kind, reason }) =>
      kind === "refused" && SESSION_REFUSED.test(reason)
    );
    if (!isRefused) return outcome;
    return await this.#ask(ids, {
      ...options,
      session: await this.#sessions.current(packageId, session),
    });
  }

  async #ask(
    ids: readonly Uint8Array[],
    { surroundings, account, threshold, session }: AskOptions & {
      readonly session: SessionKey;
    },
  ): Promise<GivenKeys | MemKeyServerError> {
    const { deployment: { packageId }, keyServers, registry } = surroundings;
    const objectId = this.#accountId;
    const { initialVersion } = account;
    const client = new KeyServerClient({
      keyServers,
      threshold,
      fetch: this.#fetch,
      timeoutMs: this.#peerTimeoutMs,
    });
    const keys: UserKeys[] = [];
    for (let from = 0; from < ids.length; from += MAX_APPROVALS) {
      const some = ids.slice(from, from + MAX_APPROVALS);
      const outcome = await client.userKeys({
        packageId,
        ids: some,
        session,
        approval: writeApproval({
          packageId,
          account: { objectId, initialVersion },
          registry,
          ids: some,
        }),
        signal: this.#parts.signal,
      });
      this.#parts.signal.throwIfAborted();
      if (outcome.kind !== "ok") {
        const { failures } = outcome;
        return new MemKeyServerError({
          isPassing: outcome.kind === "unavailable",
          answered: keyServers.length - failures.length,
          total: keyServers.length,
          threshold,
          failures,
        });
      }
      keys.push(...outcome.keys);
    }
    return { keys, untilMs: session.endsAtMs };
  }

  #keep(name: string, keys: UserKeys, untilMs: number): void {
    if (this.#kept.size >= MAX_KEPT) this.#forgetKeys();
    this.#kept.set(name, keys);
    this.#keptUntilMs = untilMs;
  }

  /** They are not overwritten: a memory may be decrypted with them at this moment. */
  #forgetKeys(): void {
    this.#kept.clear();
  }

  readonly #fetch = (
    input: string | URL | Request,
    init: RequestInit = {},
  ): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    return this.#config.base.fetch(url, init);
  };
}

function faultOf(
  object: EncryptedObject,
  { surroundings, account, namespace }: {
    readonly surroundings: Surroundings;
    readonly account: LedgerAccount;
    readonly namespace: string;
  },
): string | undefined {
  const { deployment: { packageId }, keyServers } = surroundings;
  if (object.packageId !== packageId) {
    return "it is encrypted for another package";
  }
  const fault = identityFault(object.id, { namespace, account });
  if (fault !== undefined) return fault;
  const known = new Set(keyServers.map(({ objectId }) => objectId));
  const shares = object.services.filter(({ objectId }) => known.has(objectId));
  const needed = object.threshold;
  // A key server may have more shares of it than its weight here; who gives keys is
  // asked by weight.
  return shares.length < needed || weighted(keyServers).length < needed
    ? "it is encrypted for other key servers"
    : undefined;
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
    case "ok":
      try {
        const decoder = new TextDecoder("utf-8", { fatal: true });
        return { kind: "ok", text: decoder.decode(outcome.data) };
      } catch {
        return failed("what it holds is no text");
      }
  }
}

/** One with more weight stands there more than once. */
function weighted(keyServers: readonly KeyServer[]): readonly KeyServer[] {
  return keyServers.flatMap((server) =>
    Array<KeyServer>(server.weight ?? 1).fill(server)
  );
}

function valueOf<T>(read: LedgerRead<T>, what: string): T {
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

function keyNameOf(identity: string, threshold: number): string {
  return `${threshold} ${identity}`;
}

function failed(reason: string): OpenedMemory {
  return { kind: "failed", reason };
}

/** Gives timers and sockets their turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
