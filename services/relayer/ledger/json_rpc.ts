/**
 * Answers JSON-RPC 2.0 for the embedded ledger, with the methods of a full node
 * that clients of the public ledger use. Limits bound what one body may ask
 * for.
 *
 * @module
 */

import { isJsonObject } from "../../shared/schema/schema.ts";
import { settle } from "../../shared/settled.ts";
import type { RpcCallEnd } from "../metrics/ledger_metrics.ts";
import { CHAIN_METHODS } from "./chain_methods.ts";
import { OBJECT_METHODS } from "./object_methods.ts";
import {
  failed,
  type RpcContext,
  type RpcLedger,
  type RpcMethod,
  type RpcOutcome,
} from "./rpc_call.ts";
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
  ...OBJECT_METHODS,
  ...TRANSACTION_METHODS,
  ...CHAIN_METHODS,
]);

/** The caller of a body. */
interface RpcCaller {
  /** Where the body came from, such as the connection's address. */
  readonly from: string;
  /**
   * Further methods that this caller may use, beside those of a full node.
   *
   * @default none
   */
  readonly own?: ReadonlyMap<string, RpcMethod> | undefined;
  /**
   * Called with the outcome of each call; the name of a method that does not
   * exist is `unknown`.
   *
   * @default outcomes are not counted
   */
  readonly onCall?: ((method: string, end: RpcCallEnd) => void) | undefined;
}

/**
 * Answers a body: a call, or a list of calls.
 *
 * @param body The parsed body; it is not trusted.
 * @returns The value to send as JSON; undefined when nothing is to be sent,
 * since no call wanted an answer (JSON-RPC 2.0, 4.1).
 */
export async function answerJsonRpc(
  body: unknown,
  ledger: RpcLedger,
  caller: RpcCaller,
): Promise<unknown> {
  const budget = { reads: MAX_READS, runs: MAX_RUNS };
  const context = { ...ledger, ...caller, budget };
  if (!Array.isArray(body)) return await answerCall(body, context);
  if (body.length === 0 || body.length > MAX_CALLS) {
    return reply(null, invalid(`a list has 1 to ${MAX_CALLS} calls`));
  }
  const answers: unknown[] = [];
  for (const call of body) {
    const answer = await answerCall(call, context);
    if (answer !== undefined) answers.push(answer);
  }
  return answers.length === 0 ? undefined : answers;
}

type CallContext = RpcContext & RpcCaller;

async function answerCall(
  call: unknown,
  context: CallContext,
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
  context: CallContext,
): Promise<RpcOutcome> {
  const handle = METHODS.get(method) ?? context.own?.get(method);
  if (handle === undefined) {
    context.onCall?.("unknown", "error");
    return failed(-32601, "Cannot call method: it is not known here");
  }
  if (!Array.isArray(params)) {
    context.onCall?.(method, "error");
    return failed(-32602, "Cannot read params: they are not a list");
  }
  const settled = await settle(() => handle(params, context));
  if (settled.kind === "ok") {
    context.onCall?.(method, "error" in settled.value ? "error" : "ok");
    return settled.value;
  }
  // The error is for the operator; clients do not see it.
  context.onFault(settled.error);
  context.onCall?.(method, "fault");
  return failed(-32603, "Cannot use the ledger: it does not answer");
}

function isId(id: unknown): boolean {
  return id === undefined || id === null || typeof id === "string" ||
    typeof id === "number";
}

function reply(id: unknown, outcome: RpcOutcome): unknown {
  return { jsonrpc: "2.0", id, ...outcome };
}

function invalid(state: string): RpcOutcome {
  return failed(-32600, `Cannot read call: ${state}`);
}
