/**
 * Attacks on an HTTP/1.1 server. Each reports what it observed; none depends on
 * knowledge of a particular server.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { ServerProcess } from "./server_process.ts";

/** The result of an attack. */
export interface AttackOutcome {
  /** Whether the server withstood the attack. */
  readonly withstood: boolean;
  /** What was observed, in a few words. */
  readonly seen: string;
}

/** An attack on a server. */
export interface Attack {
  /** The name of the attack. */
  readonly name: string;
  /** What a server has to do to count as one that withstands the attack. */
  readonly wanted: string;
  /**
   * The limit of files that the server may have open; no limit when left out.
   */
  readonly maxFiles?: number;
  /** Carries out the attack. */
  run(server: ServerProcess): Promise<AttackOutcome>;
}

/**
 * How long an attack waits for the server to act: a server whose timeouts are
 * one or two seconds has acted by then.
 */
const PATIENCE_MS = 5_000;
const MAX_GROWTH_BYTES = 67_108_864;
const LARGE_BYTES = 33_554_432;
const GET = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

/** The attacks, in the order of their report. */
export const ATTACKS: readonly Attack[] = [
  {
    name: "slow head",
    wanted: "the connection ends within 5 s",
    run: (server) => trickle(server, "GET / HTTP/1.1\r\n", "x"),
  },
  {
    name: "slow body",
    wanted: "the connection ends within 5 s",
    run: (server) =>
      trickle(
        server,
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n",
        "x",
      ),
  },
  {
    name: "slow reader of 32 MiB",
    wanted: "the answer is cut within 5 s",
    run: slowReader,
  },
  {
    name: "idle connection",
    wanted: "the connection ends within 5 s",
    async run(server) {
      using client = await Client.connect(server.port);
      await client.send(GET);
      return closes(client, await client.readFor(PATIENCE_MS));
    },
  },
  {
    name: "pipelined flood of unread answers",
    wanted: "under 64 MiB more memory, others are answered in 1 s",
    run: pipelinedFlood,
  },
  {
    name: "head of 8 MiB",
    wanted: "refused before 1 MiB is taken",
    run: (server) => headBomb(server, "x: " + "y".repeat(8_388_608)),
  },
  {
    name: "head of 5,000 fields",
    wanted: "refused",
    async run(server) {
      const fields = "a: b\r\n".repeat(5_000);
      return refuses(
        await exchange(server, `GET / HTTP/1.1\r\nhost: a\r\n${fields}\r\n`),
      );
    },
  },
  {
    name: "target of 64 KiB",
    wanted: "refused",
    run: async (server) =>
      refuses(
        await exchange(
          server,
          `GET /${"a".repeat(65_536)} HTTP/1.1\r\nhost: a\r\n\r\n`,
        ),
      ),
  },
  smuggling(
    "content-length and transfer-encoding",
    "content-length: 6\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  ),
  smuggling(
    "two content-lengths",
    "content-length: 0\r\ncontent-length: 44\r\n\r\n",
  ),
  smuggling(
    "blank before the colon",
    "content-length : 44\r\ncontent-length: 0\r\n\r\n",
  ),
  smuggling(
    "chunk extension with a bare line feed",
    "transfer-encoding: chunked\r\n\r\n0;a\nb\r\n\r\n",
  ),
  malformed("obsolete fold", "GET / HTTP/1.1\r\nhost: a\r\nx: a\r\n b\r\n\r\n"),
  malformed("bare line feeds", "GET / HTTP/1.1\nhost: a\n\n"),
  malformed("no host", "GET / HTTP/1.1\r\n\r\n"),
  malformed("two hosts", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"),
  {
    name: "upgrade to another protocol",
    wanted: "answered as any request, or refused",
    async run(server) {
      const text = await exchange(
        server,
        "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\n" +
          "upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n",
      );
      const status = statusesOf(text)[0];
      return {
        withstood: status !== undefined && status !== 101,
        seen: shownStatus(text),
      };
    },
  },
  {
    name: "HTTP/2 by prior knowledge",
    wanted: "only HTTP/1.1 is spoken",
    async run(server) {
      const text = await exchange(
        server,
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
      );
      const isHttp2 = text.slice(3, 4) === "\x04";
      return {
        withstood: !isHttp2,
        seen: isHttp2 ? "speaks HTTP/2" : shownStatus(text),
      };
    },
  },
  {
    name: "more connections than files",
    wanted: "runs on, and answers when the connections have ended",
    maxFiles: 96,
    run: fileShortage,
  },
];

function malformed(name: string, request: string): Attack {
  return {
    name,
    wanted: "refused",
    run: async (server) => refuses(await exchange(server, request)),
  };
}

/**
 * A request that can be read in two ways: `GET /b` is part of its body, or the
 * next request.
 */
function smuggling(name: string, rest: string): Attack {
  return {
    name,
    wanted: "refused, or nothing is read after it",
    async run(server) {
      const text = await exchange(
        server,
        `POST /a HTTP/1.1\r\nhost: a\r\n${rest}GET /b HTTP/1.1\r\nhost: a\r\n` +
          "x: 123456789\r\n\r\n",
      );
      const statuses = statusesOf(text);
      return {
        withstood: statuses.length === 0 || (statuses[0] ?? 0) >= 400 ||
          statuses.length === 1,
        seen: statuses.length > 1
          ? `answers ${statuses.length} requests`
          : shownStatus(text),
      };
    },
  };
}

/** Sends one byte at a time for as long as the server accepts them. */
async function trickle(
  server: ServerProcess,
  begin: string,
  byte: string,
): Promise<AttackOutcome> {
  using client = await Client.connect(server.port);
  await client.send(begin);
  const sending = setInterval(() => void client.trySend(byte), 100);
  try {
    return closes(client, await client.readFor(PATIENCE_MS));
  } finally {
    clearInterval(sending);
  }
}

/**
 * Reads a little at intervals, so that the response always makes a little
 * progress.
 */
async function slowReader(server: ServerProcess): Promise<AttackOutcome> {
  using client = await Client.connect(server.port);
  await client.send("GET /large HTTP/1.1\r\nhost: a\r\n\r\n");
  for (
    const endMs = performance.now() + PATIENCE_MS;
    performance.now() < endMs;
  ) {
    await client.readOnce();
    await pause(300);
  }
  const { length } = await client.readFor(PATIENCE_MS);
  const isCut = length < LARGE_BYTES;
  return {
    withstood: isCut,
    seen: isCut
      ? `cut after ${Math.round(length / 1_048_576)} MiB`
      : "gives the whole answer",
  };
}

async function pipelinedFlood(server: ServerProcess): Promise<AttackOutcome> {
  const { rssBytes: before } = await server.usage();
  using client = await Client.connect(server.port);
  let isOver = false;
  const flood = (async () => {
    const requests = GET.repeat(1_000);
    while (!isOver && await client.trySend(requests));
  })();
  await pause(1_500);
  const beginMs = performance.now();
  const usage = await server.usage().catch(() => undefined);
  const tookMs = Math.round(performance.now() - beginMs);
  isOver = true;
  client.close();
  await flood;
  if (usage === undefined) {
    return {
      withstood: false,
      seen: "no other request is answered within 5 s",
    };
  }
  const growth = usage.rssBytes - before;
  return {
    withstood: tookMs < 1_000 && growth < MAX_GROWTH_BYTES,
    seen: `another waits ${tookMs} ms, ` +
      `${Math.round(growth / 1_048_576)} MiB more`,
  };
}

async function headBomb(
  server: ServerProcess,
  head: string,
): Promise<AttackOutcome> {
  using client = await Client.connect(server.port);
  await client.send("GET / HTTP/1.1\r\nhost: a\r\n");
  const reading = client.readFor(PATIENCE_MS);
  let sent = 0;
  for (let at = 0; at < head.length; at += 16_384) {
    if (!await client.trySend(head.slice(at, at + 16_384))) break;
    sent += 16_384;
    if (client.isEnded || client.received !== "") break;
    await pause(0);
  }
  await client.trySend("\r\n\r\n");
  const text = await reading;
  return {
    withstood: sent < 1_048_576 && statusesOf(text)[0] !== 200,
    seen: `${shownStatus(text)} after ${Math.round(sent / 1024)} KiB`,
  };
}

async function fileShortage(server: ServerProcess): Promise<AttackOutcome> {
  const clients: Client[] = [];
  try {
    for (let count = 0; count < 200 && !server.hasEnded; count++) {
      const client = await Client.connect(server.port);
      clients.push(client);
      await client.trySend("GET / HTTP/1.1\r\n");
    }
    await pause(1_500);
  } catch (error) {
    if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
  } finally {
    for (const client of clients) client.close();
  }
  await pause(500);
  if (server.hasEnded) return { withstood: false, seen: "the process ends" };
  const text = await exchange(server, GET);
  return {
    withstood: statusesOf(text)[0] === 200,
    seen: text === "" ? "answers no more" : `then ${shownStatus(text)}`,
  };
}

/** Sends a text and returns what is received within a second. */
async function exchange(server: ServerProcess, text: string): Promise<string> {
  try {
    using client = await Client.connect(server.port);
    const sending = client.trySend(text);
    const received = await client.readFor(1_000);
    client.close();
    await sending;
    return received;
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return "";
    throw error;
  }
}

function closes(client: Client, text: string): AttackOutcome {
  const after = client.isEnded ? "ends the connection" : "waits on";
  const status = text === "" ? "" : `${shownStatus(text)}, `;
  return { withstood: client.isEnded, seen: status + after };
}

function refuses(text: string): AttackOutcome {
  const status = statusesOf(text)[0];
  return {
    withstood: status === undefined || status >= 400,
    seen: shownStatus(text),
  };
}

function shownStatus(text: string): string {
  return statusesOf(text)[0]?.toString() ?? "no answer";
}

function statusesOf(text: string): readonly number[] {
  return Array.from(
    text.matchAll(/HTTP\/1\.1 (\d{3})/g),
    ([, status]) => Number(status),
  );
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A raw connection for requests that no proper client sends. */
class Client implements Disposable {
  readonly #connection: Deno.Conn;
  #isClosed = false;
  /** Whether the server has ended the connection. */
  isEnded = false;
  /** What the server has sent so far, decoded as latin1. */
  received = "";

  private constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  static async connect(port: number): Promise<Client> {
    return new Client(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  async send(text: string): Promise<void> {
    const bytes = Buffer.from(text, "latin1");
    for (let sent = 0; sent < bytes.length;) {
      sent += await this.#connection.write(bytes.subarray(sent));
    }
  }

  /** Sends a text; returns false when the connection does not take it. */
  async trySend(text: string): Promise<boolean> {
    try {
      await this.send(text);
      return true;
    } catch {
      return false;
    }
  }

  /** Reads for some milliseconds, or until the connection ends. */
  async readFor(ms: number): Promise<string> {
    const late = pause(ms).then(() => "late" as const);
    while (!this.isEnded) {
      if (await Promise.race([this.readOnce(), late]) === "late") break;
    }
    return this.received;
  }

  /** Reads once, at most 64 KiB. */
  async readOnce(): Promise<void> {
    const buffer = new Uint8Array(65_536);
    const count = await this.#connection.read(buffer).catch(() => null);
    if (count === null) this.isEnded = true;
    else {this.received += Buffer.from(buffer.buffer, 0, count).toString(
        "latin1",
      );}
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
