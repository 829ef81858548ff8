/**
 * What released clients read of the ledger: a few methods of a full node's
 * JSON-RPC 2.0, over the package and the accounts. They read before their first
 * call, so a relayer that has its accounts with it answers them itself.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { encodeBase58 } from "../../shared/ledger/digest.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";
import { settle } from "../../shared/settled.ts";
import type { AccountRecord } from "./ledger.ts";
import { ACCOUNT_TYPE, normalizeLedgerId } from "./ledger_id.ts";

/** Where the accounts come from. */
interface LedgerRecords {
  /** The package whose module accounts are of. */
  readonly packageId: string;
  /** The account of an id. */
  record(
    accountId: string,
  ): AccountRecord | undefined | Promise<AccountRecord | undefined>;
}

/** Most objects that a body may ask for, over all its calls. */
const MAX_OBJECTS = 50;
/** Most calls of a body. */
const MAX_CALLS = 50;

/** A call that cannot be answered; codes of JSON-RPC 2.0, 5.1. */
interface RpcError {
  readonly code: -32600 | -32601 | -32602 | -32603;
  readonly message: string;
}

type Outcome = { readonly result: unknown } | { readonly error: RpcError };

/** What is left of the objects that a body may ask for. */
interface Budget {
  objects: number;
}

type Params = readonly unknown[];

interface Context {
  readonly ledger: LedgerRecords;
  readonly budget: Budget;
}

type Method = (params: Params, context: Context) => Outcome | Promise<Outcome>;

/**
 * Answers a body: a call, or a list of calls.
 *
 * @param body The parsed body; it is not trusted.
 * @returns What to send as JSON; undefined when nothing is to be sent, since no
 * call wanted an answer (JSON-RPC 2.0, 4.1).
 */
export async function answerJsonRpc(
  body: unknown,
  ledger: LedgerRecords,
): Promise<unknown> {
  const budget = { objects: MAX_OBJECTS };
  if (!Array.isArray(body)) return await answerCall(body, { ledger, budget });
  if (body.length === 0 || body.length > MAX_CALLS) {
    return reply(null, invalid(`a list has 1 to ${MAX_CALLS} calls`));
  }
  const answers: unknown[] = [];
  for (const call of body) {
    const answer = await answerCall(call, { ledger, budget });
    if (answer !== undefined) answers.push(answer);
  }
  return answers.length === 0 ? undefined : answers;
}

async function answerCall(
  call: unknown,
  context: Context,
): Promise<unknown> {
  if (!isJsonObject(call) || call["jsonrpc"] !== "2.0") {
    return reply(null, invalid('a call is an object with "jsonrpc": "2.0"'));
  }
  const { id, method, params = [] } = call;
  if (typeof method !== "string" || !isId(id)) {
    return reply(null, invalid("a call has a method and an id"));
  }
  const outcome = await run(method, params, context);
  return id === undefined ? undefined : reply(id, outcome);
}

async function run(
  method: string,
  params: unknown,
  context: Context,
): Promise<Outcome> {
  const handle = METHODS.get(method);
  if (handle === undefined) {
    return failed(-32601, "Cannot call method: it is not known here");
  }
  if (!Array.isArray(params)) {
    return failed(-32602, "Cannot read params: they are not a list");
  }
  const settled = await settle(() => handle(params, context));
  // The reason is for the log of the ledger, not for clients.
  return settled.kind === "ok"
    ? settled.value
    : failed(-32603, "Cannot read the ledger: it does not answer");
}

const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["sui_getObject", getObject],
  ["sui_multiGetObjects", multiGetObjects],
  ["sui_getChainIdentifier", getChainIdentifier],
]);

async function getObject(
  [id, options]: Params,
  { ledger, budget }: Context,
): Promise<Outcome> {
  const objectId = idOf(id);
  if (objectId === undefined) return noId();
  if (--budget.objects < 0) return tooMany();
  return { result: await read(objectId, { ledger, shown: shownOf(options) }) };
}

async function multiGetObjects(
  [ids, options]: Params,
  { ledger, budget }: Context,
): Promise<Outcome> {
  if (!Array.isArray(ids)) return noId();
  budget.objects -= ids.length;
  if (budget.objects < 0) return tooMany();
  const objectIds = ids.map(idOf);
  const shown = shownOf(options);
  const result: unknown[] = [];
  for (const objectId of objectIds) {
    if (objectId === undefined) return noId();
    result.push(await read(objectId, { ledger, shown }));
  }
  return { result };
}

/** Four bytes that tell one ledger from another. */
function getChainIdentifier(
  _params: Params,
  { ledger }: Context,
): Outcome {
  const digest = createHash("sha256").update(ledger.packageId).digest("hex");
  return { result: digest.slice(0, 8) };
}

