import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  RatelimitProcess,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import {
  DiscoveryServer,
  type Offer,
  oneLimit,
  type PlainRules,
  UNITS,
} from "./discovery_server.ts";
import { postJson, readStat, request } from "./http_caller.ts";
import { createRequest } from "./requests.ts";
import { limitInForce, waitForLimit } from "./rules_in_force.ts";
import { serveHere, type ServiceHere } from "./service_here.ts";

const SUCCESSES = "ratelimit.service.config_load_success";
const ERRORS = "ratelimit.service.config_load_error";

type Env = Readonly<Record<string, string>>;

/** Returns settings with short backoff intervals for a server. */
function envFor(server: DiscoveryServer, env: Env = {}): Env {
  return {
    CONFIG_TYPE: "GRPC_XDS_SOTW",
    CONFIG_GRPC_XDS_SERVER_URL: server.url,
    XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "50ms",
    XDS_CLIENT_BACKOFF_MAX_INTERVAL: "100ms",
    ...env,
  };
}

/** Runs a service in this process with a server of its own. */
async function withService(
  { offer, env }: { readonly offer: Offer; readonly env?: Env },
  use: (server: DiscoveryServer, service: ServiceHere) => Promise<void>,
): Promise<void> {
  await using server = await DiscoveryServer.open(offer);
  await using service = await serveHere(envFor(server, env));
  await use(server, service);
  assertEquals(await service.stop(), 0);
}

/** Runs a service in a process of its own. */
async function withProcess(
  offer: Offer,
  use: (server: DiscoveryServer, service: RatelimitProcess) => Promise<void>,
): Promise<void> {
  await using server = await DiscoveryServer.open(offer);
  await using service = await startRatelimit({ env: envFor(server) });
  await use(server, service);
  assertEquals(await service.stop(), 0);
}

function offer(version: string, ...rules: readonly PlainRules[]): Offer {
  return { version, rules };
}

const PLACE = { domain: "a", key: "user" };

Deno.test("ratelimit takes its rules from a discovery server", async (t) => {
  const first = offer("1", oneLimit("a", 1));
  await withProcess(first, async (server, service) => {
    const { httpUrl, debugUrl } = service;

    await t.step("the first configuration is put into force", async () => {
      assertEquals(await limitInForce(httpUrl, PLACE), 1);
      const asked = server.requests[0]!;
      assertEquals(
        [asked.versionInfo, asked.responseNonce, asked.errorDetail],
        ["", "", null],
      );
      const accepted = await server.waitFor(
        "the first acceptance",
        ({ versionInfo }) => versionInfo === "1",
      );
      assertEquals([accepted.responseNonce, accepted.errorDetail], [
        "n1",
        null,
      ]);
      assertEquals(accepted.node.id, "default");
      assertEquals(await readStat(debugUrl, SUCCESSES), 1);
    });

    await t.step("a new version takes its place", async () => {
      server.offer(offer("2", oneLimit("a", 2, UNITS.WEEK)));
      await waitForLimit(httpUrl, PLACE, 2);
      const { text } = await request(`${debugUrl}/rlconfig`);
      assertStringIncludes(text, "a.user: unit=WEEK requests_per_unit=2");
    });

    await t.step("two domains and three levels", async () => {
      const levels = {
        name: "levels",
        domain: "b",
        descriptors: [{
          key: "tenant",
          descriptors: [{
            key: "path",
            value: "/login",
            rateLimit: { unit: UNITS.DAY, requestsPerUnit: 50 },
            descriptors: [{
              key: "user",
              rateLimit: { unit: UNITS.DAY, requestsPerUnit: 7 },
            }],
          }],
        }],
      };
      server.offer(offer("3", oneLimit("a", 3), levels));
      await waitForLimit(httpUrl, PLACE, 3);
      const { text } = await postJson(
        httpUrl,
        createRequest(
          "b",
          { tenant: "t", path: "/login", user: "ada" },
          { tenant: "t", path: "/login" },
          { tenant: "t", path: "/logout" },
        ),
      );
      const { statuses } = JSON.parse(text) as {
        readonly statuses: readonly {
          readonly currentLimit?: { readonly requestsPerUnit: number };
        }[];
      };
      assertEquals(
        statuses.map(({ currentLimit }) => currentLimit?.requestsPerUnit),
        [7, 50, undefined],
      );
    });

    await t.step("no resources mean no domain", async () => {
      server.offer(offer("4"));
      await waitForLimit(httpUrl, PLACE, undefined);
      const { errorDetail } = await server.waitFor(
        "the acceptance of nothing",
        ({ versionInfo }) => versionInfo === "4",
      );
      assertEquals(errorDetail, null);
      assertEquals(await readStat(debugUrl, ERRORS), 0);
    });
  });
});

