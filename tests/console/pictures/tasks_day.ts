/**
 * A day in the life of a tenant: tasks that ran, failed and were tried again
 * over 24 hours, written to a data folder by a clock that a test moves.
 *
 * @module
 */

import { UNLIMITED_PLAN } from "../../../services/tasks/domain/records.ts";
import { allRoutes } from "../../../services/tasks/routes/all_routes.ts";
import { openOperations } from "../../../services/tasks/routes/tasks/bulk_routes.ts";
import {
  openTestApi,
  type TestApi,
} from "../../../services/tasks/routes/testing/test_api.ts";
import { SqliteStore } from "../../../services/tasks/store/sqlite/sqlite_store.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordingLogger } from "../../support/recording_logger.ts";
import { SeededRandom } from "../../support/seeded_random.ts";

/** What a day has left. */
export interface TasksDay {
  /** The key of the owner of the tenant `acme`. */
  readonly key: string;
  /** A schedule whose last runs failed. */
  readonly schedule: string;
  /** A task that has failed for good, after retries. */
  readonly failed: string;
}

const STEP_MS = 5 * 60_000;
const STEPS = 24 * 12;

/** A job, and how it does. */
interface Job {
  readonly worker: string;
  readonly job: string;
  /** Tasks of five minutes at the busiest time. */
  readonly most: number;
  /** Milliseconds of an attempt: at least, and at most beside these. */
  readonly tookMs: readonly [number, number];
  /** How many of the attempts fail. */
  readonly failing: number;
  readonly error: readonly [string, string];
}

const JOBS: readonly Job[] = [
  {
    ...{ worker: "mailer", job: "welcome", most: 3, tookMs: [180, 700] },
    ...{ failing: .03, error: ["smtp_refused", "Connection refused"] },
  },
  {
    ...{ worker: "mailer", job: "receipt", most: 5, tookMs: [150, 500] },
    ...{ failing: .02, error: ["smtp_timeout", "No answer within 10 s"] },
  },
  {
    ...{ worker: "images", job: "resize", most: 6, tookMs: [900, 3_500] },
    ...{ failing: .05, error: ["bad_image", "Unsupported colour space"] },
  },
];

interface Lease {
  readonly id: string;
  readonly token: string;
  readonly task: { readonly job: string };
}

/** Writes the last 24 hours into a data folder of the tasks service. */
export async function liveTasksDay(dataFolder: string): Promise<TasksDay> {
  const clock = new FakeClock(Date.now() - STEPS * STEP_MS);
  const store = new SqliteStore({
    ...{ dataFolder, clock, durability: "relaxed" },
    logger: new RecordingLogger(),
  });
  const api = await openTestApi({
    ...{ clock, store },
    plans: [UNLIMITED_PLAN],
    routes: (parts, console) =>
      allRoutes(parts, { operations: openOperations(parts.engine), console }),
  });
  await api.engine.start();
  const day = new Day(api);
  const left = await day.begin();
  for (let step = 0; step < STEPS; step++) await day.step(step);
  const failed = await day.end();
  await api.close();
  await store.stop();
  return { key: api.ownerKey, ...left, failed };
}

class Day {
  readonly #api: TestApi;
  readonly #random = new SeededRandom(39);
  #orders = 48_200;

  constructor(api: TestApi) {
    this.#api = api;
  }

