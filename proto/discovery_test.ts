import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../tests/support/seeded_random.ts";
import {
  decodeDiscoveryResponse,
  encodeDiscoveryRequest,
} from "./discovery.ts";
import {
  delimited,
  hex,
  joinedBytes,
  varintField,
} from "./testing/hand_wire.ts";
import { randomText } from "./testing/random_messages.ts";
import { loadSchema } from "./testing/schema.ts";

const PACKAGE = "envoy.service.discovery.v3";

Deno.test("discovery codecs agree with the independent library", async () => {
  const type = await loadSchema();
  const request = type(`${PACKAGE}.DiscoveryRequest`);
  const response = type(`${PACKAGE}.DiscoveryResponse`);
  const random = new SeededRandom(51);
  for (let round = 0; round < 500; round++) {
    const id = randomText(random);
    const error = random.chance(0.5)
      ? { code: random.below(17), message: randomText(random) }
      : undefined;
    const sent = {
      versionInfo: randomText(random),
      typeUrl: randomText(random),
      responseNonce: randomText(random),
    };
    const read = request.decode(encodeDiscoveryRequest({
      ...sent,
      node: { id, metadata: { zone: "a", rack: randomText(random) } },
      error,
    }));
    const { node, errorDetail, ...rest } = read;
    assertEquals(rest, { ...sent, resourceNames: [] });
    assertEquals((node as { readonly id: string }).id, id);
    assertEquals(
      errorDetail,
      error === undefined ? null : {
        ...error,
        details: [],
      },
    );

    const answer = {
      versionInfo: randomText(random),
      resources: random.list(4, () => ({
        typeUrl: randomText(random),
        value: random.bytes(random.below(300)),
      })),
      typeUrl: randomText(random),
      nonce: randomText(random),
    };
    const bytes = response.encode({
      ...answer,
      // Its Any has the names of the .proto file.
      resources: answer.resources.map(({ typeUrl, value }) => ({
        type_url: typeUrl,
        value,
      })),
    });
    assertEquals(decodeDiscoveryResponse(bytes), answer);
  }
});

Deno.test("encodeDiscoveryRequest() writes metadata as the independent library reads it", async () => {
  const request = (await loadSchema())(`${PACKAGE}.DiscoveryRequest`);
  const bytes = encodeDiscoveryRequest({
    versionInfo: "",
    node: { id: "n", metadata: { zone: "a", team: "edge" } },
    typeUrl: "t",
    responseNonce: "",
    error: undefined,
  });
  const { node } = request.decode(bytes) as {
    readonly node: {
      readonly metadata: {
        readonly fields: Readonly<Record<string, { stringValue: string }>>;
      };
    };
  };
  assertEquals(
    Object.entries(node.metadata.fields)
      .map(([name, { stringValue }]) => [name, stringValue]),
    [["zone", "a"], ["team", "edge"]],
  );
});

Deno.test("encodeDiscoveryRequest() writes the golden bytes", () => {
  const request = {
    versionInfo: "",
    node: { id: "", metadata: {} },
    typeUrl: "",
    responseNonce: "",
    error: undefined,
  };
  assertEquals(hex(encodeDiscoveryRequest(request)), "12021a00");
  assertEquals(
    hex(encodeDiscoveryRequest({
      ...request,
      versionInfo: "1",
      node: { id: "n", metadata: {} },
      typeUrl: "t",
      responseNonce: "2",
      error: { code: 3, message: "e" },
    })),
    "0a0131" + "1205" + "0a016e" + "1a00" + "220174" + "2a0132" +
      "3205" + "0803" + "120165",
  );
});

Deno.test("decodeDiscoveryResponse() skips what it does not know", () => {
  const unknown = joinedBytes(delimited(9, "x"), varintField(3, 1));
  const any = joinedBytes(unknown, delimited(1, "t"), delimited(2, "v"));
  const response = joinedBytes(
    delimited(1, "7"),
    unknown,
    delimited(2, any),
    delimited(6, "control plane"),
    delimited(2, []),
    delimited(5, "n"),
  );
  assertEquals(decodeDiscoveryResponse(response), {
    versionInfo: "7",
    resources: [
      { typeUrl: "t", value: new TextEncoder().encode("v") },
      { typeUrl: "", value: new Uint8Array() },
    ],
    typeUrl: "",
    nonce: "n",
  });
});

Deno.test("decodeDiscoveryResponse() tells what is wrong and never throws", () => {
  const broken = decodeDiscoveryResponse(new Uint8Array([0x12, 9, 0x12, 200]));
  assert("kind" in broken);
  assertEquals(
    broken.reason,
    "Cannot decode discovery response: truncated field 2 at byte 2",
  );
  const random = new SeededRandom(52);
  for (let round = 0; round < 10_000; round++) {
    const bytes = random.bytes(random.below(24));
    assertEquals(typeof decodeDiscoveryResponse(bytes), "object");
  }
});
