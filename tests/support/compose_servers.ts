/**
 * Starts the PostgreSQL servers of a file in `deploy/compose` as processes: with
 * the script, the arguments and the environment of the file. Only addresses and folders differ, which containers would keep apart.
 *
 * @module
 */

import { ServerFolder } from "../../scripts/server_folder.ts";
import { systemClock } from "../../services/shared/clock.ts";
import {
  openSession,
  type Row,
} from "../../services/shared/postgres/session.ts";
import {
  PROJECT,
  readTree,
  toTexts,
  toTree,
  type Tree,
} from "../forge/yaml_tree.ts";
import { ProcessOutput } from "./process_output.ts";
import { freePort } from "./redis_server.ts";
import { waitUntil } from "./wait_until.ts";

/** The files of services on PostgreSQL, within the project. */
export const COMPOSE_FILES = {
  tasks: "deploy/compose/tasks_on_postgresql.yaml",
  relayer: "deploy/compose/relayer_on_postgresql.yaml",
} as const;

/** A service that several instances can run of. */
export type ClusterService = keyof typeof COMPOSE_FILES;

/** A server of the file. */
export type ServerName = "postgres1" | "postgres2";

/** The variables that a user has to set. */
export const GIVEN: Readonly<Record<string, string>> = {
  TASKS_PASSWORD: 'it\'s a "secret"',
  RELAYER_PASSWORD: 'it\'s a "secret"',
  REPLICATION_PASSWORD: "re'pl",
  MASTER_KEYS: btoa("0123456789abcdef0123456789abcdef"),
  ACCOUNTS_TOKEN: "a-token-of-24-characters",
};

/** Addresses of loopback, so that both servers have one port. */
const ADDRESSES = { postgres1: "127.0.0.2", postgres2: "127.0.0.3" } as const;
const START_MS = 60_000;

/** A process of a server. */
interface Running {
  readonly child: Deno.ChildProcess;
  readonly output: ProcessOutput;
  readonly ended: Promise<number>;
}

/**
 * Returns the environment of a service in the file, for a user who has set some
 * variables.
 *
 * @throws {Error} When one that the file demands is not set.
 */
export function environmentOf(
  service: Tree,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const set = Object.entries(toTree(service.environment, "environment"));
  return Object.fromEntries(set.map(([name, value]) => {
    const text = String(value).replaceAll(
      /\$\{(\w+):([-?])([^}]*)\}/g,
      (_, variable: string, kind: string, rest: string) => {
        const found = given[variable] ?? (kind === "-" ? rest : undefined);
        if (found === undefined) throw new Error(`${variable} is not set`);
        return found;
      },
    );
    return [name, text];
  }));
}

/** Both servers, each with a folder in place of its volume. */
export class ComposeServers implements AsyncDisposable {
  /** The port of both. */
  readonly port: number = freePort();
  /** The services of the file. */
  readonly services: Tree;
  readonly #folder: ServerFolder;
  readonly #running = new Map<ServerName, Running>();

  private constructor(services: Tree, folder: ServerFolder) {
    this.services = services;
    this.#folder = folder;
  }

  /** Reads the file of a service; nothing runs yet. */
  static async make(service: ClusterService): Promise<ComposeServers> {
    const file = COMPOSE_FILES[service];
    const { services } = await readTree(file);
    const folder = await ServerFolder.make("compose_servers_");
    return new ComposeServers(toTree(services, file), folder);
  }

  /** Both servers in a URL. */
  get hosts(): string {
    return Object.values(ADDRESSES)
      .map((address) => `${address}:${this.port}`).join(",");
  }

