import { assert, assertEquals } from "@std/assert";
import { readSettings } from "../shared/settings.ts";
import { configTypeSetting, discoverySettings } from "./discovery_settings.ts";

function read(env: Readonly<Record<string, string>>) {
  return readSettings(
    { configType: configTypeSetting, ...discoverySettings },
    (name) => env[name],
  );
}

Deno.test("discoverySettings have the defaults of the reference", () => {
  const settings = read({});
  assert(settings.kind === "ok");
  const { values } = settings;
  assertEquals(values.configType, "file");
  assertEquals(values.discoveryServer, "localhost:18000");
  assertEquals(values.discoveryNodeId, "default");
  assertEquals(
    [
      values.discoveryConnectRetryMs,
      values.discoveryBackoffInitialMs,
      values.discoveryBackoffMaxMs,
      values.discoveryBackoffFactor,
      values.discoveryBackoffJitter,
    ],
    [3_000, 10_000, 60_000, 0.5, true],
  );
  assertEquals(values.discoveryMaxMessageBytes, 4 * 1_024 * 1_024);
});

Deno.test("discoverySettings refuse what can't be an address or a header", () => {
  for (
    const [name, text] of [
      ["CONFIG_TYPE", "GRPC_XDS_DELTA"],
      ["CONFIG_GRPC_XDS_SERVER_URL", "control"],
      ["CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "a b:c"],
      ["CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "grpc-timeout:1S"],
      ["CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "a:\u00fc"],
    ] as const
  ) assertEquals(read({ [name]: text }).kind, "invalid", text);
  const headers = read({
    CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: "X-Fleet:blue,a:b:c",
  });
  assert(headers.kind === "ok");
  assertEquals(headers.values.discoveryHeaders, [
    ["X-Fleet", "blue"],
    ["a", "b:c"],
  ]);
});

Deno.test("discoverySettings show no headers when they are wrong", () => {
  const settings = read({
    CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: "grpc-a:s3cret",
  });
  assert(settings.kind === "invalid");
  assertEquals(settings.problems.join().includes("s3cret"), false);
});
