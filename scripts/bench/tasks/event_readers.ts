/**
 * Opens many connections that read a tenant's events, and loads the pages that
 * consoles load then.
 *
 * @module
 */

import { HttpSocket } from "../kit/http_socket.ts";
import { consoleRequests } from "./service.ts";

/** Who reads, and what. */
export interface ReadersJob {
  /** The port of the service on this machine. */
  readonly port: number;
  /** The Host header, which names the tenant. */
  readonly host: string;
  /** The API key. */
  readonly token: string;
  /** How many connections. */
  readonly readers: number;
  /** The query, without the question mark. */
  readonly query: string;
  /**
   * Milliseconds from one page of the console that each reader loads to its
   * next.
   *
   * @default they load none
   */
  readonly pageMs?: number;
}

/** Open connections. */
export interface Readers extends Disposable {
  /** How many are open still. */
  readonly open: number;
}

/** Opens some at a time, as the queue of the port is short. */
const AT_ONCE = 50;

/**
 * Opens readers, and waits until each has the head of its answer.
 *
 * @param onBytes called with what comes, and the number of the reader
 * @throws {Error} when one is refused
 */
export async function openReaders(
  { port, host, token, readers, query }: ReadersJob,
  onBytes: (bytes: Uint8Array, reader: number) => void,
): Promise<Readers> {
  const connections = new Set<Deno.Conn>();
  const request = new TextEncoder().encode(
    `GET /api/v1/events?${query} HTTP/1.1\r\nhost: ${host}\r\n` +
      `authorization: Bearer ${token}\r\n\r\n`,
  );
  const openOne = async (reader: number): Promise<void> => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connections.add(connection);
    await connection.write(request);
    const buffer = new Uint8Array(65_536);
    const length = await connection.read(buffer);
    const head = new TextDecoder().decode(buffer.subarray(0, length ?? 0));
    if (!head.startsWith("HTTP/1.1 200")) {
      throw new Error(`Cannot read events: ${head.slice(0, 500)}`);
    }
    void follow(connection, { buffer, reader });
  };
  const follow = async (
    connection: Deno.Conn,
    { buffer, reader }: { buffer: Uint8Array; reader: number },
  ): Promise<void> => {
    try {
      for (;;) {
        const length = await connection.read(buffer);
        if (length === null) break;
        onBytes(buffer.subarray(0, length), reader);
      }
    } catch {
      // It was closed here, or the service has ended.
    }
    connections.delete(connection);
  };
  for (let from = 0; from < readers; from += AT_ONCE) {
    const count = Math.min(AT_ONCE, readers - from);
    await Promise.all(
      Array.from({ length: count }, (_, index) => openOne(from + index)),
    );
  }
  return {
    get open() {
      return connections.size;
    },
    [Symbol.dispose]() {
      for (const connection of connections) connection.close();
    },
  };
}

/**
 * Loads the overview of the console as often as all readers of a job do, until
 * the signal, and tells how many pages came.
 */
export async function loadPages(
  { port, pageMs = Infinity, readers, ...tenant }: ReadersJob,
  signal: AbortSignal,
): Promise<number> {
  if (pageMs === Infinity) return 0;
  const request = (await consoleRequests(port, tenant))("");
  using socket = await HttpSocket.connect(port);
  const beganMs = performance.now();
  let pages = 0;
  while (!signal.aborted) {
    const { status } = await socket.exchange(request);
    if (status !== 200) throw new Error(`Cannot load a page: ${status}`);
    pages++;
    const waitMs = pages * pageMs / readers - (performance.now() - beganMs);
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  return pages;
}