Deno.test("ratelimit refuses wrong rules of a discovery server and keeps the old ones", async (t) => {
  const first = offer("1", oneLimit("a", 1));
  await withService({ offer: first }, async (server, service) => {
    const { httpUrl, debugUrl } = service;
    for (
      const { what, wrong, reason } of [
        {
          what: "twice",
          wrong: offer("twice", oneLimit("b", 9), oneLimit("b", 9)),
          reason: "b-rules: duplicate domain 'b' in config file",
        },
        {
          what: "unit",
          wrong: offer("unit", oneLimit("a", 9, UNITS.UNKNOWN)),
          reason: "a-rules: invalid rate limit unit 'UNKNOWN'",
        },
      ]
    ) {
      await t.step(what, async () => {
        const errors = await readStat(debugUrl, ERRORS);
        server.offer(wrong);
        const refused = await server.waitFor(
          `the refusal of ${what}`,
          ({ errorDetail }) => errorDetail?.message.includes(reason) ?? false,
        );
        assertEquals(refused.versionInfo, "1");
        assertEquals(refused.errorDetail!.code, 3);
        assertEquals(await limitInForce(httpUrl, PLACE), 1);
        assertEquals(await readStat(debugUrl, ERRORS), errors + 1);
        const line = await service.waitForLine(reason);
        assertStringIncludes(line, "level=error");
        assertStringIncludes(line, "stay in force");
      });
    }
    await t.step("resources of another type", async () => {
      const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
      const errors = await readStat(debugUrl, ERRORS);
      server.offer({ ...offer("other", oneLimit("a", 9)), typeUrl });
      const refused = await server.waitFor(
        "the refusal of another type",
        ({ errorDetail }) => errorDetail?.message.includes(typeUrl) ?? false,
      );
      assertEquals(refused.versionInfo, "1");
      assertEquals(await readStat(debugUrl, ERRORS), errors);
      assertEquals(await limitInForce(httpUrl, PLACE), 1);
    });
    await t.step("what is mended is put into force", async () => {
      server.offer(offer("mended", oneLimit("a", 5)));
      await waitForLimit(httpUrl, PLACE, 5);
    });
    // The test server offers a refused version again at once, without end, so
    // the client has to pace its requests.
    assert(server.requests.length < 100, `${server.requests.length} requests`);
  });
});

Deno.test("ratelimit merges resources of one domain with MERGE_DOMAIN_CONFIG", async () => {
  const other = {
    ...oneLimit("a", 6),
    descriptors: [{
      key: "path",
      rateLimit: { unit: UNITS.DAY, requestsPerUnit: 6 },
    }],
  };
  await withService({
    offer: offer("1", oneLimit("a", 1), other),
    env: { MERGE_DOMAIN_CONFIG: "true" },
  }, async (_, { httpUrl }) => {
    assertEquals(await limitInForce(httpUrl, PLACE), 1);
    const path = { domain: "a", key: "path" };
    assertEquals(await limitInForce(httpUrl, path), 6);
  });
});

Deno.test("ratelimit honours all that a resource says", async () => {
  const rules = {
    name: "all",
    domain: "all",
    descriptors: [
      {
        key: "shadowed",
        shadowMode: true,
        rateLimit: { unit: UNITS.DAY, requestsPerUnit: 0 },
      },
      { key: "blocked", rateLimit: { unit: UNITS.DAY } },
      { key: "free", rateLimit: { unlimited: true } },
      {
        key: "replaced",
        rateLimit: { unit: UNITS.DAY, requestsPerUnit: 0, name: "old" },
      },
      {
        key: "replacing",
        rateLimit: {
          unit: UNITS.DAY,
          requestsPerUnit: 9,
          replaces: [{ name: "old" }],
        },
      },
      {
        key: "detailed",
        detailedMetric: true,
        rateLimit: { unit: UNITS.DAY, requestsPerUnit: 9 },
      },
      {
        key: "quota",
        quotaMode: true,
        rateLimit: { unit: UNITS.DAY, requestsPerUnit: 0 },
      },
      {
        key: "described",
        metadata: { fields: { owner: { stringValue: "edge" } } },
        rateLimit: { unit: UNITS.DAY, requestsPerUnit: 9 },
      },
    ],
  };
  await withService({
    offer: offer("1", rules),
    env: { RESPONSE_DYNAMIC_METADATA: "true" },
  }, async (_, { httpUrl, debugUrl }) => {
    const fetchStatus = async (
      ...entries: readonly Readonly<Record<string, string>>[]
    ) => (await postJson(httpUrl, createRequest("all", ...entries))).status;
    assertEquals(await fetchStatus({ shadowed: "x" }), 200);
    assertEquals(await fetchStatus({ blocked: "x" }), 429);
    assertEquals(await fetchStatus({ free: "x" }), 200);
    assertEquals(await fetchStatus({ replaced: "x" }), 429);
    assertEquals(await fetchStatus({ replaced: "x" }, { replacing: "x" }), 200);
    assertEquals(await fetchStatus({ quota: "x" }), 429);
    assertEquals(await fetchStatus({ quota: "x" }, { quota: "y" }), 429);
    assertEquals(await fetchStatus({ detailed: "seen" }), 200);
    assertEquals(
      await readStat(
        debugUrl,
        "ratelimit.service.rate_limit.all.detailed_seen.total_hits",
      ),
      1,
    );
    const { text } = await postJson(
      httpUrl,
      createRequest("all", { described: "x" }),
    );
    assertEquals(JSON.parse(text).dynamicMetadata.metadata, { owner: "edge" });
  });
});

