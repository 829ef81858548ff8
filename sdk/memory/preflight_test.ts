import { assertEquals, assertRejects } from "@std/assert";
import { MemCompatibilityError, MemError } from "./errors.ts";
import type { RelayerAnswer, RelayerRequest } from "./exchange.ts";
import { Preflight } from "./preflight.ts";
import { FITTING_CONTRACT } from "./testing/scripted_fetch.ts";

interface Rig {
  readonly preflight: Preflight;
  readonly seen: RelayerRequest[];
}

function rigOf(
  script: (request: RelayerRequest) => Partial<RelayerAnswer> | Error,
): Rig {
  const seen: RelayerRequest[] = [];
  const preflight = new Preflight({
    send: (request) => {
      seen.push(request);
      const answer = script(request);
      if (answer instanceof Error) return Promise.reject(answer);
      const headers = new Headers();
      return Promise.resolve({ status: 200, json: {}, headers, ...answer });
    },
  }, 5_000);
  return { preflight, seen };
}

Deno.test("Preflight.check() asks once for all who ask, at once and later", async () => {
  const { preflight, seen } = rigOf(() => ({ json: FITTING_CONTRACT }));
  await Promise.all([preflight.check(), preflight.check()]);
  await preflight.check();
  assertEquals(seen, [{
    method: "GET",
    path: "/version",
    isSigned: false,
    alsoGood: [404, 405],
    timeoutMs: 5_000,
    purpose: "preflight GET /version",
  }]);
});

Deno.test("Preflight.compatibility() asks anew each time", async () => {
  const { preflight, seen } = rigOf(() => ({ json: FITTING_CONTRACT }));
  await preflight.compatibility();
  await preflight.compatibility();
  assertEquals(seen.length, 2);
});

Deno.test("Preflight.check() asks /health when there is no /version", async () => {
  for (const status of [404, 405]) {
    const { preflight, seen } = rigOf(({ path }) =>
      path === "/version"
        ? { status, json: FITTING_CONTRACT }
        : { json: { ...FITTING_CONTRACT, relayerVersion: "0.0.9" } }
    );
    assertEquals((await preflight.check()).relayerVersion, "0.0.9");
    assertEquals(seen.map(({ purpose }) => purpose), [
      "preflight GET /version",
      "preflight GET /health",
    ]);
  }
});

Deno.test("Preflight.check() does not remember a failure", async () => {
  const answers: (Partial<RelayerAnswer> | Error)[] = [
    new MemError("no answer", { status: 0 }),
    { json: { ...FITTING_CONTRACT, apiVersion: "2.0.0" } },
    { json: FITTING_CONTRACT },
  ];
  const { preflight, seen } = rigOf(() => answers.shift()!);
  const [one, two] = await Promise.allSettled([
    preflight.check(),
    preflight.check(),
  ]);
  assertEquals([one.status, two.status], ["rejected", "rejected"]);
  assertEquals(seen.length, 1);
  await assertRejects(() => preflight.check(), MemCompatibilityError);
  await preflight.check();
  await preflight.check();
  assertEquals(seen.length, 3);
});
