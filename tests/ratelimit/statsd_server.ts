/**
 * A statsd server over TCP that keeps what it gets.
 *
 * @module
 */

/** Takes lines on a free port of this machine. */
export class StatsdServer {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #connections = new Set<Deno.TcpConn>();
  readonly #accepting: Promise<void>;
  #seen = 0;
  #text = "";

  /** Begins to listen. */
  constructor() {
    this.#accepting = this.#accept();
  }

  /** The port. */
  get port(): number {
    return this.#listener.addr.port;
  }

  /** True when somebody was connected and nobody is now. */
  get isIdle(): boolean {
    return this.#seen > 0 && this.#connections.size === 0;
  }

  /** How many connections there have been. */
  get connected(): number {
    return this.#seen;
  }

  /** All that a counter has grown by; `ending` are the tags behind its lines. */
  sum(name: string, ending = ""): number {
    return this.#text.split("\n")
      .map((line) => /^(.*):(\d+)\|c(.*)$/.exec(line))
      .filter((match) => match?.[1] === name && match[3] === ending)
      .reduce((sum, match) => sum + Number(match?.[2]), 0);
  }

  /**
   * Ends the connections and forgets their lines, as a server does that ends
   * and is there again. The port stays its own: another program could take it.
   */
  restart(): void {
    this.#text = "";
    for (const connection of this.#connections) connection.close();
  }

  /** Ends everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#connections) connection.close();
    await this.#accepting;
  }

  async #accept(): Promise<void> {
    const readers: Promise<void>[] = [];
    for await (const connection of this.#listener) {
      this.#seen++;
      readers.push(this.#read(connection));
    }
    await Promise.all(readers);
  }

  async #read(connection: Deno.TcpConn): Promise<void> {
    this.#connections.add(connection);
    const decoder = new TextDecoder();
    try {
      for await (const chunk of connection.readable) {
        this.#text += decoder.decode(chunk, { stream: true });
      }
    } catch (error) {
      // Closed from this side while it was read.
      const isClosed = error instanceof Deno.errors.BadResource ||
        error instanceof Deno.errors.Interrupted;
      if (!isClosed) throw error;
    } finally {
      this.#connections.delete(connection);
    }
  }
}
