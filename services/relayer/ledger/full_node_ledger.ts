/**
 * Reads accounts of a public ledger from a full node, over JSON-RPC.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { describeError } from "../../shared/settled.ts";
import { type Fetch, getMember, postJson } from "../remote/http_call.ts";
import type {
  Account,
  AccountOutcome,
  DelegateKey,
  Ledger,
  LedgerAsker,
} from "./ledger.ts";
import {
  ACCOUNT_TYPE,
  addressOfPublicKey,
  normalizeLedgerId,
} from "./ledger_id.ts";

/** Options of {@linkcode FullNodeLedger}. */
interface FullNodeLedgerOptions {
  /** The URL that takes the node's JSON-RPC calls. */
  readonly url: string;
  /** The package of the accounts' contract. */
  readonly packageId: string;
  /** Sends HTTP requests, as the platform's `fetch` does. */
  readonly fetch: Fetch;
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * The id of the object that lists the accounts by owner.
   *
   * @default none; then accounts cannot be found by owner
   */
  readonly registryId?: string | undefined;
  /**
   * Timeout of a call, in milliseconds.
   *
   * @default {5000}
   */
  readonly timeoutMs?: number;
  /**
   * Most bytes of an answer.
   *
   * @default {262144}
   */
  readonly maxBytes?: number | undefined;
  /**
   * Most calls at a time for each kind of asker; a further call counts as
   * unanswered.
   *
   * @default {256}
   */
  readonly maxCalls?: number;
}

type Unavailable = Extract<AccountOutcome, { readonly kind: "unavailable" }>;

type Asked = { readonly kind: "ok"; readonly result: unknown } | Unavailable;

const SHOWN = { showType: true, showOwner: true, showContent: true };

/**
 * Reads an account from the node on every call. Concurrent calls of one kind of
 * asker for the same account share one read; beyond that nothing is cached.
 */