/**
 * Returns a descriptor in the form that Envoy Gateway sends: all words are
 * written, and a name is key and value.
 */
function gatewayDescriptor(
  name: string,
  rest: PlainRules,
): PlainRules {
  return {
    key: name,
    value: name,
    shadowMode: false,
    quotaMode: false,
    detailedMetric: false,
    descriptors: [],
    ...rest,
  };
}

Deno.test("ratelimit takes what Envoy Gateway generates for routes with and without hosts", async () => {
  const limit = (requestsPerUnit: number): PlainRules => ({
    rateLimit: {
      unit: UNITS.DAY,
      requestsPerUnit,
      unlimited: false,
      name: "",
      replaces: [],
    },
  });
  const withoutHost = "httproute/shop/cart/rule/0/match/0/*";
  const withHost = "httproute/shop/cart/rule/0/match/0/www_example_com";
  const masked = { key: "masked_remote_address", value: "192.0.2.0/24" };
  const gateway = {
    name: "envoy-gateway/eg/http",
    domain: "envoy-gateway/eg/http",
    descriptors: [
      gatewayDescriptor(withoutHost, {
        descriptors: [gatewayDescriptor("rule-0-match-0", limit(3))],
      }),
      gatewayDescriptor(withHost, {
        descriptors: [
          {
            ...gatewayDescriptor("rule-1-match-0", limit(5)),
            value: "",
          },
          {
            ...gatewayDescriptor("rule-1-match-0", limit(9)),
            value: "client-a",
          },
          gatewayDescriptor("masked_remote_address", {
            ...masked,
            ...limit(7),
          }),
        ],
      }),
    ],
  };
  const shared = {
    name: "shop/policy",
    domain: "shop/policy",
    descriptors: [
      gatewayDescriptor("shop/policy/rule/0", {
        detailedMetric: false,
        descriptors: [gatewayDescriptor("rule-0-match-0", limit(4))],
      }),
    ],
  };
  await withService({
    offer: offer("1", gateway, shared),
    env: { FORCE_START_WITHOUT_INITIAL_CONFIG: "true" },
  }, async (server, service) => {
    const { errorDetail } = await server.waitFor(
      "the answer",
      ({ responseNonce }) => responseNonce === "n1",
    );
    assertEquals(errorDetail, null);
    const fetchLimits = async (
      domain: string,
      ...descriptors: readonly Readonly<Record<string, string>>[]
    ) => {
      const answer = await postJson(
        service.httpUrl,
        createRequest(domain, ...descriptors),
      );
      const { statuses } = JSON.parse(answer.text) as {
        readonly statuses: readonly {
          readonly currentLimit?: { readonly requestsPerUnit: number };
        }[];
      };
      return statuses.map(({ currentLimit }) => currentLimit?.requestsPerUnit);
    };
    assertEquals(
      await fetchLimits(
        gateway.domain,
        { [withoutHost]: withoutHost, "rule-0-match-0": "rule-0-match-0" },
        { [withHost]: withHost, "rule-1-match-0": "anyone" },
        { [withHost]: withHost, "rule-1-match-0": "client-a" },
        { [withHost]: withHost, [masked.key]: masked.value },
        { [withoutHost]: withHost, "rule-0-match-0": "rule-0-match-0" },
      ),
      [3, 5, 9, 7, 3],
    );
    assertEquals(
      await fetchLimits(shared.domain, {
        "shop/policy/rule/0": "shop/policy/rule/0",
        "rule-0-match-0": "rule-0-match-0",
      }),
      [4],
    );
    assertEquals(service.stderr.includes("does nothing"), false);
  });
});

