import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { RateLimitClient, type RateLimitRequest } from "../ratelimit.ts";
import {
  type HonoContext,
  limitExpress,
  limitFetch,
  limitHono,
  type LimitOptions,
  type NodeAnswer,
} from "./middleware.ts";

const OVER = {
  code: "OVER_LIMIT",
  currentLimit: { requestsPerUnit: 3, unit: "MINUTE" },
  durationUntilReset: "17s",
};
const WITHIN = { ...OVER, code: "OK", limitRemaining: 2 };
const FIELDS = {
  "ratelimit-policy": '"limit";q=3;w=60',
  "ratelimit": '"limit";r=2;t=17',
};

/** How the service answers. */
type Service = "allows" | "refuses" | "has no rule" | "is away";

const ANSWERS: Readonly<Record<Service, () => Promise<Response>>> = {
  "allows": () =>
    Promise.resolve(Response.json({ overallCode: "OK", statuses: [WITHIN] })),
  "refuses": () =>
    Promise.resolve(
      Response.json({ overallCode: "OVER_LIMIT", statuses: [OVER] }, {
        status: 429,
      }),
    ),
  "has no rule": () =>
    Promise.resolve(
      Response.json({ overallCode: "OK", statuses: [{ code: "OK" }] }),
    ),
  "is away": () => Promise.reject(new TypeError("connection refused")),
};

/** Options of a middleware, what was asked, and the codes of errors. */
function createOptions<Args extends readonly unknown[]>(
  service: Service,
  more: Partial<LimitOptions<Args>> = {},
): {
  readonly options: LimitOptions<Args>;
  readonly asked: readonly RateLimitRequest[];
  readonly errors: readonly string[];
} {
  const asked: RateLimitRequest[] = [];
  const errors: string[] = [];
  const options: LimitOptions<Args> = {
    client: new RateLimitClient({
      url: "http://service.test",
      strict: true,
      fetch: async (input, init) => {
        asked.push(await new Request(input, init).json());
        return await ANSWERS[service]();
      },
    }),
    domain: "edge",
    descriptors: () => [{ entries: [{ key: "user", value: "ada" }] }],
    onError: ({ code }) => errors.push(code),
    ...more,
  };
  return { options, asked, errors };
}

type FetchArgs = readonly [Request, string];

/** Sends a request through the middleware for `fetch`. */
async function fetched(
  service: Service,
  more: Partial<LimitOptions<FetchArgs>> = {},
) {
  const { options, ...seen } = createOptions(service, more);
  let calls = 0;
  const handler = limitFetch((request: Request, info: string) => {
    calls++;
    return new Response(`${request.method} ${info}`, {
      status: 201,
      headers: { "ratelimit": '"own";r=1' },
    });
  }, options);
  const response = await handler(new Request("http://site.test"), "info");
  return { response, calls, ...seen };
}

Deno.test("limitFetch() hands on what the limits allow, and adds their fields to the answer", async () => {
  const { response, asked, calls } = await fetched("allows");
  assertEquals([response.status, calls], [201, 1]);
  assertEquals(await response.text(), "GET info");
  assertEquals(
    response.headers.get("ratelimit"),
    `"own";r=1, ${FIELDS.ratelimit}`,
  );
  assertEquals(
    response.headers.get("ratelimit-policy"),
    FIELDS["ratelimit-policy"],
  );
  assertEquals(asked, [{
    domain: "edge",
    descriptors: [{ entries: [{ key: "user", value: "ada" }] }],
  }]);
});

Deno.test("limitFetch() answers with 429 what the limits refuse, without the handler", async () => {
  const { response, calls } = await fetched("refuses");
  assertEquals([response.status, calls], [429, 0]);
  assertEquals(response.headers.get("retry-after"), "17");
  assertEquals(response.headers.get("ratelimit"), '"limit";r=0;t=17');
  assertEquals((await response.json()).title, "Too Many Requests");
});

Deno.test("limitFetch() lets pass or denies by failureMode while the service is away, and tells the error", async () => {
  for (
    const [failureMode, status] of [
      [undefined, 201],
      ["allow", 201],
      ["deny", 503],
    ] as const
  ) {
    const more = failureMode === undefined ? {} : { failureMode };
    const { response, errors } = await fetched("is away", more);
    assertEquals([response.status, errors], [status, ["unreachable"]]);
    assertEquals(response.headers.get("ratelimit-policy"), null);
    await response.body?.cancel();
  }
});

Deno.test("limitFetch() denies what a strict client has no rule for, whatever failureMode is", async () => {
  const { response, errors } = await fetched("has no rule", {
    failureMode: "allow",
  });
  assertEquals([response.status, errors], [503, ["no_rule"]]);
  await response.body?.cancel();
});

Deno.test("limitFetch() waits no longer than the client's timeout", async () => {
  const { response, errors } = await fetched("allows", {
    client: new RateLimitClient({
      url: "http://service.test",
      timeoutMs: 5,
      fetch: (_input, init) =>
        new Promise((_, reject) => {
          const { signal } = init!;
          signal!.addEventListener("abort", () => reject(signal!.reason));
        }),
    }),
  });
  assertEquals([response.status, errors], [201, ["unreachable"]]);
  await response.body?.cancel();
});

