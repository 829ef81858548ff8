/**
 * Requests the keys of identities from key servers. All key servers are asked
 * at the same time, until enough of them for the threshold have answered with
 * valid keys. The wire format is that of the public client of these key
 * servers, 1.4.
 *
 * @module
 */

import { armLimits, machineClock } from "../memory/client_clock.ts";
import { randomUuid } from "../memory/cryptography.ts";
import { decodeBase64, encodeBase64, encodeHex } from "../memory/encodings.ts";
import type { KeyServerConfig } from "../memory/key_server_config.ts";
import { getMember, readText } from "./bounded_body.ts";
import {
  isPossessionProof,
  isUserKeyOf,
  toFullId,
} from "./identity_encryption.ts";
import { elgamalDecrypt, newRequestKey, type RequestKey } from "./elgamal.ts";
import { G1_BYTES } from "./curve.ts";
import type { SessionKey } from "./session_key.ts";

/** What a client's configuration says of a key server. */
export type KeyServerChoice =
  & Pick<KeyServerConfig, "objectId">
  & {
    readonly [Name in keyof Omit<KeyServerConfig, "objectId">]?:
      | KeyServerConfig[Name]
      | undefined;
  };

/** A key server, or a committee of them behind an aggregator. */
export interface KeyServer extends Omit<KeyServerChoice, "aggregatorUrl"> {
  /** The key server's public key, 96 bytes. */
  readonly publicKey: Uint8Array;
  /** The URL of the key server, or of a committee's aggregator. */
  readonly url: string;
}

/** Options of {@linkcode KeyServerClient}. */
export interface KeyServerClientOptions {
  /** Who is asked for shares of keys. */
  readonly keyServers: readonly KeyServer[];
  /** How many shares are needed. */
  readonly threshold: number;
  /**
   * Makes the requests.
   *
   * @default {fetch}
   */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * Timeout of a request to a key server, in milliseconds.
   *
   * @default {10000}
   */
  readonly timeoutMs?: number | undefined;
}

/** A request for the decryption keys of some identities. */
interface KeyRequest {
  /** The package of the identities, for which the session was made, too. */
  readonly packageId: string;
  /** The identities, without the package's id before them. */
  readonly ids: readonly Uint8Array[];
  /** The session of the address that asks. */
  readonly session: SessionKey;
  /** The approving transaction, with its first byte. */
  readonly approval: Uint8Array;
  /**
   * Whether the keys are returned unchecked, which saves two pairings for each.
   * For callers that decrypt with the keys at once, which shows whether the
   * keys are valid, and ask again if they are not.
   *
   * @default {false}
   */
  readonly isUnchecked?: boolean | undefined;
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
}

/** Keys of an identity by the object id of the key server that gave them. */
export type UserKeys = ReadonlyMap<string, Uint8Array>;

/** Why a key server gave no keys. */
export interface KeyServerFailure {
  /** The object id of the key server. */
  readonly objectId: string;
  /**
   * `refused`: the key server refuses, and will do so again; `unavailable`: it
   * cannot be reached, or cannot answer at the moment; `wrong`: its answer is
   * not valid.
   */
  readonly kind: "refused" | "unavailable" | "wrong";
  /** What happened, with the key server's own error text where there is one. */
  readonly reason: string;
}

/** The outcome of a request for keys. */
export type KeysOutcome =
  | {
    readonly kind: "ok";
    /** The keys, in the order of the requested identities. */
    readonly keys: readonly UserKeys[];
  }
  /**
   * Too few key servers gave keys, and the threshold cannot be reached without those
   * that refused.
   */
  | { readonly kind: "refused"; readonly failures: readonly KeyServerFailure[] }
  /** Too few key servers gave keys; the same request may succeed later. */
  | {
    readonly kind: "unavailable";
    readonly failures: readonly KeyServerFailure[];
  };

const DEFAULT_TIMEOUT_MS = 10_000;
/** Largest answer that is read, which has room for 100 keys. */
const MAX_ANSWER_BYTES = 262_144;
const MAX_REASON_LETTERS = 200;
const MIN_VERSION: readonly number[] = [0, 4, 1];

type Answer =
  | { readonly kind: "ok"; readonly keys: readonly Uint8Array[] }
  | KeyServerFailure;

/** Requests keys from key servers. Nothing is kept between two calls. */
export class KeyServerClient {
  readonly #keyServers: readonly KeyServer[];
  readonly #threshold: number;
  readonly #fetch: typeof globalThis.fetch;
  readonly #timeoutMs: number;