Deno.test("ratelimit tells the discovery server its node id, metadata and headers", async () => {
  await withService({
    offer: offer("1", oneLimit("a", 1)),
    env: {
      CONFIG_GRPC_XDS_NODE_ID: "edge-7",
      CONFIG_GRPC_XDS_NODE_METADATA: "zone=eu-1,team=edge=x",
      CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS:
        "Authorization:Bearer s3cret,x-fleet:blue",
    },
  }, async (server, service) => {
    await server.waitFor(
      "the answer",
      ({ versionInfo }) => versionInfo === "1",
    );
    for (const { node } of server.requests) {
      assertEquals(node.id, "edge-7");
      assertEquals(
        Object.entries(node.metadata.fields)
          .map(([name, { stringValue }]) => [name, stringValue]),
        [["zone", "eu-1"], ["team", "edge=x"]],
      );
    }
    const [headers] = server.headers;
    assertEquals(headers!.authorization, "Bearer s3cret");
    assertEquals(headers!["x-fleet"], "blue");
    assertEquals(service.stderr.includes("s3cret"), false);
  });
});

Deno.test("ratelimit opens with the first rules of a discovery server, and health follows them", async (t) => {
  await using server = await DiscoveryServer.open(
    offer("0", oneLimit("a", 1, UNITS.UNKNOWN)),
  );
  await using closed = new RatelimitProcess({ env: envFor(server) });
  await using forced = await serveHere(envFor(server, {
    FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
    HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: "true",
  }));
  const health = async (): Promise<number> =>
    (await request(`${forced.httpUrl}/healthcheck`)).status;
  await t.step("without rules", async () => {
    await closed.waitForLine("open with the first valid configuration");
    await closed.waitForLine("there are no rules until it is mended");
    assertEquals(closed.isListening("HTTP"), false);
    assertEquals(
      (await postJson(forced.httpUrl, createRequest("a", { user: "x" })))
        .status,
      503,
    );
    assertEquals(await health(), 503);
  });
  await t.step("with rules", async () => {
    server.offer(offer("1", oneLimit("a", 1)));
    await closed.waitForListener("HTTP");
    assertEquals(await limitInForce(closed.httpUrl, PLACE), 1);
    await waitForLimit(forced.httpUrl, PLACE, 1);
    assertEquals(await health(), 200);
  });
  await t.step("when the last domain goes", async () => {
    server.offer(offer("2"));
    await waitUntil(async () => await health() === 503, {
      what: "failing health",
    });
  });
  assertEquals(await closed.stop(), 0);
  assertEquals(await forced.stop(), 0);
});

Deno.test("ratelimit asks the discovery server for everything on SIGHUP", async () => {
  const only = offer("1", oneLimit("a", 1));
  await withProcess(only, async (server, service) => {
    await server.waitFor(
      "the answer",
      ({ versionInfo }) => versionInfo === "1",
    );
    service.signal("SIGHUP");
    const again = await server.waitFor(
      "a second stream",
      ({ stream }) => stream === 1,
    );
    assertEquals([again.versionInfo, again.responseNonce], ["", ""]);
    await waitUntil(
      async () => await readStat(service.debugUrl, SUCCESSES) === 2,
      { what: "the second load" },
    );
    assertEquals(await limitInForce(service.httpUrl, PLACE), 1);
  });
});

Deno.test("ratelimit loads a megabyte of rules from a discovery server while decisions go on", async () => {
  const many = (limit: number): PlainRules => ({
    name: "many",
    domain: "many",
    descriptors: Array.from({ length: 20_000 }, (_, at) => ({
      key: "user",
      value: `user-with-a-long-name-${at}`,
      rateLimit: { unit: UNITS.DAY, requestsPerUnit: limit },
    })),
  });
  const small = offer("1", oneLimit("a", 1));
  await withProcess(small, async (server, service) => {
    const { httpUrl } = service;
    let isLoaded = false;
    const latest = async (): Promise<number | undefined> => {
      const { text } = await postJson(httpUrl, {
        domain: "many",
        descriptors: [{
          entries: [{ key: "user", value: "user-with-a-long-name-19999" }],
          hitsAddend: 0,
        }],
      });
      return JSON.parse(text).statuses[0].currentLimit?.requestsPerUnit;
    };
    let decisions = 0;
    const deciding = (async () => {
      while (!isLoaded) {
        assertEquals(await limitInForce(httpUrl, PLACE), 1);
        decisions += 1;
      }
    })();
    try {
      server.offer(offer("2", oneLimit("a", 1), many(3)));
      await waitUntil(async () => await latest() === 3, {
        what: "the megabyte",
      });
    } finally {
      isLoaded = true;
      await deciding;
    }
    assert(decisions > 20, `${decisions} decisions meanwhile`);
  });
});
