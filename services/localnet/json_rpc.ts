/**
 * Answers JSON-RPC 2.0 for the embedded ledger, with the methods of a full node
 * that clients of the public ledger use, and those of the catalogue of blobs
 * for trusted callers. Limits bound what one body may ask for.
 *
 * @module
 */

import type { AnswerRpc, RpcLedger } from "../relayer/ledger/embedded_rpc.ts";
import { isJsonObject } from "../shared/schema/schema.ts";
import { settle } from "../shared/settled.ts";
import { catalogMethods } from "./catalog_methods.ts";
import { CHAIN_METHODS } from "./chain_methods.ts";
import { OBJECT_METHODS } from "./object_methods.ts";
import { type RpcContext, RpcError, type RpcMethod } from "./rpc_method.ts";
import { TRANSACTION_METHODS } from "./transaction_methods.ts";

/**
 * Most objects, transactions and events that all calls of a body may read
 * together.
 */
const MAX_READS = 50;
/** Most transactions that all calls of a body may execute or try. */
const MAX_RUNS = 5;
/** Most calls of a body. */
const MAX_CALLS = 50;

const METHODS: ReadonlyMap<string, RpcMethod> = new Map([
  ...Object.entries(OBJECT_METHODS),
  ...Object.entries(TRANSACTION_METHODS),
  ...Object.entries(CHAIN_METHODS),
]);

/** A call's context. */
interface CallContext extends RpcContext {
  /** The methods that its caller may use. */
  readonly methods: typeof METHODS;
  /** Resolves when the ledger is as it was, or later, when the body came. */
  readonly caughtUp: () => Promise<void>;
}

/** Makes the function that answers JSON-RPC over a ledger. */
export function openRpc(ledger: RpcLedger): AnswerRpc {
  const { catalog, catchUp } = ledger;
  const own = catalog === undefined ? {} : catalogMethods(catalog);
  const trusted = new Map([...METHODS, ...Object.entries(own)]);
  return (body, caller) => {
    let caughtUp: Promise<void> | undefined;
    return answerBody(body, {
      ...ledger,
      ...caller,
      budget: { reads: MAX_READS, runs: MAX_RUNS },
      methods: caller.isTrusted ? trusted : METHODS,
      caughtUp: () => caughtUp ??= catchUp?.() ?? Promise.resolve(),
    });
  };
}

async function answerBody(
  body: unknown,
  context: CallContext,
): Promise<unknown> {
  if (!Array.isArray(body)) return await answerCall(body, context);
  if (body.length === 0 || body.length > MAX_CALLS) {
    return invalid(`a list has 1 to ${MAX_CALLS} calls`);
  }
  const answers: unknown[] = [];
  for (const call of body) {
    const answer = await answerCall(call, context);
    if (answer !== undefined) answers.push(answer);
  }
  return answers.length === 0 ? undefined : answers;
}

async function answerCall(
  call: unknown,
  context: CallContext,
): Promise<unknown> {
  if (!isJsonObject(call) || call["jsonrpc"] !== "2.0") {
    return invalid('a call is an object with "jsonrpc": "2.0"');
  }
  const { id, method, params = [] } = call;
  if (typeof method !== "string" || !isId(id)) {
    return invalid("a call has a method and an id");
  }
  const outcome = await run(method, params, context);
  return id === undefined ? undefined : { jsonrpc: "2.0", id, ...outcome };
}

/** The outcome of a call, as the caller sees it. */
type RpcOutcome =
  | { readonly result: unknown }
  | { readonly error: Pick<RpcError, "code" | "message"> };

async function run(
  method: string,
  params: unknown,
  context: CallContext,
): Promise<RpcOutcome> {
  const handle = context.methods.get(method);
  if (handle === undefined) {
    context.onCall?.("unknown", "error");
    return failed(-32601, "Cannot call method: it is unknown");
  }
  if (!Array.isArray(params)) {
    context.onCall?.(method, "error");
    return failed(-32602, "Cannot read params: they are not a list");
  }
  const settled = await settle(async () => {
    await context.caughtUp();
    return await handle(params, context);
  });
  if (settled.kind === "ok") {
    context.onCall?.(method, "ok");
    return { result: settled.value };
  }
  const { error } = settled;
  if (error instanceof RpcError) {
    context.onCall?.(method, "error");
    return failed(error.code, error.message);
  }
  // The error is for the operator; clients do not see it.
  context.onFault(error);
  context.onCall?.(method, "fault");
  return failed(-32603, "Cannot use the ledger: it does not answer");
}

function isId(id: unknown): boolean {
  return id === undefined || id === null || typeof id === "string" ||
    typeof id === "number";
}

function failed(code: RpcError["code"], message: string): RpcOutcome {
  return { error: { code, message } };
}

function invalid(state: string): unknown {
  const outcome = failed(-32600, `Cannot read call: ${state}`);
  return { jsonrpc: "2.0", id: null, ...outcome };
}