export class FullNodeLedger implements Ledger {
  /** The package of the accounts' contract. */
  readonly packageId: string;
  readonly #options: FullNodeLedgerOptions;
  readonly #registryId: string | undefined;
  readonly #ending = new AbortController();
  readonly #underWay = new Map<string, Promise<AccountOutcome>>();
  /** Calls that are under way, by asker. */
  readonly #calls: Record<LedgerAsker, number> = {
    owner: 0,
    newcomer: 0,
    stranger: 0,
  };
  /** The id of the registry's table; it never changes, so it is read once. */
  #tableId: string | undefined;

  /**
   * Makes a reader of a node's ledger.
   *
   * @throws {TypeError} when an id is not valid
   */
  constructor(options: FullNodeLedgerOptions) {
    this.#options = options;
    this.packageId = readId(options.packageId, "package");
    this.#registryId = options.registryId === undefined
      ? undefined
      : readId(options.registryId, "registry");
  }

  /** Ends the calls that are under way. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#underWay.values());
  }

  /** The account of an id. */
  account(
    accountId: string,
    asker: LedgerAsker = "owner",
  ): Promise<AccountOutcome> {
    const id = normalizeLedgerId(accountId);
    if (id === undefined) return Promise.resolve({ kind: "missing" });
    return this.#share(
      `${asker} ${id}`,
      () => this.#readAccount(id, asker),
    );
  }

  /** Answers `missing`: a full node has no index of accounts by key. */
  accountOfKey(_publicKey: string): Promise<AccountOutcome> {
    return Promise.resolve({ kind: "missing" });
  }

  /** Reads the account of an owner; `missing` where no registry is set. */
  accountOfOwner(
    owner: string,
    asker: LedgerAsker = "owner",
  ): Promise<AccountOutcome> {
    const address = normalizeLedgerId(owner);
    const registryId = this.#registryId;
    if (address === undefined || registryId === undefined) {
      return Promise.resolve({ kind: "missing" });
    }
    return this.#share(
      `${asker} of ${address}`,
      () => this.#readByOwner(address, { registryId, asker }),
    );
  }

  #share(
    key: string,
    read: () => Promise<AccountOutcome>,
  ): Promise<AccountOutcome> {
    const known = this.#underWay.get(key);
    if (known !== undefined) return known;
    const reading = read().finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, reading);
    return reading;
  }

  async #readAccount(
    accountId: string,
    asker: LedgerAsker,
  ): Promise<AccountOutcome> {
    const asked = await this.#ask("sui_getObject", {
      params: [accountId, SHOWN],
      asker,
    });
    if (asked.kind === "unavailable") return asked;
    const { packageId } = this;
    return readAccountObject(asked.result, { accountId, packageId });
  }

  async #readByOwner(
    owner: string,
    { registryId, asker }: {
      readonly registryId: string;
      readonly asker: LedgerAsker;
    },
  ): Promise<AccountOutcome> {
    const table = await this.#findTable(registryId, asker);
    if (table.kind === "unavailable") return table;
    const asked = await this.#ask("suix_getDynamicFieldObject", {
      params: [table.id, { type: "address", value: owner }],
      asker,
    });
    if (asked.kind === "unavailable") return asked;
    const code = getMember(getMember(asked.result, "error"), "code");
    if (code === "dynamicFieldNotFound" || code === "notExists") {
      return { kind: "missing" };
    }
    const accountId = readLedgerId(getMember(getFields(asked.result), "value"));
    if (accountId === undefined) {
      return unavailable("the registry's entry cannot be read");
    }
    const read = await this.account(accountId, asker);
    return read.kind === "ok" && read.account.owner !== owner
      ? { kind: "missing" }
      : read;
  }

  async #findTable(
    registryId: string,
    asker: LedgerAsker,
  ): Promise<{ readonly kind: "ok"; readonly id: string } | Unavailable> {
    if (this.#tableId !== undefined) return { kind: "ok", id: this.#tableId };
    const asked = await this.#ask("sui_getObject", {
      params: [registryId, SHOWN],
      asker,
    });
    if (asked.kind === "unavailable") return asked;
    const accounts = getMember(getFields(asked.result), "accounts");
    const id = getMember(getMember(getMember(accounts, "fields"), "id"), "id");
    const tableId = readLedgerId(id);
    if (tableId === undefined) {
      return unavailable("the registry has no table of accounts");
    }
    this.#tableId = tableId;
    return { kind: "ok", id: tableId };
  }

  async #ask(
    method: string,
    { params, asker }: {
      readonly params: readonly unknown[];
      readonly asker: LedgerAsker;
    },
  ): Promise<Asked> {
    const { maxCalls = 256, timeoutMs = 5_000, maxBytes = 262_144 } =
      this.#options;
    if (this.#ending.signal.aborted) return unavailable("it was stopped");
    if (this.#calls[asker] >= maxCalls) {
      return unavailable(`${maxCalls} calls are under way already`);
    }
    this.#calls[asker]++;
    try {
      const { fetch, clock, url } = this.#options;
      const answer = await postJson(url, {
        body: { jsonrpc: "2.0", id: 1, method, params },
        headers: {},
        ...{ fetch, clock, timeoutMs, maxBytes },
        signal: this.#ending.signal,
      });
      switch (answer.kind) {
        case "ok":
          return readResult(answer.json);
        case "late":
          return unavailable(`no answer within ${timeoutMs} ms`);
        case "ended":
          return unavailable("it was stopped");
        case "refused":
          return unavailable(`it answers with status ${answer.status}`);
        case "too_large":
          return unavailable(`its answer has more than ${maxBytes} bytes`);
        case "not_json":
          return unavailable("its answer is not JSON");
        case "failed":
          return unavailable(describeError(answer.error));
      }
    } finally {
      this.#calls[asker]--;
    }
  }
}

function getFields(result: unknown): unknown {
  return getMember(getMember(getMember(result, "data"), "content"), "fields");
}

function unavailable(reason: string): Unavailable {
  return { kind: "unavailable", reason };
}

function broken(state: string): Unavailable {
  return unavailable(`cannot read the object: ${state}`);
}

/** Returns the result in a JSON-RPC answer, unchecked. */
function readResult(answer: unknown): Asked {
  if (typeof answer !== "object" || answer === null) {
    return unavailable("its answer is not an object");
  }
  const result = getMember(answer, "result");
  if (result !== undefined) return { kind: "ok", result };
  const error = getMember(answer, "error");
  return unavailable(
    error === undefined
      ? "its answer has no result"
      : `it answers with an error: ${JSON.stringify(error).slice(0, 200)}`,
  );
}

