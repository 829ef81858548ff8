/**
 * An embedded ledger for tests, with the public client in front of it: there is
 * no network between the two, but everything that would cross it is JSON.
 *
 * @module
 */

import { JsonRpcHTTPTransport, SuiJsonRpcClient } from "@mysten/sui/jsonRpc";
import type {
  AnswerRpc,
  RpcLedger,
} from "../../relayer/ledger/embedded_rpc.ts";
import type { LedgerFile } from "../../relayer/ledger/ledger_file.ts";
import { LocalCatalog } from "../../relayer/ledger/local_catalog.ts";
import { ledgerWithExecutor } from "../../relayer/ledger/testing/open_test_ledger.ts";
import { openRpc } from "../json_rpc.ts";

/** An embedded ledger, and ways to call it. */
export interface EmbeddedLedger extends RpcLedger {
  /** Makes a JSON-RPC call; resolves with the answer. */
  call(method: string, ...params: readonly unknown[]): Promise<unknown>;
  /** Answers JSON-RPC. */
  readonly answerRpc: AnswerRpc;
  /** The public client; it calls this ledger only. */
  readonly client: SuiJsonRpcClient;
  /** The methods that were called, in order. */
  readonly called: string[];
  /** Errors that clients did not see. */
  readonly faults: unknown[];
}

/** Makes the ledger of an open file. */
export function embeddedLedger(
  file: LedgerFile,
  limits?: Parameters<typeof ledgerWithExecutor>[1],
): EmbeddedLedger {
  const { ledger, executor } = ledgerWithExecutor(file, limits);
  const catalog = new LocalCatalog(file);
  const called: string[] = [];
  const faults: unknown[] = [];
  const onFault = (error: unknown): void => void faults.push(error);
  const answerRpc = openRpc({ ledger, executor, catalog, onFault });
  const answer = async (text: string): Promise<string> => {
    const body = JSON.parse(text);
    called.push(body.method);
    const reply = await answerRpc(body, { from: "192.0.2.1" });
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
  return { ledger, executor, onFault, answerRpc, faults, call, client, called };
}

/** Returns a member of an answer, or undefined if it is absent. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}