  /** Starts a server, with a primary named in `POSTGRES_PRIMARY`. */
  async start(name: ServerName, primary?: ServerName): Promise<void> {
    const service = this.#service(name);
    const [shell = "", script = ""] = toTexts(service.entrypoint, name);
    const folder = `${this.#folder.path}/${name}`;
    await this.#folder.run(shell, ["-c", `mkdir -p ${folder}`]);
    const other = name === "postgres1" ? "postgres2" : "postgres1";
    const env = this.#environment(name, primary);
    const mounted = toTexts(service.volumes, name)
      .map((text) => text.split(":"))
      .find(([, to]) => to === script);
    // The folder of the project may be closed to the user of the servers.
    const copy = await this.#folder.write(
      "script",
      await Deno.readTextFile(`${PROJECT}deploy/compose/${mounted?.[0]}`),
    );
    const [program, ...args] = this.#folder.commandLine(shell, [
      copy,
      ...toTexts(service.command, name),
      ...["-c", `listen_addresses=${ADDRESSES[name]}`],
      ...["-c", `unix_socket_directories=${folder}`],
      ...["-c", "fsync=off", "-c", "wal_retrieve_retry_interval=100ms"],
    ]);
    const child = new Deno.Command(program!, {
      args,
      cwd: folder,
      clearEnv: true,
      env: {
        ...env,
        OTHER: ADDRESSES[other],
        // A name of the file leads to an address of loopback.
        ...(env.PRIMARY === name ? {} : { PGHOSTADDR: ADDRESSES[other] }),
      },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const output = new ProcessOutput(child.stderr);
    const ended = child.status.then(async ({ code }) => {
      await output.ended;
      return code;
    });
    this.#running.set(name, { child, output, ended });
  }

  /** Waits until the health check of a server passes. */
  async healthy(name: ServerName): Promise<void> {
    const { test } = toTree(this.#service(name).healthcheck, name);
    const [, ...command] = toTexts(test, name);
    let hasEnded = false;
    const running = this.#running.get(name);
    void running?.ended.then(() => hasEnded = true);
    await waitUntil(async () => hasEnded || await this.exec(name, command), {
      what: `${name} to be healthy`,
      intervalMs: 100,
    });
    if (hasEnded) {
      throw new Error(`Cannot start ${name}: ${running?.output.text}`);
    }
  }

  /**
   * Runs a command as `docker compose exec` does; returns whether it succeeds.
   */
  async exec(name: ServerName, command: readonly string[]): Promise<boolean> {
    const [program, ...args] = this.#folder.commandLine("bash", [
      ...["-c", '"$@"', "bash", ...command],
    ]);
    const { success } = await new Deno.Command(program!, {
      args,
      cwd: this.#folder.path,
      clearEnv: true,
      env: this.#environment(name),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  }

  /** Waits for the end of a server; returns its code and what it has said. */
  async end(
    name: ServerName,
    signal?: Deno.Signal,
  ): Promise<{ readonly code: number; readonly said: string }> {
    const running = this.#running.get(name);
    if (running === undefined) throw new Error(`Cannot end ${name}: not there`);
    if (signal !== undefined) running.child.kill(signal);
    const code = await running.ended;
    this.#running.delete(name);
    return { code, said: running.output.text };
  }

  /** Removes the volume of a server. */
  async removeVolume(name: ServerName): Promise<void> {
    await Deno.remove(`${this.#folder.path}/${name}`, { recursive: true });
  }

  /** Runs a statement as the role of the instances. */
  async sql<R extends object = Row>(
    name: ServerName,
    text: string,
  ): Promise<readonly R[]> {
    const host = { host: ADDRESSES[name], port: this.port };
    const { ROLE: role = "", ROLE_PASSWORD: password = "" } = this.#environment(
      name,
    );
    const { session } = await openSession(host, {
      connection: {
        hosts: [host],
        ...{ database: role, user: role, password },
        applicationName: "test",
      },
      prepare: true,
      connectTimeoutMs: START_MS,
      queryTimeoutMs: START_MS,
      clock: systemClock,
    });
    try {
      return [...await session.query<R>(text)];
    } finally {
      await session.close();
    }
  }

  /** Ends all servers and removes their folders. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [...this.#running.keys()]) {
      await this.end(name, "SIGQUIT");
    }
    await this.#folder.remove();
  }

  #service(name: ServerName): Tree {
    return toTree(this.services[name], name);
  }

  #environment(
    name: ServerName,
    primary?: ServerName,
  ): Readonly<Record<string, string>> {
    const folder = `${this.#folder.path}/${name}`;
    return {
      PATH: Deno.env.get("PATH") ?? "",
      ...environmentOf(this.#service(name), {
        ...GIVEN,
        ...(primary === undefined ? {} : { POSTGRES_PRIMARY: primary }),
      }),
      PGDATA: folder,
      PGHOST: folder,
      PGPORT: String(this.port),
    };
  }
}
