import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Preflight, readCompatibility } from "./compatibility.ts";
import { MemCompatibilityError, MemError } from "./errors.ts";
import type { RelayerAnswer, RelayerRequest } from "./exchange.ts";
import { FITTING_CONTRACT } from "./testing/scripted_fetch.ts";

Deno.test("readCompatibility() returns what a relayer says of itself, sound parts only", () => {
  assertEquals(
    readCompatibility({
      ...FITTING_CONTRACT,
      minSupportedSdk: { typescript: "0.0.4", python: "0.1.0", odd: 1 },
      featureFlags: { "remember.bulk": true, odd: "yes" },
      deprecations: [
        {
          surface: "x-delegate-key",
          deprecatedSince: "1.0.0",
          removalApiVersion: "2.0.0",
          guidance: "sign",
        },
        null,
      ],
      build: { commit: "abc" },
    }),
    {
      relayerVersion: "0.1.0",
      apiVersion: "1.0.0",
      minSupportedSdk: { typescript: "0.0.4", python: "0.1.0" },
      featureFlags: { "remember.bulk": true },
      deprecations: [{
        surface: "x-delegate-key",
        deprecatedSince: "1.0.0",
        removalApiVersion: "2.0.0",
        guidance: "sign",
      }],
      build: { commit: "abc" },
    },
  );
});

Deno.test("readCompatibility() takes every API of its major version and every contract up to its own", () => {
  for (const apiVersion of ["1.0.0", "1.99.7"]) {
    for (const typescript of ["0.0.0", "0.0.3", "0.0.4"]) {
      const minSupportedSdk = { typescript };
      readCompatibility({ relayerVersion: "x", apiVersion, minSupportedSdk });
    }
  }
});

Deno.test("readCompatibility() throws when the pair does not fit, and says which to update", () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [undefined, "relayerVersion"],
    [[], "relayerVersion"],
    ["<html>", "relayerVersion"],
    [{ ...FITTING_CONTRACT, relayerVersion: "" }, "relayerVersion"],
    [{ ...FITTING_CONTRACT, apiVersion: undefined }, "apiVersion"],
    [{ ...FITTING_CONTRACT, apiVersion: 1 }, "apiVersion"],
    [{ ...FITTING_CONTRACT, apiVersion: "1.0" }, "apiVersion"],
    [{ ...FITTING_CONTRACT, apiVersion: "v1.0.0" }, "apiVersion"],
    [{ ...FITTING_CONTRACT, apiVersion: "2.0.0" }, "update the client"],
    [{ ...FITTING_CONTRACT, apiVersion: "0.9.0" }, "update the relayer"],
    [{ ...FITTING_CONTRACT, minSupportedSdk: undefined }, "typescript"],
    [{ ...FITTING_CONTRACT, minSupportedSdk: {} }, "typescript"],
    [
      { ...FITTING_CONTRACT, minSupportedSdk: { typescript: "4" } },
      "typescript",
    ],
    ...["0.0.5", "0.1.0", "1.0.0", "0.0.10"].map((typescript) =>
      [
        { ...FITTING_CONTRACT, minSupportedSdk: { typescript } },
        "update the client",
      ] as const
    ),
  ];
  for (const [json, state] of cases) {
    const error = assertThrows(
      () => readCompatibility(json),
      MemCompatibilityError,
    );
    assertStringIncludes(error.message, state);
    assertMatch(error.message, /^Cannot use this relayer: its? /);
  }
});

interface Rig {
  readonly preflight: Preflight;
  readonly seen: RelayerRequest[];
}

function createRig(
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
  const { preflight, seen } = createRig(() => ({ json: FITTING_CONTRACT }));
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

Deno.test("Preflight.compatibility() asks again each time", async () => {
  const { preflight, seen } = createRig(() => ({ json: FITTING_CONTRACT }));
  await preflight.compatibility();
  await preflight.compatibility();
  assertEquals(seen.length, 2);
});

Deno.test("Preflight.check() asks /health when there is no /version", async () => {
  for (const status of [404, 405]) {
    const { preflight, seen } = createRig(({ path }) =>
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
  const { preflight, seen } = createRig(() => answers.shift()!);
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
