import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import protobuf from "npm:protobufjs@^7.5.0";
import "npm:protobufjs@^7.5.0/ext/descriptor/index.js";
import { DESCRIBED_FILES } from "./descriptors.ts";
import { declaredSymbols } from "./reflection.ts";
import { describeFiles } from "./testing/file_descriptors.ts";
import { loadSchema } from "./testing/schema.ts";

function readBytes({ base64 }: typeof DESCRIBED_FILES[number]): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}

/** The files as an independent reader of descriptors has them. */
function readBack(): protobuf.Root {
  const set = new protobuf.Writer();
  for (const file of DESCRIBED_FILES) set.uint32(10).bytes(readBytes(file));
  const { fromDescriptor } = protobuf.Root as unknown as {
    fromDescriptor(set: Uint8Array): protobuf.Root;
  };
  const root = fromDescriptor(set.finish());
  root.resolveAll();
  return root;
}

Deno.test("DESCRIBED_FILES are as the .proto files say; else run deno task descriptors", async () => {
  assertEquals(
    DESCRIBED_FILES.map((file) => ({
      name: file.name,
      imports: file.imports,
      bytes: readBytes(file),
    })),
    [...await describeFiles()],
  );
});

Deno.test("DESCRIBED_FILES come after all they import", () => {
  const seen = new Set<string>();
  for (const { name, imports } of DESCRIBED_FILES) {
    for (const one of imports) assert(seen.has(one), `${name}: ${one}`);
    seen.add(name);
  }
});

Deno.test("DESCRIBED_FILES describe messages that mean the same as those of the .proto files", async () => {
  const schema = await loadSchema();
  const root = readBack();
  const request = {
    domain: "d",
    descriptors: [{
      entries: [{ key: "a", value: "b" }],
      limit: { requests_per_unit: 3, unit: 4 },
      hits_addend: { value: 7 },
    }],
    hits_addend: 2,
  };
  const name = "envoy.service.ratelimit.v3.RateLimitRequest";
  const type = root.lookupType(name);
  assertEquals(
    Uint8Array.from(type.encode(type.fromObject(request)).finish()),
    schema(name).encode({
      domain: "d",
      descriptors: [{
        entries: [{ key: "a", value: "b" }],
        limit: { requestsPerUnit: 3, unit: 4 },
        hitsAddend: { value: 7 },
      }],
      hitsAddend: 2,
    }),
  );
  const health = "grpc.health.v1.HealthListResponse";
  const statuses = { statuses: { a: { status: 1 }, b: { status: 2 } } };
  const list = root.lookupType(health);
  assertEquals(
    // A map is a list of entries on the wire, and to this reader.
    Uint8Array.from(
      list.encode(list.fromObject({
        statuses: Object.entries(statuses.statuses)
          .map(([key, value]) => ({ key, value })),
      })).finish(),
    ),
    schema(health).encode(statuses),
  );
  const service = root.lookupService("grpc.reflection.v1.ServerReflection");
  const info = service.methods.ServerReflectionInfo;
  assertEquals([info?.requestStream, info?.responseStream], [true, true]);
  const watch = root.lookupService("grpc.health.v1.Health").methods.Watch;
  assertEquals([watch?.requestStream, watch?.responseStream], [
    undefined,
    true,
  ]);
});

Deno.test("declaredSymbols() lists everything that a file declares", () => {
  const rls = DESCRIBED_FILES.find(({ name }) => name.endsWith("/rls.proto"));
  assert(rls !== undefined);
  const { all, messages } = declaredSymbols(readBytes(rls));
  const inPackage = "envoy.service.ratelimit.v3.";
  for (
    const name of [
      "RateLimitService",
      "RateLimitService.ShouldRateLimit",
      "RateLimitResponse",
      "RateLimitResponse.Code",
      "RateLimitResponse.OVER_LIMIT",
      "RateLimitResponse.RateLimit.Unit",
      "RateLimitResponse.RateLimit.SECOND",
      "RateLimitResponse.DescriptorStatus",
      "RateLimitResponse.overall_code",
      "RateLimitResponse.Quota.expiration_specifier",
    ]
  ) assert(all.includes(inPackage + name), name);
  assertEquals(messages.includes(`${inPackage}RateLimitResponse.Quota`), true);
  assertEquals(messages.includes(`${inPackage}RateLimitResponse.Code`), false);
  assertEquals(new Set(all).size, all.length);
});
