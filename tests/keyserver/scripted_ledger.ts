/**
 * A ledger whose answers to key servers a test determines, whether they are
 * true or false.
 *
 * @module
 */

import type { TestTransaction } from "../../services/shared/ledger/testing/transaction_signer.ts";

/** A JSON-RPC server on a port of this machine. */
export class ScriptedLedger {
  /** The transactions of each sender, in the order in which they were sent. */
  readonly transactions = new Map<string, TestTransaction[]>();
  /** The methods of the calls that arrived, in their order. */
  readonly calls: string[] = [];
  /** The outcome of every dry run of a transaction. */
  trial: "success" | "failure" | "error" = "success";
  /** Whether the ledger is down: it then answers every call with status 502. */
  isAway = false;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** Starts to listen on a free port. */
  constructor() {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  /** The URL of the ledger. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/`;
  }

  /** Adds a transaction to those of a sender. */
  add(sender: string, transaction: TestTransaction): void {
    const list = this.transactions.get(sender) ?? [];
    this.transactions.set(sender, [...list, transaction]);
  }

  /** Stops listening. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { id, method, params } = await request.json();
    this.calls.push(method);
    if (this.isAway) return new Response("away", { status: 502 });
    return Response.json({
      jsonrpc: "2.0",
      id,
      ...this.#answerCall(method, params),
    });
  }

  #answerCall(
    method: string,
    params: unknown,
  ): Readonly<Record<string, unknown>> {
    switch (method) {
      case "sui_devInspectTransactionBlock":
        return this.#tried();
      case "sui_getLatestCheckpointSequenceNumber":
        return { result: "1" };
      case "sui_getCheckpoint":
        return { result: { timestampMs: String(Date.now()) } };
      default:
        return this.#page(params);
    }
  }

  #tried(): Readonly<Record<string, unknown>> {
    return this.trial === "error"
      ? { error: { code: -32_602, message: "no such object" } }
      : { result: { effects: { status: { status: this.trial } } } };
  }

  #page(params: unknown): Readonly<Record<string, unknown>> {
    const [query, cursor, limit] = params as [
      { filter: { FromAddress: string } },
      string | null,
      number,
    ];
    const all = this.transactions.get(query.filter.FromAddress) ?? [];
    const from = cursor === null
      ? 0
      : all.findIndex(({ digest }) => digest === cursor) + 1;
    if (cursor !== null && from === 0) {
      return { error: { code: -32_602, message: "the cursor is not known" } };
    }
    const page = all.slice(from, from + limit);
    return {
      result: {
        data: page.map(({ digest, signed }) => ({
          digest,
          rawTransaction: signed.toBase64(),
        })),
        nextCursor: page.at(-1)?.digest ?? null,
        hasNextPage: from + page.length < all.length,
      },
    };
  }
}
