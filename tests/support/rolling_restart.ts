/**
 * Instances of a service behind the Caddy of a compose file, as processes that
 * are started again under load; what the callers see is counted.
 *
 * @module
 */

import { print } from "../../scripts/terminal.ts";
import { PROJECT, readText, toTree } from "../forge/yaml_tree.ts";
import {
  type ClusterService,
  ComposeServers,
  environmentOf,
  GIVEN,
} from "./compose_servers.ts";
import type { DataServiceProcess } from "./data_service_process.ts";
import { freePort } from "./redis_server.ts";
import { waitUntil } from "./wait_until.ts";

/** Milliseconds of load around each harm. */
const AROUND_MS = 1_500;

/** Requests of one phase. */
interface Phase {
  readonly name: string;
  answered: number;
  /** What failed, and how often. */
  readonly failed: Map<string, number>;
}

/** Counts requests by what was done to the instances meanwhile. */
export class Phases {
  readonly #all: Phase[] = [];

  /** Counts from now on for a phase of its own. */
  enter(name: string): void {
    this.#all.push({ name, answered: 0, failed: new Map() });
  }

  /** Counts a request; `why` says why it failed. */
  count(why?: string): void {
    const phase = this.#all.at(-1)!;
    if (why === undefined) phase.answered++;
    else phase.failed.set(why, (phase.failed.get(why) ?? 0) + 1);
  }

  /** Prints what was counted. */
  report(): void {
    for (const { name, answered, failed } of this.#all) {
      const count = [...failed.values()].reduce((sum, one) => sum + one, 0);
      print(`${name}: ${answered} requests answered, ${count} failed`);
      for (const [why, times] of failed) print(`  ${times} × ${why}`);
    }
  }

  /** What failed in the phases in which nothing may. */
  faults(): readonly string[] {
    return this.#all.filter(({ name }) => !name.endsWith("is killed"))
      .flatMap(({ name, failed }) =>
        [...failed.keys()].map((why) => `${name}: ${why}`)
      );
  }
}

/** Options of {@linkcode RollingCluster.start}. */
interface RollingOptions {
  /** The service. */
  readonly service: ClusterService;
  /** The name of the Caddyfile in the folder of the compose file. */
  readonly caddyfile: string;
  /** Starts an instance with settings. */
  readonly start: (
    env: Readonly<Record<string, string>>,
    index: number,
  ) => Promise<DataServiceProcess>;
  /** Settings that differ from those of the file. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The servers, the instances and Caddy. */
export class RollingCluster implements AsyncDisposable {
  /** The names of the instances in the file. */
  readonly names: readonly string[];
  /** The port of Caddy. */
  readonly port: number = freePort();
  /** The instances as they are now. */
  readonly instances: DataServiceProcess[] = [];
  /** The ports of the instances. */
  readonly ports: readonly number[];
  readonly #servers: ComposeServers;
  readonly #options: RollingOptions;
  readonly #folder: string;
  #caddy: Deno.ChildProcess | undefined;

  private constructor(
    servers: ComposeServers,
    options: RollingOptions,
    folder: string,
  ) {
    this.names = [1, 2, 3].map((number) => `${options.service}${number}`);
    this.ports = this.names.map(() => freePort());
    this.#servers = servers;
    this.#options = options;
    this.#folder = folder;
  }

  /** Starts all of it. */
  static async start(options: RollingOptions): Promise<RollingCluster> {
    const servers = await ComposeServers.make(options.service);
    const folder = await Deno.makeTempDir({ prefix: "rolling_" });
    const cluster = new RollingCluster(servers, options, folder);
    try {
      for (const name of ["postgres1", "postgres2"] as const) {
        await servers.start(name);
      }
      for (const name of ["postgres1", "postgres2"] as const) {
        await servers.healthy(name);
      }
      // One after the other, as the first makes the tables.
      for (const index of cluster.names.keys()) {
        await cluster.#startInstance(index);
      }
      cluster.#caddy = await cluster.#startCaddy();
      await isReady(cluster.port);
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The settings of an instance. */
  settings(index: number): Readonly<Record<string, string>> {
    const service = toTree(this.#servers.services[this.names[index]!], "");
    const set = environmentOf(service, GIVEN);
    return {
      ...set,
      DATABASE_URL: set.DATABASE_URL!.replace(
        "postgres1,postgres2",
        this.#servers.hosts,
      ),
      PORT: String(this.ports[index]),
      TRUSTED_PROXIES: "127.0.0.1",
      ...this.#options.env,
    };
  }

  /**
   * Lets the load run, starts each instance again, kills the second one, and
   * lets the load run again.
   *
   * @throws {Error} when an instance does not end well
   */
  async harm(phases: Phases): Promise<void> {
    await pause(AROUND_MS);
    for (const [index, name] of this.names.entries()) {
      phases.enter(`${name} is started again`);
      const code = await this.instances[index]!.stop();
      if (code !== 0) throw new Error(`${name} ended with ${code}`);
      await this.#startInstance(index);
      await pause(AROUND_MS);
    }
    phases.enter(`${this.names[1]} is killed`);
    await this.instances[1]!.kill();
    await pause(2 * AROUND_MS);
    await this.#startInstance(1);
    phases.enter("after");
    await pause(AROUND_MS);
  }

  /** Ends everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#caddy?.kill("SIGTERM");
    await this.#caddy?.status;
    await Promise.all(this.instances.map((instance) => instance.kill()));
    await this.#servers[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #startInstance(index: number): Promise<void> {
    const { start } = this.#options;
    this.instances[index] = await start(this.settings(index), index);
    await isReady(this.ports[index]!);
  }

  /** Starts Caddy with the file, before other ports. */
  async #startCaddy(): Promise<Deno.ChildProcess> {
    const text = (await readText(`deploy/compose/${this.#options.caddyfile}`))
      .replace(
        /(reverse_proxy ).* \{/,
        `$1${this.ports.map((one) => `127.0.0.1:${one}`).join(" ")} {`,
      )
      .replace(/\n:\d+ \{/, `\n:${this.port} {\n\tbind 127.0.0.1`);
    const path = `${this.#folder}/Caddyfile`;
    await Deno.writeTextFile(path, text);
    return new Deno.Command("caddy", {
      args: ["run", "--config", path],
      cwd: PROJECT,
      env: { XDG_CONFIG_HOME: this.#folder, XDG_DATA_HOME: this.#folder },
      stdin: "null",
      stdout: "null",
      stderr: Deno.env.get("CADDY_LOG") === "1" ? "inherit" : "null",
    }).spawn();
  }
}

async function isReady(port: number): Promise<void> {
  await waitUntil(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    await answer.body?.cancel();
    return answer.ok;
  }, { what: `port ${port} to be ready`, intervalMs: 50 });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
