/**
 * A statsd server over TCP that stores the lines it receives.
 *
 * @module
 */

/** Listens on a free port of this machine and stores received lines. */
export class StatsdServer {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #connections = new Set<Deno.TcpConn>();
  readonly #accepting: Promise<void>;
  #seen = 0;
  #text = "";

  /** Starts to listen. */
  constructor() {
    this.#accepting = this.#accept();
  }

  /** The port on which the server listens. */
  get port(): number {
    return this.#listener.addr.port;
  }

  /** Whether a client has been connected and no client is connected now. */
  get isIdle(): boolean {
    return this.#seen > 0 && this.#connections.size === 0;
  }

  /** Number of connections so far. */
  get connected(): number {
    return this.#seen;
  }

  /**
   * The sum of all increments of a counter; `ending` is the text of the tags at
   * the end of its lines.
   */
  sum(name: string, ending = ""): number {
    return this.#text.split("\n")
      .map((line) => /^(.*):(\d+)\|c(.*)$/.exec(line))
      .filter((match) => match?.[1] === name && match[3] === ending)
      .reduce((sum, match) => sum + Number(match?.[2]), 0);
  }

  /**
   * Closes the connections and drops the received lines, as a server does that
   * restarts. The port stays open, since another program could take it.
   */
  restart(): void {
    this.#text = "";
    for (const connection of this.#connections) connection.close();
  }

  /** Closes the port and all connections. */
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
      // The connection was closed from this side while it was being read.
      const isClosed = error instanceof Deno.errors.BadResource ||
        error instanceof Deno.errors.Interrupted;
      if (!isClosed) throw error;
    } finally {
      this.#connections.delete(connection);
    }
  }
}
