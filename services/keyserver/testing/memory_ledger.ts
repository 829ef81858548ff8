/**
 * A ledger in memory that answers the key server's calls, for tests.
 *
 * @module
 */

import type { TestTransaction } from "../../shared/ledger/testing/transaction_signer.ts";
import { LedgerRpc } from "../ledger_rpc.ts";

/** A call as it arrived. */
interface LedgerCall {
  /** The call's JSON-RPC id. */
  readonly id: number;
  /** The method that is called. */
  readonly method: string;
  /** The method's parameters. */
  readonly params: readonly unknown[];
}

/** Answers calls correctly, unless a test sets another answer. */
export class MemoryLedger {
  /** The transactions of one sender, in order. */
  transactions: readonly TestTransaction[] = [];
  /** Calls that arrived. */
  readonly calls: LedgerCall[] = [];
  /** Most transactions of a page. */
  pageSize = 50;
  /**
   * Makes the answer in place of the correct one.
   *
   * @default undefined, which answers with the page that was asked for
   */
  answer: ((call: LedgerCall) => unknown) | undefined;
  /** A client of this ledger. */
  readonly rpc: LedgerRpc;

  /** A ledger without transactions. */
  constructor() {
    this.rpc = new LedgerRpc({
      url: "http://ledger.test/rpc",
      fetch: async (_url, { body }) => {
        const call: LedgerCall = JSON.parse(String(body));
        this.calls.push(call);
        await Promise.resolve();
        const { id } = call;
        const said = this.answer?.(call) ?? { result: this.page(call) };
        return Response.json({ jsonrpc: "2.0", id, ...Object(said) });
      },
    });
  }

  /** Makes the page of transactions that a call asks for. */
  page({ params }: LedgerCall): Record<string, unknown> {
    const cursor = params[1];
    const all = this.transactions;
    const from = all.findIndex(({ digest }) => digest === cursor) + 1;
    const page = all.slice(from, from + this.pageSize);
    return {
      data: page.map(({ digest, signed }) => ({
        digest,
        rawTransaction: signed.toBase64(),
      })),
      nextCursor: page.at(-1)?.digest ?? null,
      hasNextPage: from + page.length < all.length,
    };
  }
}
