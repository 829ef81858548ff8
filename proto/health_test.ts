import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  decodeHealthCheckRequest,
  decodeHealthListRequest,
  encodeHealthCheckResponse,
  encodeHealthListResponse,
  SERVING_STATUS,
  type ServingStatus,
} from "./health.ts";
import {
  decodeHealthCheckResponse,
  decodeHealthListResponse,
  encodeHealthCheckRequest,
  encodeHealthListRequest,
} from "./testing/health_client.ts";
import {
  delimited,
  hex,
  joinedBytes,
  varintField,
} from "./testing/hand_wire.ts";
import { randomText } from "./testing/random_messages.ts";
import { loadSchema } from "./testing/schema.ts";
import { SeededRandom } from "../tests/support/seeded_random.ts";

const STATUSES = Object.values(SERVING_STATUS);

Deno.test("health codecs agree with the independent library in both directions", async () => {
  const type = await loadSchema();
  const checkRequest = type("grpc.health.v1.HealthCheckRequest");
  const checkResponse = type("grpc.health.v1.HealthCheckResponse");
  const listResponse = type("grpc.health.v1.HealthListResponse");
  const random = new SeededRandom(21);
  for (let round = 0; round < 500; round++) {
    const service = randomText(random);
    const request = { service };
    assertEquals(
      checkRequest.decode(encodeHealthCheckRequest(request)),
      request,
    );
    assertEquals(
      decodeHealthCheckRequest(checkRequest.encode(request)),
      request,
    );
    const response = { status: randomStatus(random) };
    assertEquals(
      checkResponse.decode(encodeHealthCheckResponse(response)),
      response,
    );
    assertEquals(
      decodeHealthCheckResponse(checkResponse.encode(response)),
      response,
    );
    const statuses = new Map(
      random.list(5, () => [randomText(random), randomStatus(random)]),
    );
    const plain = {
      statuses: Object.fromEntries(
        [...statuses].map(([name, status]) => [name, { status }]),
      ),
    };
    assertEquals(
      listResponse.decode(encodeHealthListResponse({ statuses })),
      plain,
    );
    assertEquals(decodeHealthListResponse(listResponse.encode(plain)), {
      statuses,
    });
  }
});

Deno.test("health codecs write the golden bytes", () => {
  assertEquals(
    hex(encodeHealthCheckRequest({ service: "ratelimit" })),
    "0a09726174656c696d6974",
  );
  assertEquals(encodeHealthCheckRequest({ service: "" }).length, 0);
  assertEquals(hex(encodeHealthCheckResponse({ status: 2 })), "0802");
  assertEquals(encodeHealthCheckResponse({ status: 0 }).length, 0);
  assertEquals(encodeHealthListRequest().length, 0);
  const statuses = new Map<string, ServingStatus>([["", 1], ["r", 2]]);
  assertEquals(
    hex(encodeHealthListResponse({ statuses })),
    "0a04" + "1202" + "0801" + "0a07" + "0a0172" + "1202" + "0802",
  );
});

Deno.test("health codecs skip unknown fields and take unknown states as UNKNOWN", () => {
  const unknown = joinedBytes(delimited(9, "x"), [8 << 3 | 5, 1, 2, 3, 4]);
  assertEquals(
    decodeHealthCheckRequest(joinedBytes(unknown, delimited(1, "s"), unknown)),
    { service: "s" },
  );
  assertEquals(
    decodeHealthCheckResponse(joinedBytes(unknown, varintField(1, 77))),
    { status: SERVING_STATUS.UNKNOWN },
  );
  assertEquals(decodeHealthListRequest(unknown), {});
  const listed = joinedBytes(
    delimited(2, joinedBytes(unknown, varintField(1, 1))),
    unknown,
    delimited(1, "s"),
    delimited(2, unknown), // merges: the state stays
  );
  assertEquals(
    decodeHealthListResponse(joinedBytes(unknown, delimited(1, listed))),
    { statuses: new Map([["s", SERVING_STATUS.SERVING]]) },
  );
});

Deno.test("health codecs tell what is wrong", () => {
  const broken = new Uint8Array([0x0a, 2, 0xff]);
  for (
    const [what, result] of [
      ["health request", decodeHealthCheckRequest(broken)],
      ["health response", decodeHealthCheckResponse(broken)],
      ["health list request", decodeHealthListRequest(broken)],
      ["health list response", decodeHealthListResponse(broken)],
    ] as const
  ) {
    assert("kind" in result);
    assertStringIncludes(
      String(result.reason),
      `Cannot decode ${what}: truncated field 1 at byte 2`,
    );
  }
});

Deno.test("health codecs never throw, whatever the bytes", () => {
  const random = new SeededRandom(22);
  for (let round = 0; round < 10_000; round++) {
    const bytes = random.bytes(random.below(24));
    for (
      const decode of [
        decodeHealthCheckRequest,
        decodeHealthCheckResponse,
        decodeHealthListRequest,
        decodeHealthListResponse,
      ]
    ) assertEquals(typeof decode(bytes), "object");
  }
});

function randomStatus(random: SeededRandom): ServingStatus {
  return STATUSES[random.below(STATUSES.length)] ?? SERVING_STATUS.UNKNOWN;
}
