/**
 * The rate limit service and its commands within the test's process, which
 * costs far less than a process of their own. Each kind of start and each
 * command has tests with a real process as well; those alone show what its
 * permissions are and how the process ends.
 *
 * @module
 */

import { run } from "../../services/ratelimit/main.ts";
import { serveRateLimit } from "../../services/ratelimit/serve.ts";
import { systemClock } from "../../services/shared/clock.ts";
import {
  listenerAddress,
  LOCAL_ENV,
  type RatelimitListener,
} from "../support/ratelimit_process.ts";
import type { ServiceRun } from "../support/service_process.ts";
import { waitUntil } from "../support/wait_until.ts";

/** Runs a command of `ratelimit` to its end. */
export async function runHere(args: readonly string[]): Promise<ServiceRun> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await run(args, {
    out: (text) => out.push(text),
    err: (text) => err.push(text),
  });
  return { code, stdout: joinTexts(out), stderr: joinTexts(err) };
}

/** Returns what a process would have written: each text ends its line. */
function joinTexts(texts: readonly string[]): string {
  return texts.map((text) => text.endsWith("\n") ? text : `${text}\n`).join("");
}

/** Starts the service and waits for all its listeners. */
export async function serveHere(
  env: Readonly<Record<string, string>>,
): Promise<ServiceHere> {
  const service = await ServiceHere.begin(env);
  await service.waitForLine("Listening for HTTP on ");
  return service;
}

/** A service from its start to its end. */
export class ServiceHere {
  /** The lines of the log so far. */
  readonly lines: readonly string[];
  /** Fulfils with the exit code when the service has ended. */
  readonly ended: Promise<number>;
  readonly #stops: ReadonlySet<() => void>;

  private constructor(
    lines: readonly string[],
    ended: Promise<number>,
    stops: ReadonlySet<() => void>,
  ) {
    this.lines = lines;
    this.ended = ended;
    this.#stops = stops;
  }

  /** Starts the service without waiting for its listeners. */
  static async begin(
    ownEnv: Readonly<Record<string, string>>,
  ): Promise<ServiceHere> {
    const env: Readonly<Record<string, string>> = { ...LOCAL_ENV, ...ownEnv };
    const lines: string[] = [];
    const write = (text: string) => void lines.push(text);
    const stops = new Set<() => void>();
    const listening = Promise.withResolvers<void>();
    const ended = serveRateLimit({
      io: { out: write, err: write },
      env: { get: (name) => env[name], toObject: () => env },
      clock: systemClock,
      signals: {
        listen(signal, callback) {
          if (signal === "SIGTERM") stops.add(callback);
          listening.resolve();
          return () => stops.delete(callback);
        },
      },
      writeLog: write,
    });
    // A stop is heard from here on.
    await Promise.race([listening.promise, ended]);
    return new ServiceHere(lines, ended, stops);
  }

  /** The address to which a gRPC client connects. */
  get grpcTarget(): string {
    return this.#address("gRPC");
  }

  /** The base URL of the public HTTP listener, without a slash at its end. */
  get httpUrl(): string {
    return `http://${this.#address("HTTP")}`;
  }

  /** The base URL of the debug listener, without a slash at its end. */
  get debugUrl(): string {
    return `http://${this.#address("debug")}`;
  }

  /** All of the log so far. */
  get stderr(): string {
    return this.lines.join("\n");
  }

  /** Waits for a line of the log that contains `text`, and returns it. */
  async waitForLine(text: string): Promise<string> {
    const find = () => this.lines.find((line) => line.includes(text));
    await waitUntil(() => find() !== undefined, { what: `a line "${text}"` });
    return find() ?? "";
  }

  /** Stops the service as SIGTERM does; returns the exit code. */
  async stop(): Promise<number> {
    for (const stop of this.#stops) stop();
    return await this.ended;
  }

  /** Stops the service. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #address(listener: RatelimitListener): string {
    const address = listenerAddress(this.lines, listener);
    if (address !== undefined) return address;
    throw new Error(`Cannot use the service: ${this.stderr}`);
  }
}