  /**
   * Creates a client for the given key servers.
   *
   * @throws {RangeError} When they cannot reach the threshold, or one is named
   * twice.
   */
  constructor(options: KeyServerClientOptions) {
    const { keyServers, threshold, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    const ids = new Set(keyServers.map(({ objectId }) => objectId));
    const total = keyServers.reduce((sum, { weight = 1 }) => sum + weight, 0);
    if (ids.size !== keyServers.length) {
      throw new RangeError("Cannot use key servers: one is named twice");
    }
    if (!Number.isInteger(threshold) || threshold < 1 || threshold > total) {
      throw new RangeError(
        `Cannot use key servers: a threshold of ${threshold} cannot be met ` +
          `by ${total} shares`,
      );
    }
    this.#keyServers = keyServers;
    this.#threshold = threshold;
    this.#timeoutMs = timeoutMs;
    this.#fetch = options.fetch ??
      ((input, init) => globalThis.fetch(input, init));
  }

  /**
   * The key servers as encryption takes them: each as often as its weight says.
   */
  get weighted(): readonly KeyServer[] {
    return weighted(this.#keyServers);
  }

  /**
   * Requests the keys of identities from as many key servers as the threshold
   * needs; slower ones are not waited for. Every key is checked against the key
   * server's public key, unless the request says otherwise.
   */
  async userKeys(request: KeyRequest): Promise<KeysOutcome> {
    const { packageId, ids, session, approval } = request;
    const fullIds = ids.map((id) => toFullId(packageId, id));
    const requestKey = newRequestKey();
    const ptb = approval.subarray(1);
    const body = JSON.stringify({
      ptb: encodeBase64(ptb),
      enc_key: encodeBase64(requestKey.publicKey),
      enc_verification_key: encodeBase64(requestKey.verificationKey),
      request_signature: await session.signRequest({
        ptb,
        encKey: requestKey.publicKey,
        encVerificationKey: requestKey.verificationKey,
      }),
      certificate: session.certificate,
    });
    const ending = new AbortController();
    const signals = [ending.signal, request.signal].filter((signal) =>
      signal !== undefined
    );
    const keys = fullIds.map(() => new Map<string, Uint8Array>());
    const failures: KeyServerFailure[] = [];
    let missing = this.#threshold;
    await Promise.all(this.#keyServers.map(async (server) => {
      const answer = await this.#ask(server, {
        body,
        fullIds,
        requestKey,
        signals,
        isUnchecked: request.isUnchecked ?? false,
      });
      // The threshold was reached before, so this answer was aborted or is not
      // needed.
      if (missing <= 0) return;
      if (answer.kind !== "ok") {
        failures.push(answer);
        return;
      }
      for (const [at, key] of answer.keys.entries()) {
        keys[at]?.set(server.objectId, key);
      }
      missing -= server.weight ?? 1;
      if (missing <= 0) ending.abort();
    }));
    requestKey.secret.fill(0);
    if (missing <= 0) return { kind: "ok", keys };
    const refused = failures.filter(({ kind }) => kind === "refused");
    return this.#canDoWithout(refused)
      ? { kind: "unavailable", failures }
      : { kind: "refused", failures };
  }

  /**
   * Returns the object ids of the key servers that do not prove that they have
   * the secret of their public key.
   */
  async withoutPossession(signal?: AbortSignal): Promise<readonly string[]> {
    const failed = await Promise.all(this.#keyServers.map(async (server) => {
      const url = `${server.url}/v1/service?service_id=${server.objectId}`;
      const answer = await this.#call(server, {
        url,
        signals: signal === undefined ? [] : [signal],
      });
      if (answer.kind !== "ok") return [server.objectId];
      const proof = readBase64(getMember(answer.json, "pop"), G1_BYTES);
      const { objectId, publicKey } = server;
      const isRight = getMember(answer.json, "service_id") === objectId &&
        proof !== undefined &&
        isPossessionProof(proof, { publicKey, objectId });
      return isRight ? [] : [objectId];
    }));
    return failed.flat();
  }

  /** Tells whether the other key servers could still reach the threshold. */
  #canDoWithout(refused: readonly KeyServerFailure[]): boolean {
    const left = this.weighted.filter(({ objectId }) =>
      !refused.some((failure) => failure.objectId === objectId)
    );
    return left.length >= this.#threshold;
  }

  async #ask(
    server: KeyServer,
    { body, fullIds, requestKey, signals, isUnchecked }: {
      readonly body: string;
      readonly fullIds: readonly Uint8Array[];
      readonly requestKey: RequestKey;
      readonly signals: readonly AbortSignal[];
      readonly isUnchecked: boolean;
    },
  ): Promise<Answer> {
    const { objectId } = server;
    const url = `${server.url}/v1/fetch_key`;
    const answer = await this.#call(server, { url, body, signals });
    if (answer.kind !== "ok") return answer;
    const given = readKeys(answer.json, {
      secret: requestKey.secret,
      maxKeys: fullIds.length,
    });
    const keys: Uint8Array[] = [];
    for (const fullId of fullIds) {
      const key = given.get(encodeHex(fullId));
      const { publicKey } = server;
      const isRight = key !== undefined &&
        (isUnchecked || isUserKeyOf(key, { fullId, publicKey }));
      if (!isRight) {
        const reason = "it gave no key of an identity, or a false one";
        return { kind: "wrong", objectId, reason };
      }
      keys.push(key);
    }
    return { kind: "ok", keys };
  }

  async #call(
    server: KeyServer,
    { url, body, signals }: {
      readonly url: string;
      readonly body?: string | undefined;
      readonly signals: readonly AbortSignal[];
    },
  ): Promise<
    { readonly kind: "ok"; readonly json: unknown } | KeyServerFailure
  > {
    const { objectId, apiKeyName, apiKey } = server;
    const headers = new Headers({
      "content-type": "application/json",
      "request-id": randomUuid(),
      "client-sdk-type": "typescript",
      "client-sdk-version": "1.4.12",
    });
    if (apiKeyName !== undefined && apiKey !== undefined) {
      headers.set(apiKeyName, apiKey);
    }
    const timeoutMs = this.#timeoutMs;
    const late = new Error(`it has not answered within ${timeoutMs} ms`);
    const ending = new AbortController();
    let isLate = false;
    // An answer counts that has arrived while this thread computed.
    const disarm = armLimits({
      signals,
      deadline: { clock: machineClock, timeoutMs, error: () => late },
    }, (reason) => {
      isLate = reason === late;
      ending.abort(reason);
    });
    try {
      const response = await this.#fetch(url, {
        method: body === undefined ? "GET" : "POST",
        headers,
        body: body ?? null,
        redirect: "error",
        signal: ending.signal,
      });
      const text = await readText(response, MAX_ANSWER_BYTES);
      const json = text === undefined ? undefined : parsed(text);
      if (!response.ok) return readRefusal(objectId, response.status, json);
      if (!isNewEnough(response.headers.get("x-keyserver-version"))) {
        const reason = "it tells no version, or one before 0.4.1";
        return { kind: "wrong", objectId, reason };
      }
      return json === undefined
        ? { kind: "wrong", objectId, reason: "its answer is not JSON" }
        : { kind: "ok", json };
    } catch (error) {
      const reason = isLate
        ? late.message
        : `it cannot be reached (${shortened(String(error))})`;
      return { kind: "unavailable", objectId, reason };
    } finally {
      disarm();
    }
  }
}