Deno.test("limitFetch() asks nothing where descriptors are none, and gives them all arguments", async () => {
  const seen: string[] = [];
  const { response, asked } = await fetched("refuses", {
    descriptors: (request, info) => {
      seen.push(`${request.url} ${info}`);
      return Promise.resolve([]);
    },
  });
  assertEquals([response.status, asked], [201, []]);
  assertEquals(seen, ["http://site.test/ info"]);
  await response.body?.cancel();
});

Deno.test("limitFetch() rejects with what descriptors throw, and with what nothing can be asked by", async () => {
  const descriptors = () => {
    throw new RangeError("no user");
  };
  await assertRejects(
    () => fetched("allows", { descriptors, failureMode: "allow" }),
    RangeError,
    "no user",
  );
  await assertRejects(
    () => fetched("allows", { descriptors: () => [{ entries: [] }] }),
    TypeError,
    "Cannot decide",
  );
});

Deno.test("limitFetch() leaves an answer that it can't copy, and changes none that is given again", async () => {
  const { options } = createOptions<readonly [Request]>("allows");
  const same = new Response(null, { status: 204 });
  const error = Response.error();
  for (const [given, fields] of [[same, 1], [same, 1], [error, 0]] as const) {
    const handler = limitFetch((_request: Request) => given, options);
    const { status, headers } = await handler(new Request("http://site.test"));
    assertEquals(status, given.status);
    assertEquals([...headers].length, 2 * fields);
  }
});

/** An answer of `node:http` that records what is done with it. */
class RecordingAnswer implements NodeAnswer {
  readonly fields: Record<string, string> = {};
  status: number | undefined;
  body: string | undefined;

  getHeader(name: string): string | undefined {
    return this.fields[name.toLowerCase()];
  }

  setHeader(name: string, value: string): void {
    this.fields[name.toLowerCase()] = value;
  }

  writeHead(status: number): void {
    this.status = status;
  }

  end(body: string): void {
    this.body = body;
  }
}

/** Sends a request through the middleware for Express. */
async function throughExpress(
  service: Service,
  more: Partial<LimitOptions<readonly [string]>> = {},
) {
  const { options, errors } = createOptions(service, more);
  const answer = new RecordingAnswer();
  answer.setHeader("RateLimit", '"own";r=1');
  const nexts: unknown[] = [];
  const limit = limitExpress(options);
  await limit("request", answer, (error) => nexts.push(error));
  return { answer, nexts, errors };
}

Deno.test("limitExpress() goes on with the fields set, answers by itself, or hands on an error", async () => {
  const allowed = await throughExpress("allows");
  assertEquals(allowed.nexts, [undefined]);
  assertEquals(allowed.answer.fields, {
    ...FIELDS,
    "ratelimit": `"own";r=1, ${FIELDS.ratelimit}`,
  });
  const refused = await throughExpress("refuses");
  assertEquals([refused.nexts, refused.answer.status], [[], 429]);
  assertEquals(refused.answer.fields["retry-after"], "17");
  assertEquals(JSON.parse(refused.answer.body!).status, 429);
  const fault = new RangeError("no user");
  const failed = await throughExpress("allows", {
    descriptors: () => Promise.reject(fault),
  });
  assertEquals([failed.nexts, failed.answer.status], [[fault], undefined]);
  const away = await throughExpress("is away", { failureMode: "deny" });
  assertEquals([away.nexts, away.answer.status], [[], 503]);
});

/** Sends a request through the middleware for Hono. */
async function throughHono(service: Service, status = 200) {
  const { options } = createOptions<readonly [HonoContext]>(service);
  const res = status === 0 ? Response.error() : new Response("hello");
  let calls = 0;
  const answer = await limitHono(options)({
    res,
    header: (name, value) => res.headers.append(name, value),
    body: (text, status, headers) => new Response(text, { status, headers }),
  }, () => {
    calls++;
    return Promise.resolve();
  });
  return { answer, res, calls };
}

Deno.test("limitHono() goes on and adds the fields to the answer, or answers by itself", async () => {
  const allowed = await throughHono("allows");
  assertEquals([allowed.answer, allowed.calls], [undefined, 1]);
  assertEquals(allowed.res.headers.get("ratelimit"), FIELDS.ratelimit);
  const refused = await throughHono("refuses");
  assertEquals([refused.answer!.status, refused.calls], [429, 0]);
  assertEquals(refused.answer!.headers.get("retry-after"), "17");
  const error = await throughHono("allows", 0);
  assertEquals([error.answer, error.calls], [undefined, 1]);
});

Deno.test("middleware refuses options that are missing when it is made", () => {
  const { options } = createOptions("allows");
  const makers: readonly ((options: unknown) => unknown)[] = [
    (given) => limitFetch(() => new Response(), Object(given)),
    (given) => limitExpress(Object(given)),
    (given) => limitHono(Object(given)),
  ];
  const faults = {
    client: "client is not a RateLimitClient",
    domain: "domain is not text",
    descriptors: "descriptors is not a function",
    onError: "onError is not a function",
  };
  for (const make of makers) {
    for (const [name, told] of Object.entries(faults)) {
      const given = { ...options, [name]: undefined };
      assertThrows(() => make(given), TypeError, told);
    }
    assertThrows(() => make(undefined), TypeError, faults.client);
    assertThrows(
      () => make({ ...options, failureMode: "open" }),
      TypeError,
      'failureMode is neither "allow" nor "deny"',
    );
  }
  assertThrows(
    () => limitFetch(Object(undefined), options),
    TypeError,
    "handler is not a function",
  );
});
