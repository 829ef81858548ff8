/**
 * Starts a real memcached server for a test.
 *
 * @module
 */

import { connect, type Socket } from "node:net";
import { freePort } from "./redis_server.ts";
import { stopProcess } from "./stop_process.ts";
import { waitUntil } from "./wait_until.ts";

/** Options of {@linkcode MemcachedServer}. */
export interface MemcachedServerOptions {
  /**
   * Further arguments of the program, for instance `["-m", "2"]`.
   *
   * @default []
   */
  readonly args?: readonly string[];
  /**
   * The port to listen on.
   *
   * @default a free one
   */
  readonly port?: number;
  /**
   * The certificate files for TLS. The methods `command` and `stat` then do not
   * work, as they do not speak TLS.
   *
   * @default not encrypted
   */
  readonly tls?: MemcachedServerTls;
}

/** The certificate files of a server that speaks TLS. */
export interface MemcachedServerTls {
  /** Path of the certificate chain. */
  readonly certPath: string;
  /** Path of the private key. */
  readonly keyPath: string;
  /**
   * Path of the authority that must have signed the clients' certificates.
   *
   * @default clients need no certificate
   */
  readonly clientCaPath?: string;
}

const HOST = "127.0.0.1";
const PORT_TRIES = 5;

/** Starts a server and waits until it accepts connections. */
export async function startMemcachedServer(
  options: MemcachedServerOptions = {},
): Promise<MemcachedServer> {
  const server = new MemcachedServer(options);
  await server.start();
  return server;
}

/** A `memcached` process on a loopback port. */
export class MemcachedServer {
  readonly #options: MemcachedServerOptions;
  #port: number;
  #child: Deno.ChildProcess | undefined;
  #isPaused = false;

  /** Creates a server that is not started yet. */
  constructor(options: MemcachedServerOptions = {}) {
    this.#options = options;
    this.#port = options.port ?? freePort();
  }

  /** The address of the server as `host:port`. */
  get name(): string {
    return `${HOST}:${this.#port}`;
  }

  /** The host on which the server listens. */
  get host(): string {
    return HOST;
  }

  /** The port on which the server listens. */
  get port(): number {
    return this.#port;
  }

  /** Starts the server and waits until it accepts connections. */
  async start(): Promise<void> {
    for (let tries = 1;; tries++) {
      if (await this.#spawn()) return;
      // Another program has taken the port since it was found free.
      if (this.#options.port !== undefined || tries === PORT_TRIES) {
        throw new Error(`Cannot start memcached on port ${this.#port}`);
      }
      this.#port = freePort();
    }
  }

  /** Ends the server; a second call does nothing. */
  stop(): Promise<void> {
    return this.kill();
  }

  /** Ends the server as a crash would. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    this.#isPaused = false;
    try {
      child.kill("SIGKILL");
    } catch (error) {
      // The process has already ended by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    await child.status;
  }

  /** Ends the server and starts it again on the same port, without its data. */
  async restart(): Promise<void> {
    await this.kill();
    if (!await this.#spawn()) {
      throw new Error(`Cannot restart memcached on port ${this.#port}`);
    }
  }

  /** Makes the server hang: connections stay open, but nothing is answered. */
  pause(): void {
    if (this.#isPaused) return;
    if (this.#child !== undefined) stopProcess(this.#child);
    this.#isPaused = true;
  }

  /** Lets a paused server continue. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#child?.kill("SIGCONT");
    this.#isPaused = false;
  }

  /**
   * Sends lines, for instance `get a` or `set a 0 0 1\r\nx`, and returns
   * everything the server answers.
   */
  command(text: string): Promise<string> {
    return talk(this.#port, `${text}\r\nquit\r\n`);
  }

  /** Returns a number from the server's `stats`. */
  async stat(name: string): Promise<number> {
    const stats = await this.command("stats");
    return Number(new RegExp(`^STAT ${name} (\\d+)`, "m").exec(stats)?.[1]);
  }

  async #isPid(pid: number): Promise<boolean> {
    return await this.stat("pid") === pid;
  }

  /** Starts the process; returns false when it ends before it is ready. */
  async #spawn(): Promise<boolean> {
    const { args = [], tls } = this.#options;
    const child = new Deno.Command("memcached", {
      args: [
        ...["-l", HOST, "-p", String(this.#port), "-U", "0", "-t", "2"],
        // Required where tests run as root; has no effect elsewhere.
        ...["-u", "root"],
        ...(tls === undefined ? [] : tlsArguments(tls)),
        ...args,
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#child = child;
    let hasEnded = false;
    void child.status.then(() => hasEnded = true);
    // Checks the process id, since another server on this port would accept
    // connections, too.
    const isReady = (): Promise<boolean> =>
      tls === undefined ? this.#isPid(child.pid) : accepts(this.#port);
    await waitUntil(async () => hasEnded || await isReady(), {
      what: "memcached to listen",
      timeoutMs: 10_000,
    });
    if (hasEnded) this.#child = undefined;
    return !hasEnded;
  }
}

function tlsArguments(tls: MemcachedServerTls): readonly string[] {
  const options = [
    `ssl_chain_cert=${tls.certPath}`,
    `ssl_key=${tls.keyPath}`,
    ...(tls.clientCaPath === undefined
      ? []
      : ["ssl_verify_mode=2", `ssl_ca_cert=${tls.clientCaPath}`]),
  ];
  return ["-Z", "-o", options.join(",")];
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: HOST, port });
    endWith(socket, () => resolve(false));
    socket.on("connect", () => {
      resolve(true);
      socket.destroy();
    });
  });
}

function talk(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: HOST, port });
    let answer = "";
    socket.on("connect", () => socket.write(text, "latin1"));
    socket.on("data", (chunk) => answer += chunk.toString("latin1"));
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
  });
}

function endWith(socket: Socket, end: () => void): void {
  socket.on("error", end);
  socket.on("close", end);
}
