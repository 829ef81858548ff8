import {
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { readCompatibility } from "./compatibility.ts";
import { MemCompatibilityError } from "./errors.ts";
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
