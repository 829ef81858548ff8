/**
 * Tries what `deploy/compose/tasks_on_postgresql.yaml` promises, with its
 * PostgreSQL servers, its settings and its Caddyfile: under load, instances are
 * started again one after the other, and one is killed. `deno task try:rolling`
 * runs it. Not part of `deno task test`, as it needs `caddy` and half a minute.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { print } from "../../scripts/terminal.ts";
import {
  COMPOSE_FILE,
  ComposeServers,
  environmentOf,
  GIVEN,
} from "../support/compose_servers.ts";
import { freePort } from "../support/redis_server.ts";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { PROJECT, readText, readTree, toTree } from "../forge/yaml_tree.ts";
import { DataFolder } from "./data_folder.ts";
import { type LeaseJson, type TaskJson, TasksClient } from "./tasks_client.ts";
import { createOwnerKey, SERVICE_HOST } from "./tenant_client.ts";

/** Time limit in milliseconds. */
const TIMEOUT_MS = 180_000;
const INSTANCES = ["tasks1", "tasks2", "tasks3"];
const PRODUCERS = 4;
const WORKERS = 6;
/** Milliseconds of load around each harm. */
const AROUND_MS = 1_500;

/** Requests of one phase. */
interface Phase {
  readonly name: string;
  answered: number;
  /** What failed, and how often. */
  readonly failed: Map<string, number>;
}

/** Callers of the service, and what they know of it. */
class Load {
  readonly phases: Phase[] = [];
  /** How often each acknowledged task was completed, by its id. */
  readonly completed = new Map<string, number>();
  /** How often each was taken. */
  readonly taken = new Map<string, number>();
  readonly #client: TasksClient;
  readonly #running: Promise<void>[] = [];
  #isProducing = true;
  #isWorking = true;
  #next = 0;

  constructor(client: TasksClient) {
    this.#client = client;
    this.enter("before");
    for (let i = 0; i < PRODUCERS; i++) this.#running.push(this.#produce());
    for (let i = 0; i < WORKERS; i++) this.#running.push(this.#work());
  }

  /** Counts from now on for a phase of its own. */
  enter(name: string): void {
    this.phases.push({ name, answered: 0, failed: new Map() });
  }

  /** Ends when every acknowledged task was completed. */
  async finish(): Promise<void> {
    this.#isProducing = false;
    for (const [id, times] of this.completed) {
      // Where no answer came, the task may be complete or not.
      if (times === 0) await this.#waitForEnd(id);
    }
    this.#isWorking = false;
    await Promise.all(this.#running);
  }

  async #waitForEnd(id: string): Promise<void> {
    await waitUntil(async () => {
      const { status } = await this.#client.expect<TaskJson>(200, [
        "GET",
        `/api/v1/tasks/${id}`,
      ]);
      return status === "complete";
    }, { what: `task ${id} to be complete` });
  }

  async #produce(): Promise<void> {
    while (this.#isProducing) {
      const n = this.#next++;
      const headers = { "idempotency-key": `n-${n}` };
      const body = { worker: "mailer", data: { n } };
      // A caller that gets no answer asks again, with the same key.
      for (;;) {
        const answer = await this.#call<{ readonly id: string }>(
          "/api/v1/tasks",
          { body, headers },
        );
        if (answer === undefined) continue;
        if (!this.completed.has(answer.id)) this.completed.set(answer.id, 0);
        break;
      }
    }
  }

  async #work(): Promise<void> {
    while (this.#isWorking) {
      const wait = this.#isProducing ? "PT20S" : "PT1S";
      const answer = await this.#call<{ readonly leases: LeaseJson[] }>(
        "/api/v1/workers/mailer/lease",
        { body: { wait, lease: "PT5S" } },
      );
      for (const { id, token, task } of answer?.leases ?? []) {
        this.taken.set(task.id, (this.taken.get(task.id) ?? 0) + 1);
        const done = await this.#call(
          `/api/v1/leases/${id}/complete`,
          { body: {}, token },
        );
        if (done === undefined) continue;
        this.completed.set(task.id, (this.completed.get(task.id) ?? 0) + 1);
      }
    }
  }

  /** Sends a POST; undefined when it failed. */
  async #call<Content>(
    path: string,
    options: Parameters<TasksClient["call"]>[2],
  ): Promise<Content | undefined> {
    const outcome = await this.#client
      .call<Content>("POST", path, { ...options, timeoutMs: 40_000 })
      .catch((error: Error) => error.message);
    const phase = this.phases.at(-1)!;
    if (typeof outcome !== "string" && outcome.status < 300) {
      phase.answered++;
      return outcome.json;
    }
    const why = `${path.replaceAll(/\/leases\/[^/]+/g, "/leases/…")}: ${
      typeof outcome === "string"
        ? outcome
        : `${outcome.status} ${JSON.stringify(outcome.json)}`
    }`;
    phase.failed.set(why, (phase.failed.get(why) ?? 0) + 1);
    return undefined;
  }
}