/** Repeats each key server as often as its weight says. */
export function weighted(
  keyServers: readonly KeyServer[],
): readonly KeyServer[] {
  return keyServers.flatMap((server) =>
    Array<KeyServer>(server.weight ?? 1).fill(server)
  );
}

/** Statuses after which the same request may succeed later. */
const PASSING: readonly number[] = [408, 425, 429];

function readRefusal(
  objectId: string,
  status: number,
  json: unknown,
): KeyServerFailure {
  const words = [getMember(json, "error"), getMember(json, "message")]
    .filter((word) => typeof word === "string").join(": ");
  const reason = shortened(`it answers ${status} ${words}`.trimEnd());
  // Answers without JSON come from a proxy, not from a key server.
  const kind = status >= 500 || PASSING.includes(status) || json === undefined
    ? "unavailable"
    : "refused";
  return { kind, objectId, reason };
}

/**
 * Returns the keys in an answer, by the whole identity in hexadecimal digits;
 * none when there are more than were requested. To decrypt each takes
 * milliseconds in which nothing else runs, and an answer has room for over a
 * thousand.
 */
function readKeys(
  json: unknown,
  { secret, maxKeys }: {
    readonly secret: Uint8Array;
    readonly maxKeys: number;
  },
): ReadonlyMap<string, Uint8Array> {
  const keys = new Map<string, Uint8Array>();
  const entries = getMember(json, "decryption_keys");
  if (!Array.isArray(entries) || entries.length > maxKeys) return keys;
  for (const entry of entries) {
    const id = readBytes(getMember(entry, "id"));
    const pair = getMember(entry, "encrypted_key");
    if (id === undefined || !Array.isArray(pair)) continue;
    const [first, second] = pair.map((part) => readBase64(part, G1_BYTES));
    if (first === undefined || second === undefined) continue;
    const key = elgamalDecrypt(secret, [first, second]);
    if (key !== undefined) keys.set(encodeHex(id), key);
  }
  return keys;
}

function readBytes(value: unknown): Uint8Array | undefined {
  const isBytes = Array.isArray(value) &&
    value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256);
  return isBytes ? Uint8Array.from(value) : undefined;
}

function readBase64(value: unknown, maxBytes: number): Uint8Array | undefined {
  return typeof value === "string"
    ? decodeBase64(value, { maxBytes })
    : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isNewEnough(version: string | null): boolean {
  const parts = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/.exec(version ?? "");
  if (parts === null) return false;
  for (const [at, least] of MIN_VERSION.entries()) {
    const part = Number(parts[at + 1]);
    if (part !== least) return part > least;
  }
  return true;
}

function shortened(text: string): string {
  return text.length <= MAX_REASON_LETTERS
    ? text
    : `${text.slice(0, MAX_REASON_LETTERS)}…`;
}
