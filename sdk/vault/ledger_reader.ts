/**
 * Reads accounts and key servers from a ledger over JSON-RPC 2.0. It uses the
 * few calls of a full node that a client needs, without the ledger's own
 * packages.
 *
 * @module
 */

import { machineClock, runWithin } from "../memory/client_clock.ts";
import { decodeBase64 } from "../memory/encodings.ts";
import { BcsError, BcsReader } from "./bcs.ts";
import { getMember, readText } from "./bounded_body.ts";
import type { SharedObject } from "./approval.ts";
import { G2_BYTES, readG2 } from "./curve.ts";
import { deriveKeyServerId } from "./identity_encryption.ts";
import type { KeyServer, KeyServerChoice } from "./key_server_client.ts";

/** Options of {@linkcode LedgerReader}. */
interface LedgerReaderOptions {
  /** The URL of the ledger's JSON-RPC interface. */
  readonly url: string;
  /**
   * Makes the requests.
   *
   * @default {fetch}
   */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * Timeout of a request in milliseconds.
   *
   * @default {10000}
   */
  readonly timeoutMs?: number | undefined;
}

/** An account as it is stored on the ledger. */
export interface LedgerAccount {
  /** The account's object id. */
  readonly accountId: string;
  /** The version in which it became shared. */
  readonly initialVersion: bigint;
  /** The package of the account's contract. */
  readonly packageId: string;
  /** The owner's address. */
  readonly owner: string;
  /** Whether the account is active and can be used. */
  readonly isActive: boolean;
  /** Addresses of the keys that may act for the account. */
  readonly delegates: readonly string[];
  /**
   * How many keys were removed from the account; undefined where the contract
   * does not count them.
   */
  readonly accessCounter: bigint | undefined;
}

/** Options of {@linkcode LedgerReader.keyServers}. */
interface KeyServersOptions {
  /**
   * Whether ids must match the public keys they are computed from, as on an
   * embedded ledger, whose operator could otherwise name other keys.
   */
  readonly isSelfCertified: boolean;
}

/** The outcome of a read. */
export type LedgerRead<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "missing" }
  /**
   * The ledger cannot be reached, or its answer does not hold what was asked
   * for.
   */
  | { readonly kind: "failed"; readonly reason: string };

type Failed = Exclude<LedgerRead<never>, { readonly kind: "ok" }>;

const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 1_048_576;
/** Known versions of key server objects, the newest first. */
const KEY_SERVER_VERSIONS: readonly bigint[] = [2n, 1n];
const BONEH_FRANKLIN = 0;
const INDEPENDENT = 0;
const COMMITTEE = 1;
const MAX_URL_BYTES = 2_048;
const SHOWN = { showType: true, showOwner: true, showContent: true };

/** Reads a ledger; nothing is kept between two calls. */
export class LedgerReader {
  readonly #url: string;
  readonly #fetch: typeof globalThis.fetch;
  readonly #timeoutMs: number;
  #calls = 0;

  /** Creates a reader of the ledger at a URL. */
  constructor(options: LedgerReaderOptions) {
    this.#url = options.url;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#fetch = options.fetch ??
      ((input, init) => globalThis.fetch(input, init));
  }

  /** Reads an account. */
  async account(accountId: string): Promise<LedgerRead<LedgerAccount>> {
    const read = await this.#object("sui_getObject", [accountId, SHOWN]);
    if (read.kind !== "ok") return read;
    const account = readAccount(accountId, read.value);
    return account === undefined
      ? failed(`the object ${accountId} is no account`)
      : { kind: "ok", value: account };
  }

  /** Reads the id and version by which transactions name a shared object. */
  async sharedObject(objectId: string): Promise<LedgerRead<SharedObject>> {
    const read = await this.#object("sui_getObject", [objectId, SHOWN]);
    if (read.kind !== "ok") return read;
    const initialVersion = readInitialVersion(read.value);
    return initialVersion === undefined
      ? failed(`the object ${objectId} is not shared`)
      : { kind: "ok", value: { objectId, initialVersion } };
  }

