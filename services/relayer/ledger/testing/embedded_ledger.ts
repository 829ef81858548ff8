/**
 * An embedded ledger for tests, with the public client in front of it: there is
 * no network between the two, but everything that would cross it is JSON.
 *
 * @module
 */

import { JsonRpcHTTPTransport, SuiJsonRpcClient } from "@mysten/sui/jsonRpc";
import { answerJsonRpc } from "../json_rpc.ts";
import type { LedgerFile } from "../ledger_file.ts";
import { LocalLedger } from "../local_ledger.ts";
import type { RpcLedger } from "../rpc_call.ts";
import { TransactionExecutor } from "../transaction_executor.ts";
import { TransactionLimits } from "../transaction_limits.ts";

/** An embedded ledger, and ways to call it. */
export interface EmbeddedLedger extends RpcLedger {
  /** Makes a JSON-RPC call; resolves with the answer. */
  call(method: string, ...params: readonly unknown[]): Promise<unknown>;
  /** The public client; it calls this ledger only. */
  readonly client: SuiJsonRpcClient;
  /** The methods that were called, in order. */
  readonly called: string[];
  /** Errors that clients did not see. */
  readonly faults: unknown[];
}

/** Limits that most tests do not meet. */
const PLENTY = { perMinute: 1_000_000, perDay: 1_000_000 };

/** Makes the ledger of an open file. */
export function embeddedLedger(
  file: LedgerFile,
  limits: { readonly perMinute: number; readonly perDay: number } = PLENTY,
): EmbeddedLedger {
  const ledger = new LocalLedger(file);
  const executor = new TransactionExecutor(ledger, {
    file,
    limits: new TransactionLimits({ ...limits, clock: file.clock }),
  });
  const called: string[] = [];
  const faults: unknown[] = [];
  const onFault = (error: unknown): void => void faults.push(error);
  const answer = async (text: string): Promise<string> => {
    const body = JSON.parse(text);
    called.push(body.method);
    const reply = await answerJsonRpc(body, { ledger, executor, onFault }, {
      from: "192.0.2.1",
    });
    return JSON.stringify(reply);
  };
  const client = new SuiJsonRpcClient({
    network: "localnet",
    transport: new JsonRpcHTTPTransport({
      url: "http://ledger.example/rpc",
      fetch: async (_url, init) =>
        new Response(await answer(String(init?.body))),
    }),
  });
  const call = async (
    method: string,
    ...params: readonly unknown[]
  ): Promise<unknown> =>
    JSON.parse(
      await answer(JSON.stringify({ jsonrpc: "2.0", id: 7, method, params })),
    );
  return { ledger, executor, onFault, faults, call, client, called };
}
