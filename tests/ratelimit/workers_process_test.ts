import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { loadSchema } from "../../proto/testing/schema.ts";
import { runRatelimit, startRatelimit } from "../support/ratelimit_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { type CallOutcome, CODES, GrpcCaller, STATUS } from "./grpc_caller.ts";
import { postJson, readStat, readStats } from "./http_caller.ts";
import { createRequest, dailyRule } from "./requests.ts";
import { limitInForce } from "./rules_in_force.ts";

const LIMIT = 300;
const CALLERS = 24;
const CALLS_EACH = 25;
const KEYS = ["fixed", "sliding", "bucket"];

const RULES = `domain: a
descriptors:
  - key: fixed
    rate_limit: {unit: day, requests_per_unit: ${LIMIT}}
  - key: sliding
    rate_limit: {unit: day, requests_per_unit: ${LIMIT}, algorithm: sliding_window}
  - key: bucket
    rate_limit: {unit: year, requests_per_unit: ${LIMIT}, algorithm: token_bucket}
`;

Deno.test("ratelimit with several threads counts exactly, sums statistics, reloads on all of them and stops cleanly", async (t) => {
  await using folder = await ConfigFolder.make({ "a.yaml": RULES });
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      RUNTIME_WATCH_ROOT: "false",
      WORKERS: "3",
    },
  });
  const types = await loadSchema();

  for (const key of KEYS) {
    await t.step(`a limit by ${key} is one for all threads`, async () => {
      const outcomes = (await Promise.all(
        // Each caller has a connection of its own, so that every thread gets
        // some.
        Array.from({ length: CALLERS }, async () => {
          await using caller = new GrpcCaller(service.grpcTarget, types);
          const outcomes: CallOutcome[] = [];
          for (let call = 0; call < CALLS_EACH; call++) {
            outcomes.push(
              await caller.decide(createRequest("a", { [key]: "x" })),
            );
          }
          return outcomes;
        }),
      )).flat();
      const failed = outcomes.filter(({ status }) => status !== STATUS.OK);
      assertEquals(failed, []);
      const countDecisions = (decision: number) =>
        outcomes.filter(({ overallCode }) => overallCode === decision).length;
      assertEquals(countDecisions(CODES.OK), LIMIT);
      assertEquals(
        countDecisions(CODES.OVER_LIMIT),
        CALLERS * CALLS_EACH - LIMIT,
      );
    });
  }

  await t.step("statistics are those of all threads", async () => {
    const calls = "ratelimit_server.ShouldRateLimit.total_requests";
    const total = KEYS.length * CALLERS * CALLS_EACH;
    await waitUntil(
      async () => await readStat(service.debugUrl, calls) === total,
      { what: `${total} calls in the statistics` },
    );
    assertEquals(
      await readStat(
        service.debugUrl,
        "ratelimit.service.rate_limit.a.fixed.total_hits",
      ),
      CALLERS * CALLS_EACH,
    );
    // With 24 connections for each key, every thread gets some.
    const threads = await readStats(service.debugUrl, "ratelimit.threads.");
    for (const thread of [1, 2]) {
      assert(threads.get(`ratelimit.threads.${thread}.calls`)! > 0);
    }
    assertEquals(threads.get("ratelimit.threads.restarts"), 0);
  });

  await t.step("new rules reach all threads", async () => {
    await Deno.writeTextFile(
      `${folder.root}/config/a.yaml`,
      dailyRule("a", { key: "fixed", limit: 7 }),
    );
    const place = { domain: "a", key: "fixed" };
    let inARow = 0;
    await waitUntil(
      async () => {
        // Each request has a connection of its own, so any thread may answer
        // it.
        const limit = await limitInForce(service.httpUrl, place);
        inARow = limit === 7 ? inARow + 1 : 0;
        return inARow === 20;
      },
      { what: "the new limit in 20 answers in a row", intervalMs: 20 },
    );
  });

  await t.step("it answers over HTTP, and stops with code 0", async () => {
    const { status } = await postJson(
      service.httpUrl,
      createRequest("a", { fixed: "y" }),
    );
    assertEquals(status, 200);
    assertEquals(await service.stop(), 0);
  });
});

Deno.test("ratelimit refuses several threads on a unix socket at its start", async () => {
  const { code, stderr } = await runRatelimit({
    env: { WORKERS: "2", GRPC_UDS: "/tmp/never.sock" },
  });
  assertEquals(code, 1);
  assertStringIncludes(stderr, "Cannot serve with WORKERS=2: one thread alone");
});
