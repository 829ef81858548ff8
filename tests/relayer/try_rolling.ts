/**
 * Tries what `deploy/compose/relayer_on_postgresql.yaml` promises, with its
 * PostgreSQL servers, its settings and its Caddyfile: under load, relayers are
 * started again one after the other, and one is killed. `deno task try:rolling`
 * runs it. Not part of `deno task test`, as it needs `caddy` and a minute.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { print } from "../../scripts/terminal.ts";
import { Phases, RollingCluster } from "../support/rolling_restart.ts";
import {
  createAccount,
  type RelayerAccount,
  runRelayer,
  startRelayer,
} from "../support/relayer_process.ts";
import { SeededRandom } from "../support/seeded_random.ts";
import { readIds } from "./chaos/chaos_load.ts";
import { ChaosTexts } from "./chaos/chaos_texts.ts";
import { KnownMemories, type KnownMemory } from "./chaos/known_memories.ts";
import {
  verifyJobs,
  verifyListing,
  verifyRecall,
} from "./chaos/verify_memories.ts";
import { getMember, readList, WireClient } from "./wire_client.ts";

/** Time limit in milliseconds. */
const TIMEOUT_MS = 300_000;
const ACCOUNTS = 4;
/** Recalls of an account that are on their way. */
const RECALLERS = 2;
/** Memories of an account that each relayer has to recall at the end. */
const VERIFIED = 100;

/** Callers for one account, and what they know of it. */
class Load {
  readonly known = new KnownMemories();
  readonly #random: SeededRandom;
  readonly #texts: ChaosTexts;
  readonly #client: WireClient;
  readonly #phases: Phases;
  readonly #stored: KnownMemory[] = [];
  readonly #running: Promise<void>[];
  #isOpen = true;

  constructor(
    seed: number,
    { client, phases }: {
      readonly client: WireClient;
      readonly phases: Phases;
    },
  ) {
    this.#random = new SeededRandom(seed);
    this.#texts = new ChaosTexts(this.#random, this.known);
    this.#client = client;
    this.#phases = phases;
    this.#running = [
      this.#remember(),
      ...Array.from({ length: RECALLERS }, () => this.#recall()),
    ];
  }

  /** Ends when every caller has its answer. */
  async finish(): Promise<void> {
    this.#isOpen = false;
    await Promise.all(this.#running);
  }

  /** Remembers texts, and waits for each until it is stored. */
  async #remember(): Promise<void> {
    while (this.#isOpen) {
      const request = this.#texts.request(1);
      const body = { ...request.texts[0], idempotency_key: request.key };
      // A caller that gets no answer asks again, signed anew, with the same key.
      const accepted = await this.#again(["POST", "/api/remember", body]);
      const [id = ""] = readIds(accepted);
      this.known.accept(request, [id]);
      let status: unknown;
      while (status !== "done" && status !== "failed") {
        const target = `/api/remember/${id}?wait=20`;
        status = getMember(await this.#again(["GET", target]), "status");
      }
      const memory = this.known.memories.get(id);
      if (memory !== undefined) this.#stored.push(memory);
    }
  }

  /** Recalls what is stored; it has to be found. */
  async #recall(): Promise<void> {
    while (this.#isOpen) {
      if (this.#stored.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        continue;
      }
      const { id, text, namespace } = this.#random.pick(this.#stored);
      const found = await this.#again(["POST", "/api/recall", {
        ...{ query: text, namespace, limit: 5 },
      }]);
      const ids = readList(found, "results").map((one) => getMember(one, "id"));
      if (!ids.includes(id)) this.known.fault(`recall did not find ${id}`);
    }
  }

  /** Sends a request until it is answered well; counts each time. */
  async #again(
    [method, target, body]: readonly [string, string, unknown?],
  ): Promise<unknown> {
    for (;;) {
      const outcome = await this.#client.call(method, target, body)
        .catch((error: Error) => error.message);
      if (typeof outcome !== "string" && outcome.status < 300) {
        this.#phases.count();
        return outcome.json;
      }
      const why = typeof outcome === "string"
        ? outcome
        : `${outcome.status} ${outcome.text}`;
      const path = target.replace(/\/remember\/.*/, "/remember/…");
      this.#phases.count(`${method} ${path}: ${why.slice(0, 200)}`);
    }
  }
}

Deno.test({
  name: "three relayers behind Caddy are started again, and one is killed",
  timeout: TIMEOUT_MS,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "relayers_" });
    const phases = new Phases();
    phases.enter("before");
    try {
      await using cluster = await RollingCluster.start({
        service: "relayer",
        caddyfile: "relayer.Caddyfile",
        start: (env, index) => {
          const dataDir = `${folder}/${index}`;
          return startRelayer({ dataDir, env: { ...env, DATA_DIR: dataDir } });
        },
      });
      const accounts: RelayerAccount[] = [];
      while (accounts.length < ACCOUNTS) {
        const place = { dataDir: `${folder}/0`, env: cluster.settings(0) };
        accounts.push(await createAccount(place, runRelayer));
      }
      const at = (port: number, account: RelayerAccount) =>
        new WireClient(() => `http://127.0.0.1:${port}`, account);
      const loads = accounts.map((account, seed) =>
        new Load(seed, { client: at(cluster.port, account), phases })
      );
      await cluster.harm(phases);
      await Promise.all(loads.map((load) => load.finish()));
      phases.report();
      let memories = 0;
      for (const [index, { known }] of loads.entries()) {
        const account = accounts[index]!;
        const { owner } = account;
        const all = [...known.memories.values()];
        memories += all.length;
        for (const port of cluster.ports) {
          const context = { client: at(port, account), owner, known };
          await verifyJobs(context, all);
          await verifyListing(context);
          await verifyRecall(context, all.slice(-VERIFIED));
        }
      }
      print(`${memories} memories acknowledged`);
      assertEquals(loads.flatMap(({ known }) => known.faults), []);
      assertEquals(phases.faults(), []);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
