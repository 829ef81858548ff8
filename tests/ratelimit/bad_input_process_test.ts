import { assert, assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, DECIDE_PATH, grpcCaller, STATUS } from "./grpc_caller.ts";
import { type HttpAnswer, postJson, readStat, request } from "./http_caller.ts";
import { createRequest, dailyRule, type PlainRequest } from "./requests.ts";

const FILES = {
  "rules.yaml": dailyRule("input", { key: "user", limit: 1_000_000 }),
};
const GOOD = createRequest("input", { user: "anybody" });

/**
 * Requests that can be expressed in both protocols: what is wrong, the request,
 * and a word of the error.
 */
const BAD: readonly (readonly [string, object, string])[] = [
  ["an empty domain", { ...GOOD, domain: "" }, "domain"],
  ["no domain", { descriptors: GOOD.descriptors }, "domain"],
  ["no descriptors", { domain: "input" }, "descriptor"],
  ["an override without a unit", withUnit(0), "unit"],
  ["an override of no known unit", withUnit(99), "unit"],
];

Deno.test("ratelimit refuses bad input and goes on", async (t) => {
  await using folder = await ConfigFolder.make(FILES);
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root },
  });
  const { httpUrl, debugUrl } = service;
  await using caller = await grpcCaller(service.grpcTarget);

  for (const [name, bad, text] of BAD) {
    await t.step(`${name}, over gRPC`, async () => {
      const { status, details } = await caller.decide(bad);
      assertEquals(status, STATUS.INVALID_ARGUMENT, details);
      assert(details.includes(text), details);
    });
    await t.step(`${name}, over HTTP`, async () => {
      const { detail } = readProblem(await postJson(httpUrl, bad), 400);
      assert(detail.includes(text), detail);
    });
  }

  for (
    const [name, body] of [
      ["no JSON", "{"],
      ["no body", ""],
      ["a list", "[]"],
      ["an unknown field", JSON.stringify({ ...GOOD, hits: 1 })],
      ["a number for a text", JSON.stringify({ ...GOOD, domain: 7 })],
      ["deep nesting", "[".repeat(500_000)],
    ] as const
  ) {
    await t.step(`${name}, over HTTP`, async () => {
      readProblem(await postJson(httpUrl, body), 400);
    });
  }

  await t.step("a body that is not UTF-8", async () => {
    const body = Uint8Array.of(0x22, 0xff, 0x22);
    const options = { method: "POST", body };
    readProblem(await request(`${httpUrl}/json`, options), 400);
  });

  await t.step("malformed protobuf", async () => {
    for (const bytes of [[0x0a, 5, 65], [0x0a], [0xff, 0xff], [0x0b]]) {
      const { status } = await caller.decideBytes(Uint8Array.from(bytes));
      assertEquals(status, STATUS.INVALID_ARGUMENT, `${bytes}`);
    }
  });

  await t.step("unknown protobuf fields are skipped", async () => {
    const unknown = Uint8Array.of(0xa2, 0x06, 3, 1, 2, 3, 0x98, 0x06, 1);
    const bytes = caller.encodeRequest(GOOD);
    const { status, overallCode } = await caller.decideBytes(
      Uint8Array.from([...unknown, ...bytes, ...unknown]),
    );
    assertEquals([status, overallCode], [STATUS.OK, CODES.OK]);
  });

  await t.step("3,000 descriptors are answered", async () => {
    const { status, statuses } = await caller.decide(withDescriptors(3_000));
    assertEquals([status, statuses.length], [STATUS.OK, 3_000]);
    const answer = await postJson(httpUrl, withDescriptors(3_000));
    assertEquals(answer.status, 200);
    assertEquals(JSON.parse(answer.text).statuses.length, 3_000);
  });

  await t.step("10,001 descriptors are too many", async () => {
    const { status } = await caller.decide(withDescriptors(10_001));
    assertEquals(status, STATUS.RESOURCE_EXHAUSTED);
    readProblem(await postJson(httpUrl, withDescriptors(10_001)), 413);
  });

  await t.step("5 MB are too much", async () => {
    const { status } = await caller.decideBytes(new Uint8Array(5_000_000));
    assertEquals(status, STATUS.RESOURCE_EXHAUSTED);
    readProblem(await postJson(httpUrl, " ".repeat(5_000_000)), 413);
  });

  await t.step("other methods and paths", async () => {
    const other = await request(`${httpUrl}/json`);
    readProblem(other, 405);
    assertEquals(other.headers.get("allow"), "POST");
    readProblem(await request(`${httpUrl}/nothing`), 404);
    readProblem(await request(`${debugUrl}/nothing`), 404);
    for (
      const path of [
        DECIDE_PATH.replace("v3", "v2"),
        "/pb.lyft.ratelimit.RateLimitService/ShouldRateLimit",
      ]
    ) {
      const { status } = await caller.unary(path, caller.encodeRequest(GOOD));
      assertEquals(status, STATUS.UNIMPLEMENTED, path);
    }
  });

  await t.step("the service goes on, and has counted refusals", async () => {
    assertEquals((await caller.decide(GOOD)).overallCode, CODES.OK);
    assertEquals((await postJson(httpUrl, GOOD)).status, 200);
    const name = "ratelimit.service.call.should_rate_limit.service_error";
    assert(await readStat(debugUrl, name) >= 20);
    // Only the first refusal of each kind is logged.
    const told = service.lines.filter((line) => line.includes("Refused"));
    assertEquals(told.length, 3, told.join("\n"));
  });
});

function withUnit(unit: number): object {
  const [descriptor] = GOOD.descriptors;
  const limit = { requestsPerUnit: 5, unit };
  return { ...GOOD, descriptors: [{ ...descriptor, limit }] };
}

function withDescriptors(count: number): PlainRequest {
  return createRequest(
    "input",
    ...Array.from({ length: count }, (_, i) => ({ user: `user ${i}` })),
  );
}

/**
 * Checks that a response is a problem document (RFC 9457); returns its body.
 */
function readProblem(
  answer: HttpAnswer,
  status: number,
): { readonly detail: string } {
  assertEquals(answer.status, status, answer.text);
  assertEquals(answer.headers.get("content-type"), "application/problem+json");
  const body = JSON.parse(answer.text);
  assertEquals(body.status, status);
  return body;
}
