import { assertEquals } from "@std/assert";
import { startRatelimit } from "../support/ratelimit_process.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { ConfigFolder } from "./config_folder.ts";
import { postJson, readStat } from "./http_caller.ts";
import { createRequest, dailyRule } from "./requests.ts";
import { serveHere } from "./service_here.ts";

/** Returns the headers in a response's `responseHeadersToAdd`, by name. */
function readHeaders(answer: string): Readonly<Record<string, string>> {
  const { responseHeadersToAdd = [] }: {
    readonly responseHeadersToAdd?: readonly {
      readonly key: string;
      readonly value: string;
    }[];
  } = JSON.parse(answer);
  return Object.fromEntries(
    responseHeadersToAdd.map(({ key, value }) => [key, value]),
  );
}

Deno.test("ratelimit reads the directory that RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY name, without dot files when told so", async () => {
  await using folder = await ConfigFolder.make({
    "rules.yaml": dailyRule("elsewhere", { key: "k", limit: 1 }),
  });
  const rules = `${folder.root}/live/limits`;
  await Deno.mkdir(rules, { recursive: true });
  await Deno.writeTextFile(
    `${rules}/a.yaml`,
    dailyRule("named", { key: "k", limit: 1 }),
  );
  await Deno.writeTextFile(
    `${rules}/.hidden.yaml`,
    dailyRule("hidden", { key: "k", limit: 1 }),
  );
  for (const [ignored, shown] of [["true", false], ["false", true]] as const) {
    await using service = await serveHere({
      RUNTIME_ROOT: folder.root,
      RUNTIME_SUBDIRECTORY: "live",
      RUNTIME_APPDIRECTORY: "limits",
      RUNTIME_IGNOREDOTFILES: ignored,
    });
    const text = await (await fetch(`${service.debugUrl}/rlconfig`)).text();
    const domains = ["named", "hidden", "elsewhere"].map((domain) =>
      text.includes(`${domain}.k: `)
    );
    assertEquals([ignored, domains], [ignored, [true, shown, false]]);
    assertEquals(await service.stop(), 0);
  }
});

Deno.test("ratelimit adds headers when LIMIT_RESPONSE_HEADERS_ENABLED is true, by the names that are set", async () => {
  await using folder = await ConfigFolder.make({
    "rules.yaml": dailyRule("shop", { key: "k", limit: 5 }),
  });
  const call = createRequest("shop", { k: "v" });
  const names = async (
    env: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, string>>> => {
    await using service = await serveHere({
      RUNTIME_ROOT: folder.root,
      ...env,
    });
    const { text } = await postJson(service.httpUrl, call);
    assertEquals(await service.stop(), 0);
    return readHeaders(text);
  };
  assertEquals(await names({}), {});
  const enabled = { LIMIT_RESPONSE_HEADERS_ENABLED: "true" };
  const usual = await names(enabled);
  assertEquals(Object.keys(usual), [
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
  ]);
  assertEquals(usual["RateLimit-Limit"], "5");
  assertEquals(usual["RateLimit-Remaining"], "4");
  const own = await names({
    ...enabled,
    LIMIT_LIMIT_HEADER: "x-limit",
    LIMIT_REMAINING_HEADER: "x-left",
    LIMIT_RESET_HEADER: "x-reset",
  });
  assertEquals(Object.keys(own), ["x-limit", "x-left", "x-reset"]);
});

Deno.test("ratelimit leaves other counters alone over a limit when STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT is true", async () => {
  await using folder = await ConfigFolder.make({
    "rules.yaml": `${dailyRule("shop", { key: "few", limit: 1 })}  - key: many
    rate_limit:
      unit: day
      requests_per_unit: 100
`,
  });
  const both = createRequest("shop", { few: "v" }, { many: "v" });
  for (const [stops, left] of [["false", 97], ["true", 99]] as const) {
    await using service = await serveHere({
      RUNTIME_ROOT: folder.root,
      STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: stops,
    });
    let last = "";
    for (let call = 0; call < 3; call++) {
      last = (await postJson(service.httpUrl, both)).text;
    }
    const { statuses } = JSON.parse(last);
    assertEquals([stops, statuses[1].limitRemaining], [stops, left]);
    assertEquals(
      await readStat(
        service.debugUrl,
        "ratelimit.service.rate_limit.shop.few.over_limit",
      ),
      2,
    );
    assertEquals(await service.stop(), 0);
  }
});

serviceTest(["redis-server"], {
  name: "ratelimit puts CACHE_KEY_PREFIX before the names of counters",
  async fn() {
    await using folder = await ConfigFolder.make({
      "rules.yaml": dailyRule("shop", { key: "k", limit: 5 }),
    });
    const server = await startRedisServer();
    try {
      await using service = await startRatelimit({
        env: {
          RUNTIME_ROOT: folder.root,
          KVSTORE_SOCKET_TYPE: "tcp",
          KVSTORE_URL: `${server.host}:${server.port}`,
          CACHE_KEY_PREFIX: "prod:",
        },
      });
      const answer = await postJson(
        service.httpUrl,
        createRequest("shop", { k: "v" }),
      );
      assertEquals(answer.status, 200);
      const keys = await server.ask("KEYS", "*");
      assertEquals(keys.startsWith("prod:shop_k_v_day_"), true, keys);
      assertEquals(await service.stop(), 0);
    } finally {
      await server.stop();
    }
  },
});