  /** Adds workers and schedules. */
  async begin(): Promise<Pick<TasksDay, "schedule">> {
    for (const name of ["mailer", "images", "reports"]) {
      await this.#post("/v1/workers", { name });
    }
    await this.#post("/v1/workers", {
      name: "invoices",
      url: "https://billing.example.com/tasks",
    });
    await this.#add({
      ...{ worker: "mailer", job: "digest", key: "weekly-digest" },
      repeat: { cron: "0 8 * * 1" },
      timezone: "Europe/Berlin",
    });
    await this.#add({
      ...{ worker: "images", job: "clean", key: "clean-cache" },
      repeat: { interval: "PT6H" },
      delay: "PT2H",
    });
    return {
      schedule: await this.#add({
        ...{ worker: "reports", job: "sales", key: "hourly-sales" },
        repeat: { cron: "0 * * * *" },
        timezone: "Europe/Berlin",
        data: { format: "csv", to: "sales@example.com" },
        tags: ["finance"],
        metadata: { team: "growth" },
        retry: { limit: 2, interval: "PT30S" },
      }),
    };
  }

  /** Lives five minutes: tasks come, and workers take what is due. */
  async step(step: number): Promise<void> {
    const endMs = this.#api.clock.nowMs() + STEP_MS;
    const now = new Date(this.#api.clock.nowMs());
    const hour = now.getUTCHours();
    // Nights are quiet, and an hour in the afternoon is not.
    const load = .15 + .85 * Math.max(0, Math.sin((hour - 5) / 16 * Math.PI));
    for (const { worker, job, most } of JOBS) {
      const count = Math.round(most * load * (.5 + this.#random.next()));
      const tasks = Array.from({ length: count }, () => ({
        ...{ worker, job, data: this.#data(job) },
        retry: { limit: 2, interval: "PT2M", backoff: "exponential" },
        tags: [this.#random.pick(["web", "shop", "app"])],
      }));
      if (count > 0) await this.#post("/v1/tasks/batch", { tasks }, 200);
    }
    const hasTrouble = step >= STEPS - 30;
    await this.#work(
      "reports",
      (_) =>
        hasTrouble
          ? ["upstream_401", "GET /orders answered 401: the token has expired"]
          : undefined,
    );
    for (const worker of ["mailer", "images"]) {
      await this.#work(worker, (job) => {
        const found = JOBS.find((one) => one.job === job);
        // A mail server is away for half an hour each day.
        const share = job === "receipt" && hour === 13 && now.getMinutes() < 30
          ? .8
          : found?.failing ?? 0;
        return this.#random.chance(share) ? found?.error : undefined;
      });
    }
    await this.#pass(Math.max(0, endMs - this.#api.clock.nowMs()));
  }

  /** Leaves some work for later, and gives a task that failed for good. */
  async end(): Promise<string> {
    for (let count = 0; count < 4; count++) {
      await this.#add({
        ...{ worker: "mailer", job: "welcome", data: this.#data("welcome") },
        delay: `PT${20 + this.#random.below(400)}M`,
      });
    }
    const { json } = await this.#api.call(
      "GET",
      "/v1/tasks?status=failed&worker=mailer&limit=1",
    );
    return (json as { data: { id: string }[] }).data[0]?.id ?? "";
  }

  /** A worker takes all that is due. */
  async #work(
    worker: string,
    failure: (job: string) => readonly [string, string] | undefined,
  ): Promise<void> {
    await this.#pass(40 + this.#random.below(400));
    const { leases } = await this.#post(`/v1/workers/${worker}/lease`, {
      ...{ max: 50, lease: "PT10M" },
      instance: `${worker}-${1 + this.#random.below(2)}`,
    }, 200) as { readonly leases: readonly Lease[] };
    for (const { id, token, task: { job } } of leases) {
      const [leastMs, moreMs] = JOBS.find((one) => one.job === job)?.tookMs ??
        [800, 400];
      await this.#pass(leastMs + this.#random.below(moreMs));
      const broken = failure(job);
      const [verb, body] = broken === undefined
        ? ["complete", { result: { ok: true } }] as const
        : ["fail", { error: errorOf(worker, broken) }] as const;
      const { status, text } = await this.#api.call(
        "POST",
        `/v1/leases/${id}/${verb}`,
        { body, key: token },
      );
      if (status !== 200) throw new Error(text);
    }
  }

  #data(job: string): unknown {
    const order = this.#orders++;
    switch (job) {
      case "resize":
        return { image: `products/${order}.jpg`, widths: [320, 640, 1_280] };
      case "receipt":
        return { order, to: `customer${order % 97}@example.com` };
      default:
        return { to: `reader${order % 89}@example.com`, language: "en" };
    }
  }

  async #add(body: Readonly<Record<string, unknown>>): Promise<string> {
    return String((await this.#post("/v1/tasks", body)).id);
  }

  async #post(
    path: string,
    body: unknown,
    expected = 201,
  ): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.#api.call("POST", path, { body });
    if (answer.status !== expected) {
      throw new Error(`Cannot fill ${path}: ${answer.status} ${answer.text}`);
    }
    return answer.json as Readonly<Record<string, unknown>>;
  }

  /** Time passes; what the engine has set timers for happens at the end. */
  async #pass(ms: number): Promise<void> {
    this.#api.clock.block(ms);
    await this.#api.clock.advanceAsync(0);
  }
}

function errorOf(
  worker: string,
  [code, message]: readonly [string, string],
): unknown {
  return {
    code,
    message,
    detail: {
      stack: [
        `Error: ${message}`,
        `    at send (/app/${worker}/client.ts:41:11)`,
        `    at run (/app/${worker}/${code}.ts:18:5)`,
      ].join("\n"),
    },
  };
}
