/**
 * What is asked of key servers for an owner's key, as a port: here with the pairings on
 * the thread of the caller, in key_thread.ts on one of their own.
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
  /** The package whose function decides who gets it. */
  readonly packageId: string;
  /** The identity without the package in front. */
  readonly id: Uint8Array;
  /** The key. */
  readonly data: Uint8Array;
  /** What is authenticated beside it. */
  readonly aad: Uint8Array;
}

/** An encrypted key that is to be opened. */
export interface OpenKeyRequest {
  /** The key as {@linkcode KeyOpening.encrypt} gave it. */
  readonly encrypted: Uint8Array;
  /** The package. */
  readonly packageId: string;
  /** The identity. */
  readonly id: Uint8Array;
  /** Speaks for the owner. */
  readonly session: ExportedSession;
  /** The approving transaction, with its first byte. */
  readonly approval: Uint8Array;
  /** The identity's keys, where the key servers gave them before. */
  readonly userKeys?: UserKeys | undefined;
}

/** The outcome of opening. */
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
  /** Too few of them answer. */
  | {
    readonly kind: "unavailable";
    readonly failures: readonly KeyServerFailure[];
  }
  /** It was changed, or was made for other key servers. */
  | { readonly kind: "damaged"; readonly reason: string };

/** Encrypts keys for key servers, and has them opened. */
export interface KeyOpening {
  /** Encrypts a key; no key server is asked. */
  encrypt(request: EncryptKeyRequest): Promise<Uint8Array>;
  /** Opens a key; asks the key servers where the identity's keys are not known. */
  open(request: OpenKeyRequest): Promise<OpenKeyOutcome>;
  /** Ends what is under way. */
  stop(): void;
}

/** Does it on the thread of the caller. */
export class DirectKeyOpening implements KeyOpening {
  readonly #options: KeyServerClientOptions;
  readonly #keyServers: KeyServerClient;
  readonly #ending = new AbortController();

  /**
   * Opens keys of these key servers.
   *
   * @throws {RangeError} When they cannot meet the threshold, or one is named twice.
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
   * Opens a key with two pairings for a threshold of two: what decrypts was right, so
   * keys are checked only where something did not.
   */
  async open(request: OpenKeyRequest): Promise<OpenKeyOutcome> {
    const read = readEncryptedObject(request.encrypted);
    if (read.kind === "invalid") return damaged(read.reason);
    const keyServers = this.#holdersOf(read.object);
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

  /** Ends what is under way. */
  stop(): void {
    this.#ending.abort();
  }

  /**
   * Those key servers that have shares of an object, with as many as it gives them.
   * Others answer no slower and open nothing of it. Undefined when they are too few.
   */
  #holdersOf(
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