Deno.test({
  name: "three instances behind Caddy are started again, and one is killed",
  timeout: TIMEOUT_MS,
  fn: async () => {
    await using servers = await ComposeServers.make();
    await servers.start("postgres1");
    await servers.start("postgres2");
    await servers.healthy("postgres1");
    await servers.healthy("postgres2");
    await using folder = await DataFolder.make();
    const ports = INSTANCES.map(() => freePort());
    const services = toTree(
      (await readTree(COMPOSE_FILE)).services,
      "services",
    );
    const start = async (index: number): Promise<TasksProcess> => {
      const set = environmentOf(toTree(services[INSTANCES[index]!], ""), GIVEN);
      const instance = await startTasks({
        dataDir: folder.path,
        env: {
          ...set,
          DATABASE_URL: set.DATABASE_URL!.replace(
            "postgres1,postgres2",
            servers.hosts,
          ),
          DATA_DIR: folder.path,
          PORT: String(ports[index]),
          SERVICE_HOST,
          TRUSTED_PROXIES: "127.0.0.1",
        },
      });
      await isReady(ports[index]!);
      return instance;
    };
    const instances = await Promise.all(ports.map((_, index) => start(index)));
    const port = freePort();
    const caddy = await startCaddy(port, { ports, folder: folder.path });
    try {
      await isReady(port);
      using client = new TasksClient({
        target: () => ({ port }),
        host: `acme.${SERVICE_HOST}`,
        token: await createOwnerKey(instances[0]!, "acme"),
      });
      await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
      const load = new Load(client);
      await pause(AROUND_MS);
      for (const [index, name] of INSTANCES.entries()) {
        load.enter(`${name} is started again`);
        assertEquals(await instances[index]!.stop(), 0);
        instances[index] = await start(index);
        await pause(AROUND_MS);
      }
      load.enter("tasks2 is killed");
      await instances[1]!.kill();
      await pause(2 * AROUND_MS);
      instances[1] = await start(1);
      load.enter("after");
      await pause(AROUND_MS);
      await load.finish().finally(() => report(load));
      await verify(load, client);
    } finally {
      caddy.kill("SIGTERM");
      await caddy.status;
      await Promise.all(instances.map((instance) => instance.kill()));
    }
  },
});

/** Prints what was counted. */
function report({ phases, completed, taken }: Load): void {
  for (const { name, answered, failed } of phases) {
    const count = [...failed.values()].reduce((sum, one) => sum + one, 0);
    print(`${name}: ${answered} requests answered, ${count} failed`);
    for (const [why, times] of failed) print(`  ${times} × ${why}`);
  }
  const again = [...taken.values()].filter((times) => times > 1).length;
  print(`${completed.size} tasks acknowledged, ${again} taken again`);
}

/** Nothing fails by a restart, and nothing is lost or doubled by a crash. */
async function verify(load: Load, client: TasksClient): Promise<void> {
  for (const { name, failed } of load.phases) {
    if (name !== "tasks2 is killed") assertEquals([...failed], [], name);
  }
  const numbers = new Set<number>();
  let found = 0;
  let cursor: string | null = "";
  while (cursor !== null) {
    const page: {
      readonly data: readonly {
        readonly id: string;
        readonly status: string;
        readonly data: { readonly n: number };
      }[];
      readonly next: string | null;
    } = await client.expect(200, [
      "GET",
      `/api/v1/tasks?limit=100${
        cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`
      }`,
    ]);
    for (const { id, status, data } of page.data) {
      assertEquals(status, "complete", id);
      assert(load.completed.has(id), `nobody was told of ${id}`);
      assert(!numbers.has(data.n), `${data.n} was created twice`);
      numbers.add(data.n);
      found++;
    }
    cursor = page.next;
  }
  assertEquals(found, load.completed.size);
  // An answer that was lost leaves a task complete that nobody was told of.
  const doubled = [...load.completed].filter(([, times]) => times > 1);
  assertEquals(doubled, []);
}

async function isReady(port: number): Promise<void> {
  await waitUntil(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    await answer.body?.cancel();
    return answer.ok;
  }, { what: `port ${port} to be ready`, intervalMs: 50 });
}

/** Starts Caddy by the command of the file, before other ports. */
async function startCaddy(
  port: number,
  { ports, folder }: {
    readonly ports: readonly number[];
    readonly folder: string;
  },
): Promise<Deno.ChildProcess> {
  const text = (await readText("deploy/compose/Caddyfile"))
    .replace(
      /tasks1.* \{/,
      `${ports.map((one) => `127.0.0.1:${one}`).join(" ")} {`,
    )
    .replace(/\n:\d+ \{/, `\n:${port} {\n\tbind 127.0.0.1`);
  const path = `${folder}/Caddyfile`;
  await Deno.writeTextFile(path, text);
  return new Deno.Command("caddy", {
    args: ["run", "--config", path],
    cwd: PROJECT,
    env: { XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder },
    stdin: "null",
    stdout: "null",
    stderr: Deno.env.get("CADDY_LOG") === "1" ? "inherit" : "null",
  }).spawn();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