async function read(
  objectId: string,
  options: { readonly ledger: LedgerRecords; readonly shown: ObjectOptions },
): Promise<unknown> {
  const { ledger, shown } = options;
  const { packageId } = ledger;
  if (objectId === packageId) return { data: packageObject(packageId, shown) };
  const record = await ledger.record(objectId);
  return record === undefined
    ? { error: { code: "notExists", object_id: objectId } }
    : { data: accountObject(record, { packageId, shown }) };
}

function idOf(id: unknown): string | undefined {
  return typeof id === "string" ? normalizeLedgerId(id) : undefined;
}

function shownOf(options: unknown): ObjectOptions {
  return isJsonObject(options) ? options : {};
}

function isId(id: unknown): boolean {
  return id === undefined || id === null || typeof id === "string" ||
    typeof id === "number";
}

function reply(id: unknown, outcome: Outcome): unknown {
  return { jsonrpc: "2.0", id, ...outcome };
}

function invalid(state: string): Outcome {
  return failed(-32600, `Cannot read call: ${state}`);
}

function noId(): Outcome {
  return failed(-32602, "Cannot read params: an object's id is hexadecimal");
}

function tooMany(): Outcome {
  return failed(
    -32602,
    `Cannot read objects: ${MAX_OBJECTS} are the most at a time`,
  );
}

function failed(code: RpcError["code"], message: string): Outcome {
  return { error: { code, message } };
}

/** What of an object is asked for; everything else of it is left out. */
interface ObjectOptions {
  /** Its type. */
  readonly showType?: unknown;
  /** Who owns it. */
  readonly showOwner?: unknown;
  /** Its fields. */
  readonly showContent?: unknown;
  /** Its bytes. */
  readonly showBcs?: unknown;
  /** What changed it last. */
  readonly showPreviousTransaction?: unknown;
}

const DELEGATE_KEY_TYPE = "account::DelegateKey";
/**
 * Clients take a package of any other version for one that was replaced. Accounts
 * have the same, as their changes are not counted.
 */
const VERSION = "1";

/** The package. */
function packageObject(
  packageId: string,
  shown: ObjectOptions,
): Readonly<Record<string, unknown>> {
  return {
    ...headOf(packageId, { state: packageId, shown }),
    type: shown.showType === true ? "package" : undefined,
    owner: shown.showOwner === true ? "Immutable" : undefined,
    content: shown.showContent === true
      ? { dataType: "package", disassembled: {} }
      : undefined,
    bcs: shown.showBcs === true
      ? {
        dataType: "package",
        id: packageId,
        version: Number(VERSION),
        moduleMap: {},
        typeOriginTable: [],
        linkageTable: {},
      }
      : undefined,
  };
}

/**
 * An account. Its bytes are not given, whatever is asked for: no client that is
 * served here reads them.
 */
function accountObject(
  account: AccountRecord,
  options: { readonly packageId: string; readonly shown: ObjectOptions },
): Readonly<Record<string, unknown>> {
  const { packageId, shown } = options;
  const type = `${packageId}::${ACCOUNT_TYPE}`;
  return {
    ...headOf(account.accountId, { state: JSON.stringify(account), shown }),
    type: shown.showType === true ? type : undefined,
    owner: shown.showOwner === true
      ? { Shared: { initial_shared_version: Number(VERSION) } }
      : undefined,
    content: shown.showContent === true
      ? {
        dataType: "moveObject",
        type,
        hasPublicTransfer: false,
        fields: fieldsOf(account, packageId),
      }
      : undefined,
  };
}

function fieldsOf(
  account: AccountRecord,
  packageId: string,
): Readonly<Record<string, unknown>> {
  return {
    id: { id: account.accountId },
    owner: account.owner,
    active: account.isActive,
    created_at: String(account.createdAtMs),
    delegate_keys: account.delegateKeys.map((key) => ({
      type: `${packageId}::${DELEGATE_KEY_TYPE}`,
      fields: {
        public_key: [...Uint8Array.fromHex(key.publicKey)],
        sui_address: key.address,
        label: key.label,
        created_at: String(key.createdAtMs),
      },
    })),
  };
}

/** What all objects have; `state` is what the digest changes with. */
function headOf(
  objectId: string,
  { state, shown }: { readonly state: string; readonly shown: ObjectOptions },
): Readonly<Record<string, unknown>> {
  return {
    objectId,
    version: VERSION,
    digest: digestOf(state),
    previousTransaction: shown.showPreviousTransaction === true
      ? digestOf(`transaction ${objectId}`)
      : undefined,
  };
}

/** No client can check it here; it changes whenever the object does. */
function digestOf(state: string): string {
  return encodeBase58(createHash("sha256").update(state).digest());
}
