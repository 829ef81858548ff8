/**
 * Encrypts owners' keys for key servers and opens them with their help: the
 * port, and its implementation on the caller's thread. The one in key_thread.ts
 * has a thread of its own.
 *
 * @module
 */

import {
  type EncryptedObject,
  readEncryptedObject,
} from "../../../sdk/vault/encrypted_object.ts";
import {
  KeyServerClient,
  type KeyServerClientOptions,
  type KeyServerFailure,
  type UserKeys,
} from "../../../sdk/vault/key_server_client.ts";
import {
  type ExportedSession,
  SessionKey,
} from "../../../sdk/vault/session_key.ts";
import {
  decryptWithKeys,
  encryptForIdentity,
} from "../../../sdk/vault/threshold_encryption.ts";

/** A key that is to be encrypted for the key servers. */
export interface EncryptKeyRequest {
  /** The package whose function decides who gets the key. */
  readonly packageId: string;
  /** The identity without the package in front. */
  readonly id: Uint8Array;
  /** The key. */
  readonly data: Uint8Array;
  /** Further bytes that are authenticated but not encrypted. */
  readonly aad: Uint8Array;
}

/** An encrypted key that is to be opened. */
export interface OpenKeyRequest {
  /** The key as {@linkcode KeyOpening.encrypt} gave it. */
  readonly encrypted: Uint8Array;
  /** The package whose function decides who gets the key. */
  readonly packageId: string;
  /**
   * The identity that the key was encrypted for, without the package in front.
   */
  readonly id: Uint8Array;
  /** The session that speaks for the owner. */
  readonly session: ExportedSession;
  /** The approving transaction, with its first byte. */
  readonly approval: Uint8Array;
  /**
   * The identity's keys from an earlier outcome: tried before key servers are.
   */
  readonly userKeys?: UserKeys | undefined;
}

/** The outcome of opening a key. */
export type OpenKeyOutcome =
  | {
    readonly kind: "ok";
    /** The key. */
    readonly data: Uint8Array;
    /** The identity's keys, for the next time. */
    readonly userKeys: UserKeys;
  }
  /** The key servers give the session no keys. */
  | { readonly kind: "refused"; readonly failures: readonly KeyServerFailure[] }
  /** Too few key servers answer. */
  | {
    readonly kind: "unavailable";
    readonly failures: readonly KeyServerFailure[];
  }
  /** The encrypted key was changed, or was made for other key servers. */
  | { readonly kind: "damaged"; readonly reason: string };

/** Encrypts keys for key servers, and opens them with their help. */
export interface KeyOpening {
  /** Encrypts a key; no key server is asked. */
  encrypt(request: EncryptKeyRequest): Promise<Uint8Array>;
  /** Opens a key; asks the key servers where the identity's keys are not known. */
  open(request: OpenKeyRequest): Promise<OpenKeyOutcome>;
  /** Cancels requests that are under way. */
  stop(): void;
}

/** Encrypts and opens keys on the caller's thread. */
export class DirectKeyOpening implements KeyOpening {
  readonly #options: KeyServerClientOptions;
  readonly #keyServers: KeyServerClient;
  readonly #ending = new AbortController();

  /**
   * Uses these key servers.
   *
   * @throws {RangeError} When the key servers cannot meet the threshold, or one
   * is named twice.
   */
  constructor(options: KeyServerClientOptions) {
    this.#options = options;
    this.#keyServers = new KeyServerClient(options);
  }

  /** Encrypts a key. */
  async encrypt(request: EncryptKeyRequest): Promise<Uint8Array> {
    return await encryptForIdentity({
      ...request,
      keyServers: this.#keyServers.weighted,
      threshold: this.#options.threshold,
    });
  }

  /**
   * Opens a key. User keys are checked only if decrypting with unchecked ones
   * fails, for a key that decrypts was right. This saves pairings: two are left
   * for a threshold of two.
   */
  async open(request: OpenKeyRequest): Promise<OpenKeyOutcome> {
    const read = readEncryptedObject(request.encrypted);
    if (read.kind === "invalid") return damaged(read.reason);
    const keyServers = this.#createHolderClient(read.object);
    if (keyServers === undefined) {
      return damaged("it was encrypted for other key servers");
    }
    const { userKeys: known } = request;
    const first = known === undefined
      ? await this.#userKeys(request, { keyServers, isUnchecked: true })
      : { kind: "ok" as const, userKeys: known };
    if (first.kind !== "ok") return first;
    const outcome = await decryptWithKeys(read.object, first);
    if (outcome.kind === "ok") return { ...first, data: outcome.data };
    const second = await this.#userKeys(request, {
      keyServers,
      isUnchecked: false,
    });
    if (second.kind !== "ok") return second;
    const again = await decryptWithKeys(read.object, second);
    switch (again.kind) {
      case "ok":
        return { ...second, data: again.data };
      case "locked":
        return damaged("it was encrypted for other key servers");
      case "invalid":
        return damaged(again.reason);
    }
  }

  /** Cancels requests to key servers that are under way. */
  stop(): void {
    this.#ending.abort();
  }

  /**
   * A client of those key servers that have shares of an object, each weighted
   * by its shares. The others would answer as fast but could not help to open
   * it. Undefined when the shares are fewer than the object's threshold.
   */
  #createHolderClient(
    { services, threshold }: Pick<EncryptedObject, "services" | "threshold">,
  ): KeyServerClient | undefined {
    const { keyServers: all } = this.#options;
    const keyServers = all.flatMap((server) => {
      const weight = services.filter(({ objectId }) =>
        objectId === server.objectId
      ).length;
      return weight === 0 ? [] : [{ ...server, weight }];
    });
    const shares = keyServers.reduce((sum, { weight }) => sum + weight, 0);
    return shares < threshold
      ? undefined
      : new KeyServerClient({ ...this.#options, keyServers, threshold });
  }

  async #userKeys(
    { packageId, id, session: exported, approval }: OpenKeyRequest,
    { keyServers, isUnchecked }: {
      readonly keyServers: KeyServerClient;
      readonly isUnchecked: boolean;
    },
  ): Promise<
    | { readonly kind: "ok"; readonly userKeys: UserKeys }
    | Extract<OpenKeyOutcome, { readonly failures: unknown }>
  > {
    const session = await SessionKey.import(exported);
    if (session === undefined) return { kind: "refused", failures: [] };
    const outcome = await keyServers.userKeys({
      ...{ packageId, ids: [id], session, approval, isUnchecked },
      signal: this.#ending.signal,
    });
    session.wipe();
    if (outcome.kind !== "ok") return outcome;
    const [userKeys] = outcome.keys;
    return userKeys === undefined
      ? { kind: "unavailable", failures: [] }
      : { kind: "ok", userKeys };
  }
}

function damaged(reason: string): OpenKeyOutcome {
  return { kind: "damaged", reason };
}
