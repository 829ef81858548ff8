/**
 * Starts a real Redis server for a test.
 *
 * @module
 */

import { systemClock } from "../../services/shared/clock.ts";
import { askRedis } from "../../services/ratelimit/counters/kvstore/redis/ask.ts";
import type { RedisAddress } from "../../services/ratelimit/counters/kvstore/redis/address.ts";
import {
  isRedisRefusal,
  type RedisReply,
} from "../../services/ratelimit/counters/kvstore/redis/reply.ts";
import { stopProcess } from "./stop_process.ts";
import { waitUntil } from "./wait_until.ts";

/** Options of {@linkcode RedisServer}. */
export interface RedisServerOptions {
  /**
   * Lines of a configuration file, which the server may rewrite. With these the
   * server is a sentinel, which stores no data.
   *
   * @default it is not a sentinel
   */
  readonly sentinelConfig?: readonly string[];
  /**
   * Further arguments of the program, for instance
   * `["--requirepass", "secret"]`.
   *
   * @default []
   */
  readonly args?: readonly string[];
  /**
   * Whether the server is a node of a cluster, which has another port for the
   * other nodes.
   *
   * @default {false}
   */
  readonly isClusterNode?: boolean;
  /**
   * The password of the server.
   *
   * @default none
   */
  readonly password?: string;
  /**
   * The certificate files with which the server speaks only TLS on its port;
   * clients need a certificate as well. The unix socket stays without TLS.
   *
   * @default no TLS
   */
  readonly tls?: RedisServerTls;
  /**
   * The port to listen on.
   *
   * @default a free one
   */
  readonly port?: number;
}

/** The certificate files of a server that speaks TLS. */
export interface RedisServerTls {
  /** Path of the server's certificate. */
  readonly certPath: string;
  /** Path of the server's private key. */
  readonly keyPath: string;
  /** Path of the authority that signs the clients' certificates. */
  readonly caPath: string;
}

const HOST = "127.0.0.1";
const START_MS = 60_000;
const ASK_MS = 5_000;
const PORT_TRIES = 5;

/** Starts a server and waits until it answers. */
export async function startRedisServer(
  options: RedisServerOptions = {},
): Promise<RedisServer> {
  const server = new RedisServer(options);
  await server.start();
  return server;
}

/** Returns a free port of the loopback interface. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: HOST, port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/**
 * A `redis-server` process on a loopback port and on a unix socket in a folder
 * of its own; it writes nothing to disk.
 */
export class RedisServer {
  readonly #options: RedisServerOptions;
  readonly #folder = Deno.makeTempDirSync({ prefix: "redis_server_" });
  #port: number;
  #clusterPort = freePort();
  #child: Deno.ChildProcess | undefined;
  #output: Promise<void> = Promise.resolve();

  /** Creates a server that is not started yet. */
  constructor(options: RedisServerOptions = {}) {
    this.#options = options;
    this.#port = options.port ?? freePort();
  }

  /** The host on which the server listens. */
  get host(): string {
    return HOST;
  }

  /** The port on which the server listens. */
  get port(): number {
    return this.#port;
  }

  /** The path of the unix socket on which the server listens. */
  get socketPath(): string {
    return `${this.#folder}/redis.sock`;
  }

