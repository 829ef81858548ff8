import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { grpcCaller } from "./grpc_caller.ts";
import { awayFromBorder, createRequest, dailyRule } from "./requests.ts";
import { serveHere } from "./service_here.ts";

const rule = (limit: number) => dailyRule("shop", { key: "user", limit });

async function fetchReport(debugUrl: string) {
  const answer = await fetch(`${debugUrl}/debug/candidate?format=json`);
  return await answer.json();
}

async function waitForCandidate(debugUrl: string): Promise<void> {
  await waitUntil(
    async () => (await fetchReport(debugUrl)).candidate !== null,
    { what: "the candidate's rules" },
  );
}

Deno.test("ratelimit compares a candidate's rules with those in force, follows its files, and decides by neither its rules nor its faults", async () => {
  await awayFromBorder(86_400, 60_000);
  await using folder = await ConfigFolder.make({ "rules.yaml": rule(3) });
  const candidate = await folder.makeRoot("candidate", { "c.yaml": rule(1) });
  const file = `${candidate}/config/c.yaml`;
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      CANDIDATE_CONFIG_DIR: `${candidate}/config`,
    },
  });
  await using caller = await grpcCaller(service.grpcTarget);
  const ask = async (user: string) =>
    (await caller.decide(createRequest("shop", { user }))).overallCode;
  const { debugUrl } = service;
  await waitForCandidate(debugUrl);

  const codes = [];
  for (let at = 0; at < 4; at++) codes.push(await ask("ann"));
  assertEquals(codes, [1, 1, 1, 2]);
  const compared = async (count: number) => {
    await waitUntil(
      async () => (await fetchReport(debugUrl)).totals.compared === count,
      { what: `${count} comparisons` },
    );
    return await fetchReport(debugUrl);
  };
  const first = await compared(4);
  assertEquals(
    [first.totals.would_refuse, first.totals.requests_would_refuse],
    [2, 2],
  );
  const refused = first.differences.find(
    ({ kind }: { kind: string }) => kind === "would_refuse",
  );
  assertEquals(
    [refused.live, refused.liveLimit, refused.candidateLimit, refused.example],
    ["shop.user", "3 per DAY", "1 per DAY", "user=ann"],
  );
  const text = await (await fetch(`${debugUrl}/debug/candidate`)).text();
  assertStringIncludes(text, "would refuse: 2 times\n  in force   shop.user");
  const explained = await fetch(
    `${debugUrl}/debug/explain?rules=candidate&domain=shop` +
      "&descriptors=user%3Dann",
  );
  const explanation = await explained.text();
  assertStringIncludes(explanation, "shop.user (c.yaml:3) applies\n");
  assertStringIncludes(explanation, "holds      4 of 1; near");
  const stats = await (await fetch(`${debugUrl}/stats?filter=candidate`))
    .text();
  assertStringIncludes(stats, "ratelimit.service.candidate.would_refuse: 2\n");
  assertStringIncludes(
    stats,
    "ratelimit.service.candidate.config_load_success: 1\n",
  );

  await Deno.writeTextFile(file, rule(1).replace("day", "fortnight"));
  await service.waitForLine("Cannot load candidate configuration: c.yaml:5: ");
  assertEquals(await ask("bea"), 1);
  const faulty = await compared(5);
  assertEquals(faulty.candidate, first.candidate);
  assert(
    (await (await fetch(`${debugUrl}/stats?filter=config_load_error`)).text())
      .includes("ratelimit.service.config_load_error: 0\n"),
  );

  await Deno.writeTextFile(file, rule(3));
  await waitUntil(
    async () => (await fetchReport(debugUrl)).differences.length === 0,
    { what: "the mended candidate" },
  );
  assertEquals(await ask("cid"), 1);
  assertEquals((await compared(6)).differences, []);
});

Deno.test("ratelimit keeps a share of the candidate's counters, and compares no more at a time than it is told to", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": rule(9) });
  const candidate = await folder.makeRoot("candidate", { "c.yaml": rule(9) });
  for (
    const [name, value] of [
      ["CANDIDATE_SHARE", "0.3"],
      ["CANDIDATE_MAX_IN_FLIGHT", "1"],
    ] as const
  ) {
    await using service = await serveHere({
      RUNTIME_ROOT: folder.root,
      CANDIDATE_CONFIG_DIR: `${candidate}/config`,
      [name]: value,
    });
    await waitForCandidate(service.debugUrl);
    {
      await using caller = await grpcCaller(service.grpcTarget);
      const users = Array.from({ length: 300 }, (_, at) => `user${at}`);
      await Promise.all(
        users.map((user) => caller.decide(createRequest("shop", { user }))),
      );
    }
    if (name === "CANDIDATE_SHARE") {
      await waitUntil(
        async () => (await fetchReport(service.debugUrl)).totals.compared > 50,
        { what: "comparisons" },
      );
    }
    const { totals } = await fetchReport(service.debugUrl);
    if (name === "CANDIDATE_SHARE") assert(totals.compared < 150);
    else assert(totals.requests_dropped > 0, JSON.stringify(totals));
    assertEquals(await service.stop(), 0);
  }
});

serviceTest(["redis-server"], {
  name:
    "ratelimit counts for a candidate with all instances that share a Redis server, beside the counters in force",
  async fn() {
    await awayFromBorder(86_400, 60_000);
    const server = await startRedisServer();
    await using _stopped = { [Symbol.asyncDispose]: () => server.stop() };
    await using folder = await ConfigFolder.make({ "rules.yaml": rule(9) });
    const candidate = await folder.makeRoot("candidate", { "c.yaml": rule(2) });
    const env = {
      RUNTIME_ROOT: folder.root,
      REDIS_URL: `redis://${server.host}:${server.port}`,
      CANDIDATE_CONFIG_DIR: `${candidate}/config`,
    };
    await using one = await startRatelimit({ env });
    await using two = await startRatelimit({ env });
    const refusals: number[] = [];
    for (const service of [one, two]) {
      await using caller = await grpcCaller(service.grpcTarget);
      await waitForCandidate(service.debugUrl);
      await waitUntil(
        async () =>
          (await caller.decide(createRequest("shop", { none: "x" }))).status ===
            0,
        { what: "the store" },
      );
      for (let at = 0; at < 2; at++) {
        const answer = await caller.decide(
          createRequest("shop", { user: "ann" }),
        );
        assertEquals(answer.overallCode, 1);
      }
      await waitUntil(
        async () => {
          const { totals } = await fetchReport(service.debugUrl);
          return totals.compared + totals.requests_failed >= 3;
        },
        { what: "comparisons" },
      );
      const { totals } = await fetchReport(service.debugUrl);
      refusals.push(totals.would_refuse);
    }
    assertEquals(refusals, [0, 2]);
    const keys = await server.command("KEYS", "*");
    const names = [keys].flat().map((key) => String(key).replace(/\d+$/, ""));
    assertEquals(names.sort(), [
      "_candidate_shop_user_ann_day_",
      "shop_user_ann_day_",
    ]);
  },
});
