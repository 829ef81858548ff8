import {
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { RateLimitClient, RateLimitError } from "./ratelimit.ts";

const REQUEST = {
  domain: "edge",
  descriptors: [
    { entries: [{ key: "login", value: "ada" }] },
    { entries: [{ key: "path", value: "/" }], hits: 0 },
  ],
};

/** What a status tells where no limit applied. */
const NO_LIMIT = {
  name: undefined,
  remaining: undefined,
  limit: undefined,
  windowSeconds: undefined,
  resetSeconds: undefined,
};

function createClient(answer: (request: Request) => Response): {
  readonly client: RateLimitClient;
  readonly requests: Request[];
} {
  const requests: Request[] = [];
  const client = new RateLimitClient({
    url: "http://service.test:8080",
    fetch: (input, init) => {
      const request = new Request(input, init);
      requests.push(request.clone());
      return Promise.resolve(answer(request));
    },
  });
  return { client, requests };
}

Deno.test("RateLimitClient.check() sends the service's JSON when asked", async () => {
  const { client, requests } = createClient(() => Response.json({}));
  await client.check(REQUEST);
  assertEquals(requests[0]!.url, "http://service.test:8080/json");
  assertEquals(requests[0]!.method, "POST");
  assertEquals(await requests[0]!.json(), {
    domain: "edge",
    descriptors: [
      { entries: [{ key: "login", value: "ada" }] },
      { entries: [{ key: "path", value: "/" }], hitsAddend: 0 },
    ],
  });
});

Deno.test("RateLimitClient.check() tells of every descriptor when a limit is exceeded", async () => {
  const { client } = createClient(() =>
    Response.json({
      overallCode: "OVER_LIMIT",
      statuses: [
        {
          code: "OVER_LIMIT",
          currentLimit: { requestsPerUnit: 3, unit: "MINUTE" },
          durationUntilReset: "17s",
        },
        { code: "OK" },
      ],
    }, { status: 429 })
  );
  assertEquals(await client.check(REQUEST), {
    allowed: false,
    statuses: [
      {
        allowed: false,
        rule: "limit",
        name: undefined,
        remaining: 0,
        limit: 3,
        windowSeconds: 60,
        resetSeconds: 17,
      },
      { allowed: true, rule: "none", ...NO_LIMIT },
    ],
  });
});

Deno.test("RateLimitClient.check() tells an unlimited rule from none, and a window by its metadata", async () => {
  const limit = { requestsPerUnit: 5, unit: "HOUR", name: "quarter" };
  const { client } = createClient(() =>
    Response.json({
      overallCode: "OK",
      statuses: [
        { code: "OK", limitRemaining: 4_294_967_295 },
        { code: "OK", currentLimit: limit, durationUntilReset: "9s" },
      ],
      dynamicMetadata: {
        descriptors: [{}, {
          limits: [
            { requestsPerUnit: 5, windowSeconds: 60 },
            { name: "quarter", requestsPerUnit: 5, windowSeconds: 900 },
          ],
        }],
      },
    })
  );
  const { statuses } = await client.check(REQUEST);
  assertEquals(statuses[0], { allowed: true, rule: "unlimited", ...NO_LIMIT });
  assertEquals(
    [statuses[1]!.name, statuses[1]!.windowSeconds, statuses[1]!.remaining],
    ["quarter", 900, 0],
  );
});

Deno.test("RateLimitClient.check() with strict rejects where no rule is for a descriptor", async () => {
  const limited = { code: "OK", currentLimit: { requestsPerUnit: 3 } };
  const unlimited = { code: "OK", limitRemaining: 4_294_967_295 };
  const none = { code: "OK" };
  const outcomes: string[] = [];
  for (
    const statuses of [
      [limited, unlimited],
      [limited, none],
      [none, none],
      [limited],
    ]
  ) {
    const client = new RateLimitClient({
      url: "http://service.test",
      strict: true,
      fetch: () =>
        Promise.resolve(Response.json({ overallCode: "OK", statuses })),
    });
    const outcome = await client.check(REQUEST).then(
      ({ allowed }) => `${allowed}`,
      ({ code, message }) => `${code} ${message}`,
    );
    outcomes.push(outcome);
  }
  const fault = (which: string) =>
    `no_rule Cannot decide: no rule of the domain "edge" is for descriptor ` +
    `${which}; add one, which may say unlimited: true, or correct the names`;
  assertEquals(outcomes, [
    "true",
    fault('2, of "path"'),
    fault('1, of "login"'),
    fault('2, of "path"'),
  ]);
});

Deno.test("RateLimitClient.check() rejects with the service's words when there is no decision", async () => {
  const { client } = createClient(() =>
    Response.json({ detail: "no rate limit configuration loaded" }, {
      status: 503,
    })
  );
  const error = await assertRejects(
    () => client.check(REQUEST),
    RateLimitError,
    "no rate limit configuration loaded",
  );
  assertEquals([error.code, error.status], ["no_decision", 503]);
});

Deno.test("RateLimitClient.check() rejects when a 429 is not the service's decision", async () => {
  const { client } = createClient(() =>
    Response.json({ message: "slow down" }, { status: 429 })
  );
  const error = await assertRejects(
    () => client.check(REQUEST),
    RateLimitError,
    "the answer is not a decision",
  );
  assertEquals(error.status, 429);
});

Deno.test("RateLimitClient.check() rejects when the answer is no JSON", async () => {
  const { client } = createClient(() => new Response("<html>"));
  const error = await assertRejects(
    () => client.check(REQUEST),
    RateLimitError,
  );
  assertStringIncludes(error.message, "without JSON");
});

Deno.test("RateLimitClient.check() rejects when nobody answers in time", async () => {
  const client = new RateLimitClient({
    url: "http://service.test",
    timeoutMs: 5,
    fetch: (_input, init) =>
      new Promise((_, reject) => {
        const { signal } = init!;
        signal!.addEventListener("abort", () => reject(signal!.reason));
      }),
  });
  const error = await assertRejects(
    () => client.check(REQUEST),
    RateLimitError,
    "none in 5 ms",
  );
  assertEquals([error.code, error.status], ["unreachable", undefined]);
});

Deno.test("RateLimitClient.check() says that it was refused at once, and by whom", async () => {
  const client = new RateLimitClient({
    url: "http://service.test",
    fetch: () =>
      Promise.reject(
        new TypeError("fetch failed", {
          cause: new Error("connect ECONNREFUSED 127.0.0.1:8080"),
        }),
      ),
  });
  await assertRejects(
    () => client.check(REQUEST),
    RateLimitError,
    "no answer from http://service.test/json: connect ECONNREFUSED",
  );
});

Deno.test("RateLimitClient refuses what the service would refuse, before it asks", async () => {
  for (const url of ["", "service.test", "ftp://service.test"]) {
    assertThrows(
      () => new RateLimitClient({ url }),
      TypeError,
      "no http address",
    );
  }
  let asked = 0;
  const { client } = createClient(() => {
    asked++;
    return Response.json({});
  });
  for (
    const request of [
      { ...REQUEST, domain: "" },
      { ...REQUEST, descriptors: [] },
      { ...REQUEST, descriptors: [...REQUEST.descriptors, { entries: [] }] },
    ]
  ) {
    await assertRejects(
      () => client.check(request),
      TypeError,
      "entries empty",
    );
  }
  assertEquals(asked, 0);
});

Deno.test("RateLimitClient.check() ends at once with the reason of its caller's signal", async () => {
  const ending = new AbortController();
  let asked = 0;
  const client = new RateLimitClient({
    url: "http://service.test",
    // A service that never answers, and a runtime that ends no request.
    fetch: () => {
      asked++;
      return new Promise(() => {});
    },
  });
  const { signal } = ending;
  const calls = [1, 2].map(() => client.check(REQUEST, { signal }));
  const reason = new TypeError("the page was left");
  ending.abort(reason);
  const ends = await Promise.allSettled(calls);
  assertEquals(ends, calls.map(() => ({ status: "rejected", reason })));
  await assertRejects(() => client.check(REQUEST, { signal }), TypeError);
  assertEquals(asked, 2);
});

Deno.test("RateLimitClient refuses a timeout that no call could keep, and takes one of any length", async () => {
  for (const timeoutMs of [0, -1, NaN]) {
    assertThrows(
      () => new RateLimitClient({ url: "http://service.test", timeoutMs }),
      TypeError,
      `Cannot use timeoutMs ${timeoutMs}`,
    );
  }
  for (const timeoutMs of [2 ** 31, Infinity]) {
    const client = new RateLimitClient({
      url: "http://service.test",
      timeoutMs,
      fetch: async (_input, init) => {
        // A timer that is too long fires within this time.
        await new Promise((resolve) => setTimeout(resolve, 5));
        init!.signal!.throwIfAborted();
        return Response.json({});
      },
    });
    assertEquals((await client.check(REQUEST)).allowed, true);
  }
});

Deno.test("RateLimitClient.check() says that the answer is late when only its head came in time", async () => {
  const client = new RateLimitClient({
    url: "http://service.test",
    timeoutMs: 5,
    fetch: (_input, init) => {
      const { signal } = init!;
      const body = new ReadableStream({
        start(controller) {
          signal!.addEventListener(
            "abort",
            () => controller.error(signal!.reason),
          );
        },
      });
      return Promise.resolve(new Response(body));
    },
  });
  await assertRejects(
    () => client.check(REQUEST),
    RateLimitError,
    "none in 5 ms",
  );
});

Deno.test("RateLimitClient.check() asks below the path of its address", async () => {
  const asked: string[] = [];
  const urls = ["http://a.test/limits/", "http://a.test/limits/json"];
  for (const url of [...urls, "http://a.test"]) {
    const client = new RateLimitClient({
      url,
      fetch: (input) => {
        asked.push(String(input));
        return Promise.resolve(Response.json({}));
      },
    });
    await client.check(REQUEST);
  }
  assertEquals(asked, [
    "http://a.test/limits/json",
    "http://a.test/limits/json",
    "http://a.test/json",
  ]);
});