  /** Starts the server and waits until it answers. */
  async start(): Promise<void> {
    for (let tries = 1;; tries++) {
      if (await this.#spawn()) return;
      // Another program has taken the port since it was found free.
      if (this.#options.port !== undefined || tries === PORT_TRIES) {
        throw new Error(`Cannot start redis-server on port ${this.#port}`);
      }
      this.#port = freePort();
      this.#clusterPort = freePort();
    }
  }

  /** Ends the server and removes its folder; a second call does nothing. */
  async stop(): Promise<void> {
    // Killed, since there is nothing to save and a graceful stop takes a tenth
    // of a second.
    await this.#end();
    await Deno.remove(this.#folder, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }

  /** Ends the server as a crash would. */
  async kill(): Promise<void> {
    await this.#end();
  }

  /** Ends the server and starts it again on the same port, without its data. */
  async restart(): Promise<void> {
    await this.#end();
    if (!await this.#spawn()) {
      throw new Error(`Cannot restart redis-server on port ${this.#port}`);
    }
  }

  /** Makes the server hang: connections stay open, but nothing is answered. */
  pause(): void {
    if (this.#child !== undefined) stopProcess(this.#child);
  }

  /** Lets a paused server continue. */
  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /**
   * Runs a command over a connection of its own.
   *
   * @throws {Error} When the server does not answer, or refuses the command.
   */
  async command(...args: readonly string[]): Promise<RedisReply> {
    const { password } = this.#options;
    const outcome = await askRedis({
      address: this.#askAddress,
      ...(password === undefined ? {} : { auth: { password } }),
      timeoutMs: ASK_MS,
      clock: systemClock,
    }, [args]);
    if (outcome.kind === "unavailable") throw new Error(outcome.reason);
    const reply = outcome.replies[0] ?? null;
    if (isRedisRefusal(reply)) throw new Error(reply.refusal);
    return reply;
  }

  /**
   * Returns the reply to a command as text; "" when there is no reply or it is
   * empty.
   */
  async ask(...args: readonly string[]): Promise<string> {
    const reply = await this.command(...args).catch(() => null);
    return formatReply(reply);
  }

  /**
   * The unix socket, which never uses TLS, so that tests need no certificate to
   * inspect a server; sentinels have only the port.
   */
  get #askAddress(): RedisAddress {
    return this.#options.sentinelConfig === undefined
      ? { kind: "unix", path: this.socketPath }
      : { kind: "tcp", host: HOST, port: this.#port };
  }

  /**
   * Waits until this replica has received everything that its master has
   * written so far.
   */
  async catchUpWith(master: RedisServer): Promise<void> {
    const offset = await master.#offset("master_repl_offset");
    await waitUntil(
      async () => await this.#offset("slave_repl_offset") >= offset,
      { what: "a replica to catch up" },
    );
  }

  async #offset(name: string): Promise<number> {
    const info = await this.ask("INFO", "replication");
    const digits = new RegExp(`${name}:(\\d+)`).exec(info)?.[1];
    return Number(digits ?? NaN);
  }

  /** Starts the process; returns false when it ends before it is ready. */
  async #spawn(): Promise<boolean> {
    const child = new Deno.Command("redis-server", {
      args: await this.#args(),
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#child = child;
    const ready = Promise.withResolvers<boolean>();
    this.#output = watchOutput(child.stdout, () => ready.resolve(true))
      .finally(() => ready.resolve(false));
    const timer = setTimeout(() => ready.resolve(false), START_MS);
    const isReady = await ready.promise;
    clearTimeout(timer);
    if (!isReady) await this.#end();
    return isReady;
  }

  async #args(): Promise<string[]> {
    const { args = [], password, sentinelConfig, tls, isClusterNode = false } =
      this.#options;
    const common = [
      ...["--bind", HOST, "--dir", this.#folder, "--daemonize", "no"],
      ...portArgs(this.#port, tls),
      ...(password === undefined ? [] : ["--requirepass", password]),
      ...(isClusterNode ? ["--cluster-enabled", "yes"] : []),
      ...(isClusterNode ? ["--cluster-port", String(this.#clusterPort)] : []),
      ...args,
    ];
    if (sentinelConfig === undefined) {
      return [
        ...[
          "--unixsocket",
          this.socketPath,
          "--save",
          "",
          "--appendonly",
          "no",
        ],
        ...common,
      ];
    }
    const path = `${this.#folder}/sentinel.conf`;
    await Deno.writeTextFile(path, sentinelConfig.join("\n") + "\n");
    return [path, "--sentinel", ...common];
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    try {
      child.kill("SIGKILL");
    } catch (error) {
      // The process has already ended by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    await child.status;
    await this.#output;
  }
}

function formatReply(reply: RedisReply): string {
  if (reply === null) return "";
  return Array.isArray(reply)
    ? reply.map(formatReply).join("\n")
    : String(reply);
}

function portArgs(
  port: number,
  tls: RedisServerTls | undefined,
): readonly string[] {
  if (tls === undefined) return ["--port", String(port)];
  return [
    ...["--port", "0", "--tls-port", String(port), "--tls-auth-clients", "yes"],
    ...["--tls-cert-file", tls.certPath, "--tls-key-file", tls.keyPath],
    ...["--tls-ca-cert-file", tls.caPath],
    // TLS between the nodes of a cluster and with replicas, too.
    ...["--tls-replication", "yes", "--tls-cluster", "yes"],
  ];
}

/**
 * Reads the output to its end, so that the server never blocks on a full pipe.
 */
async function watchOutput(
  output: ReadableStream<Uint8Array>,
  onReady: () => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let seen = "";
  let isReady = false;
  for await (const chunk of output) {
    if (isReady) continue;
    seen += decoder.decode(chunk, { stream: true });
    isReady = /ready to accept connections (at|unix)|Sentinel ID is/i
      .test(seen);
    if (isReady) onReady();
  }
}