function readId(text: string, what: string): string {
  const id = normalizeLedgerId(text);
  if (id !== undefined) return id;
  throw new TypeError(
    `Cannot read the ledger: the ${what}'s id is not hexadecimal`,
  );
}

/** Options of {@linkcode readAccountObject}. */
interface ReadAccountOptions {
  /** The id that was asked for, in its normal form. */
  readonly accountId: string;
  /** The package of the accounts' contract, in its normal form. */
  readonly packageId: string;
}

/** Most keys of an account that are read; the ledger allows far fewer. */
const MAX_KEYS = 1_000;

/**
 * Reads an account from the answer to `sui_getObject`. An object of another
 * package counts as missing: everybody can publish an object whose fields name
 * any owner and any keys.
 */
export function readAccountObject(
  result: unknown,
  options: ReadAccountOptions,
): AccountOutcome {
  const error = getMember(result, "error");
  if (error !== undefined && error !== null) return outcomeOfError(error);
  const data = getMember(result, "data");
  const content = getMember(data, "content");
  if (content === undefined) return broken("it has no content");
  if (readLedgerId(getMember(data, "objectId")) !== options.accountId) {
    return broken("it is another object than the one asked for");
  }
  if (!isAccountType(getMember(content, "type"), options.packageId)) {
    return { kind: "missing" };
  }
  const fields = getMember(content, "fields");
  const owner = readLedgerId(getMember(fields, "owner"));
  const keys = getMember(fields, "delegate_keys");
  if (owner === undefined) return broken("it has no owner");
  if (!Array.isArray(keys)) return broken("it has no keys");
  const active = getMember(fields, "active");
  const account: Account = {
    accountId: options.accountId,
    owner,
    // Early accounts lack this field; they are active.
    isActive: active === undefined || active === true,
    delegateKeys: keys.slice(0, MAX_KEYS).flatMap(readKeys),
    access: readAccess(data, fields),
  };
  return { kind: "ok", account };
}

function readAccess(data: unknown, fields: unknown): Account["access"] {
  const shared = getMember(getMember(data, "owner"), "Shared");
  const version = readCount(getMember(shared, "initial_shared_version"));
  if (version === undefined) return undefined;
  const counter = readCount(getMember(fields, "access_counter_version"));
  return { initialVersion: version, counter };
}

/**
 * Reads a count, which the ledger sends as a number or, where it may be large,
 * as a text.
 */
function readCount(value: unknown): string | undefined {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && /^\d{1,19}$/.test(text) ? text : undefined;
}

function outcomeOfError(error: unknown): AccountOutcome {
  const code = getMember(error, "code");
  return code === "notExists" || code === "deleted"
    ? { kind: "missing" }
    : unavailable(`the ledger gives error "${code}"`);
}

/**
 * Whether a type is the account type of the package, whose id may be spelled in
 * any form.
 */
function isAccountType(type: unknown, packageId: string): boolean {
  if (typeof type !== "string") return false;
  const at = type.indexOf("::");
  return type.slice(at + 2) === ACCOUNT_TYPE &&
    normalizeLedgerId(type.slice(0, at)) === packageId;
}

/**
 * Reads a delegate key; none when it cannot be read, so that a malformed key
 * admits no request.
 */
function readKeys(entry: unknown): readonly DelegateKey[] {
  const fields = getMember(entry, "fields") ?? entry;
  const bytes = getMember(fields, "public_key");
  if (!Array.isArray(bytes) || bytes.length !== 32 || !bytes.every(isByte)) {
    return [];
  }
  const publicKey = Uint8Array.from(bytes).toHex();
  const label = getMember(fields, "label");
  return [{
    publicKey,
    address: readLedgerId(getMember(fields, "sui_address")) ??
      addressOfPublicKey(publicKey),
    label: typeof label === "string" ? label : "",
  }];
}

function isByte(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
}

function readLedgerId(value: unknown): string | undefined {
  return typeof value === "string" ? normalizeLedgerId(value) : undefined;
}
