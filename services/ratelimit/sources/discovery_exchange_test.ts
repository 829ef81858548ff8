import { assert, assertEquals } from "@std/assert";
import { loadSchema } from "../../../proto/testing/schema.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { DiscoveryExchange } from "./discovery_exchange.ts";

const TYPE_URL =
  "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";
const PACKAGE = "envoy.service.discovery.v3";
const schema = await loadSchema();

function exchange(): DiscoveryExchange {
  return new DiscoveryExchange({ id: "node", metadata: { zone: "a" } });
}

/** Returns the parts of a request that are not the same in all requests. */
function told(request: Uint8Array): {
  readonly version: unknown;
  readonly nonce: unknown;
  readonly error: unknown;
} {
  const { versionInfo, responseNonce, errorDetail, node, typeUrl, ...rest } =
    schema(`${PACKAGE}.DiscoveryRequest`).decode(request);
  assertEquals(typeUrl, TYPE_URL);
  assertEquals((node as { readonly id: string }).id, "node");
  assertEquals(rest, { resourceNames: [] });
  return { version: versionInfo, nonce: responseNonce, error: errorDetail };
}

function response(
  options: {
    readonly version: string;
    readonly nonce: string;
    readonly types?: readonly string[];
    readonly typeUrl?: string;
  },
): Uint8Array {
  const { version, nonce, types = [TYPE_URL], typeUrl = TYPE_URL } = options;
  return schema(`${PACKAGE}.DiscoveryResponse`).encode({
    versionInfo: version,
    nonce,
    typeUrl,
    resources: types.map((type) => ({
      type_url: type,
      value: new Uint8Array([1, 2]),
    })),
  });
}

Deno.test("DiscoveryExchange.begin() asks for all rules with neither version nor nonce", () => {
  assertEquals(told(exchange().begin({ forced: false })), {
    version: "",
    nonce: "",
    error: null,
  });
});

Deno.test("DiscoveryExchange.accept() tells version and nonce of the response just taken", () => {
  const client = exchange();
  client.begin({ forced: false });
  assertEquals(client.take(response({ version: "1", nonce: "a" })), {
    kind: "resources",
    version: "1",
    resources: [{ name: "resources[0]", bytes: new Uint8Array([1, 2]) }],
  });
  const accepted = { version: "1", nonce: "a", error: null };
  assertEquals(told(client.accept()), accepted);
  client.take(response({ version: "2", nonce: "b" }));
  assertEquals(told(client.accept()), {
    version: "2",
    nonce: "b",
    error: null,
  });
  assertEquals(client.version, "2");
});

Deno.test("DiscoveryExchange.refuse() tells the version accepted last, the nonce of what is refused, and why", () => {
  const client = exchange();
  client.begin({ forced: false });
  client.take(response({ version: "1", nonce: "a" }));
  assertEquals(told(client.refuse("first: bad")), {
    version: "",
    nonce: "a",
    error: { code: 3, message: "first: bad", details: [] },
  });
  client.take(response({ version: "2", nonce: "b" }));
  client.accept();
  client.take(response({ version: "3", nonce: "c" }));
  assertEquals(told(client.refuse("bad")), {
    version: "2",
    nonce: "c",
    error: { code: 3, message: "bad", details: [] },
  });
  assertEquals(client.version, "2");
});

Deno.test("DiscoveryExchange.refuse() bounds what it says", () => {
  const client = exchange();
  client.take(response({ version: "1", nonce: "a" }));
  const { error } = told(client.refuse("x".repeat(100_000)));
  assertEquals((error as { readonly message: string }).message.length, 8_193);
});

Deno.test("DiscoveryExchange.begin() keeps the version on another stream, and no nonce", () => {
  const client = exchange();
  client.begin({ forced: false });
  client.take(response({ version: "1", nonce: "a" }));
  client.accept();
  client.take(response({ version: "2", nonce: "b" }));
  assertEquals(told(client.begin({ forced: false })), {
    version: "1",
    nonce: "",
    error: null,
  });
});

Deno.test("DiscoveryExchange.begin() asks for what is in force when it is forced", () => {
  const client = exchange();
  client.take(response({ version: "1", nonce: "a" }));
  client.accept();
  assertEquals(told(client.begin({ forced: true })).version, "");
  client.take(response({ version: "2", nonce: "b" }));
  assertEquals(told(client.refuse("bad")).version, "1");
});

Deno.test("DiscoveryExchange.take() takes rules whatever the host of their type", () => {
  const client = exchange();
  const type = "types.example/ratelimit.config.ratelimit.v3.RateLimitConfig";
  for (const typeUrl of [type, ""]) {
    const { kind } = client.take(
      response({ version: "1", nonce: "a", typeUrl, types: [type, type] }),
    );
    assertEquals(kind, "resources");
  }
});

Deno.test("DiscoveryExchange.take() has resources of another type refused", () => {
  const client = exchange();
  const cluster = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
  for (
    const options of [
      { types: [TYPE_URL, cluster] },
      { typeUrl: cluster, types: [] },
      { types: [""] },
    ]
  ) {
    const arrival = client.take(
      response({ version: "9", nonce: "z", ...options }),
    );
    assert(arrival.kind === "foreign");
    assert(arrival.reason.startsWith("Cannot accept resources of type "));
    assertEquals(told(client.refuse(arrival.reason)).nonce, "z");
    assertEquals(client.version, "");
  }
});

Deno.test("DiscoveryExchange.take() takes no resources at all", () => {
  const empty = response({ version: "1", nonce: "a", types: [] });
  assertEquals(exchange().take(empty), {
    kind: "resources",
    version: "1",
    resources: [],
  });
});

Deno.test("DiscoveryExchange.take() tells bytes that are no response", () => {
  assertEquals(exchange().take(new Uint8Array([0x12, 9])), {
    kind: "malformed",
    reason: "Cannot decode discovery response: truncated field 2 at byte 2",
  });
});

Deno.test("DiscoveryExchange never tells a nonce of another stream, nor a version that was not accepted", () => {
  const random = new SeededRandom(101);
  for (let round = 0; round < 200; round++) {
    const client = exchange();
    let accepted = "";
    let nonce = "";
    let offered = "";
    const check = (request: Uint8Array): void => {
      const sent = told(request);
      assertEquals([sent.version, sent.nonce], [accepted, nonce]);
    };
    check(client.begin({ forced: false }));
    for (let step = 0; step < 30; step++) {
      switch (random.below(4)) {
        case 0:
          nonce = "";
          offered = "";
          check(client.begin({ forced: false }));
          break;
        case 1:
          nonce = `n${round}-${step}`;
          offered = `v${random.below(5)}`;
          client.take(response({ version: offered, nonce }));
          break;
        case 2:
          if (offered === "") break;
          accepted = offered;
          check(client.accept());
          break;
        case 3:
          if (offered === "") break;
          check(client.refuse("bad"));
      }
    }
  }
});
