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
import { Phases, RollingCluster } from "../support/rolling_restart.ts";
import { startTasks } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { type LeaseJson, type TaskJson, TasksClient } from "./tasks_client.ts";
import { createOwnerKey, SERVICE_HOST } from "./tenant_client.ts";

/** Time limit in milliseconds. */
const TIMEOUT_MS = 180_000;
const PRODUCERS = 4;
const WORKERS = 6;

/** Callers of the service, and what they know of it. */
class Load {
  readonly phases = new Phases();
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
    this.phases.enter("before");
    for (let i = 0; i < PRODUCERS; i++) this.#running.push(this.#produce());
    for (let i = 0; i < WORKERS; i++) this.#running.push(this.#work());
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
    if (typeof outcome !== "string" && outcome.status < 300) {
      this.phases.count();
      return outcome.json;
    }
    const why = typeof outcome === "string"
      ? outcome
      : `${outcome.status} ${JSON.stringify(outcome.json)}`;
    const to = path.replaceAll(/\/leases\/[^/]+/g, "/leases/…");
    this.phases.count(`${to}: ${why}`);
    return undefined;
  }
}

Deno.test({
  name: "three instances behind Caddy are started again, and one is killed",
  timeout: TIMEOUT_MS,
  fn: async () => {
    await using folder = await DataFolder.make();
    await using cluster = await RollingCluster.start({
      service: "tasks",
      caddyfile: "Caddyfile",
      start: (env) => startTasks({ dataDir: folder.path, env }),
      env: { DATA_DIR: folder.path, SERVICE_HOST },
    });
    const { port } = cluster;
    using client = new TasksClient({
      target: () => ({ port }),
      host: `acme.${SERVICE_HOST}`,
      token: await createOwnerKey(cluster.instances[0]!, "acme"),
    });
    await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
    const load = new Load(client);
    await cluster.harm(load.phases);
    await load.finish().finally(() => report(load));
    await verify(load, client);
  },
});

/** Prints what was counted. */
function report({ phases, completed, taken }: Load): void {
  phases.report();
  const again = [...taken.values()].filter((times) => times > 1).length;
  print(`${completed.size} tasks acknowledged, ${again} taken again`);
}

/** Nothing fails by a restart, and nothing is lost or doubled by a crash. */
async function verify(load: Load, client: TasksClient): Promise<void> {
  assertEquals(load.phases.faults(), []);
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