  /** Reads key servers; fails when one of them cannot be read. */
  async keyServers(
    choices: readonly KeyServerChoice[],
    options: KeyServersOptions,
  ): Promise<LedgerRead<readonly KeyServer[]>> {
    const reads = await Promise.all(
      choices.map((choice) => this.#keyServer(choice, options)),
    );
    const servers: KeyServer[] = [];
    for (const [at, read] of reads.entries()) {
      if (read.kind === "missing") {
        return failed(`there is no key server ${choices[at]?.objectId}`);
      }
      if (read.kind === "failed") return read;
      servers.push(read.value);
    }
    return { kind: "ok", value: servers };
  }

  async #keyServer(
    choice: KeyServerChoice,
    { isSelfCertified }: KeyServersOptions,
  ): Promise<LedgerRead<KeyServer>> {
    const { objectId, aggregatorUrl, weight, apiKeyName, apiKey } = choice;
    const parent = await this.#object("sui_getObject", [
      objectId,
      { showBcs: true },
    ]);
    if (parent.kind !== "ok") return parent;
    const version = readVersion(parent.value);
    if (version === undefined) {
      return failed(`the key server ${objectId} is of another version`);
    }
    const name = { type: "u64", value: String(version) };
    const field = await this.#object("suix_getDynamicFieldObject", [
      objectId,
      name,
    ]);
    if (field.kind !== "ok") return field;
    const entry = readEntry(field.value, version);
    if (entry === undefined) {
      return failed(`the key server ${objectId} is not written as one`);
    }
    if (isSelfCertified && deriveKeyServerId(entry.publicKey) !== objectId) {
      return failed(`the key server ${objectId} has the key of another one`);
    }
    const isCommittee = entry.url === undefined;
    if (isCommittee !== (aggregatorUrl !== undefined)) {
      return failed(
        isCommittee
          ? `the key server ${objectId} is a committee: it needs aggregatorUrl`
          : `the key server ${objectId} is no committee: leave ` +
            "aggregatorUrl out",
      );
    }
    const url = (aggregatorUrl ?? entry.url ?? "").replace(/\/+$/, "");
    const { publicKey } = entry;
    return {
      kind: "ok",
      value: { objectId, publicKey, url, weight, apiKeyName, apiKey },
    };
  }

  /**
   * Makes a call that answers with an object, and returns the object's data.
   */
  async #object(
    method: string,
    params: readonly unknown[],
  ): Promise<LedgerRead<unknown>> {
    const id = ++this.#calls;
    const timeoutMs = this.#timeoutMs;
    const late = new Error(
      `the ledger has not answered within ${timeoutMs} ms`,
    );
    const send = async (signal: AbortSignal): Promise<LedgerRead<unknown>> => {
      const response = await this.#fetch(this.#url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
        redirect: "error",
        signal,
      });
      if (!response.ok) {
        await response.body?.cancel();
        return failed(`the ledger answers ${response.status}`);
      }
      const text = await readText(response, MAX_ANSWER_BYTES);
      if (text === undefined) return failed("the ledger's answer is too long");
      const json: unknown = JSON.parse(text);
      const result = getMember(json, "result");
      const error = getMember(json, "error");
      if (error !== undefined) {
        return failed(`the ledger says ${String(getMember(error, "message"))}`);
      }
      const data = getMember(result, "data");
      return data === undefined || data === null
        ? { kind: "missing" }
        : { kind: "ok", value: data };
    };
    try {
      return await runWithin(send, {
        signals: [],
        deadline: { clock: machineClock, timeoutMs, error: () => late },
      });
    } catch (error) {
      return failed(
        error === late
          ? late.message
          : `the ledger cannot be reached (${String(error)})`,
      );
    }
  }
}

function readAccount(
  accountId: string,
  data: unknown,
): LedgerAccount | undefined {
  const content = getMember(data, "content");
  const fields = getMember(content, "fields");
  const type = getMember(content, "type") ?? getMember(data, "type");
  const owner = getMember(fields, "owner");
  const keys = getMember(fields, "delegate_keys");
  const initialVersion = readInitialVersion(data);
  if (
    typeof type !== "string" || typeof owner !== "string" ||
    !Array.isArray(keys) || initialVersion === undefined
  ) return undefined;
  const delegates = keys.map((key) =>
    getMember(getMember(key, "fields") ?? key, "sui_address")
  );
  const isText = (value: unknown): value is string => typeof value === "string";
  return {
    accountId,
    initialVersion,
    packageId: type.slice(0, type.indexOf("::")),
    owner,
    // Accounts of the contract's first version have no such field.
    isActive: getMember(fields, "active") !== false,
    delegates: delegates.filter(isText),
    accessCounter: readInteger(getMember(fields, "access_counter_version")),
  };
}

function readInitialVersion(data: unknown): bigint | undefined {
  const shared = getMember(getMember(data, "owner"), "Shared");
  return readInteger(getMember(shared, "initial_shared_version"));
}

/**
 * Returns the newest version of a key server's entry that both the ledger and
 * this client know.
 */
function readVersion(data: unknown): bigint | undefined {
  return parsed(data, (reader) => {
    reader.address();
    const [first, last] = [reader.u64(), reader.u64()];
    return KEY_SERVER_VERSIONS.find((version) =>
      version >= first && version <= last
    );
  });
}

interface KeyServerEntry {
  readonly publicKey: Uint8Array;
  /** The key server's URL; undefined for a committee. */
  readonly url: string | undefined;
}

function readEntry(data: unknown, version: bigint): KeyServerEntry | undefined {
  const entry = parsed(data, (reader) => {
    // A dynamic field consists of its id, its name and its value.
    reader.address();
    if (reader.u64() !== version) throw new BcsError("it is another field");
    return version === 1n ? readFirstEntry(reader) : readSecondEntry(reader);
  });
  return entry !== undefined && readG2(entry.publicKey) !== undefined
    ? entry
    : undefined;
}

function readFirstEntry(reader: BcsReader): KeyServerEntry {
  reader.string();
  const url = reader.string({ maxBytes: MAX_URL_BYTES });
  demandKeyType(reader.u8());
  const publicKey = reader.byteVector({ maxBytes: G2_BYTES });
  reader.end();
  return { publicKey, url };
}

function readSecondEntry(reader: BcsReader): KeyServerEntry {
  reader.string();
  demandKeyType(reader.u8());
  const publicKey = reader.byteVector({ maxBytes: G2_BYTES });
  if (reader.length({ max: COMMITTEE }) === INDEPENDENT) {
    const url = reader.string({ maxBytes: MAX_URL_BYTES });
    reader.end();
    return { publicKey, url };
  }
  // The members of a committee follow; only its aggregator needs them.
  return { publicKey, url: undefined };
}

function demandKeyType(type: number): void {
  if (type !== BONEH_FRANKLIN) throw new BcsError(`keys of type ${type}`);
}

/**
 * Reads the bytes of an object with `read`; undefined when they are not valid.
 */
function parsed<T>(
  data: unknown,
  read: (reader: BcsReader) => T,
): T | undefined {
  const text = getMember(getMember(data, "bcs"), "bcsBytes");
  const bytes = typeof text === "string"
    ? decodeBase64(text, { maxBytes: MAX_ANSWER_BYTES })
    : undefined;
  if (bytes === undefined) return undefined;
  try {
    return read(new BcsReader(bytes));
  } catch (error) {
    if (error instanceof BcsError) return undefined;
    throw error;
  }
}

function readInteger(value: unknown): bigint | undefined {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) {
    return BigInt(value);
  }
  return typeof value === "string" && /^\d{1,20}$/.test(value)
    ? BigInt(value)
    : undefined;
}

function failed(reason: string): Failed {
  return { kind: "failed", reason: `Cannot read the ledger: ${reason}` };
}
