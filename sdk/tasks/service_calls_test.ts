import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { scriptedFetch } from "../memory/testing/scripted_fetch.ts";
import { ServiceCalls } from "./service_calls.ts";
import { TasksClient } from "./tasks_client.ts";
import { TasksError } from "./tasks_error.ts";
import {
  createScriptedCalls,
  problem,
  URL_OF_TENANT,
  waitFor,
} from "./testing/scripted_calls.ts";

const CALL = {
  action: "show the task",
  method: "GET",
  path: ["tasks", "tsk_1"],
} as const;

Deno.test("ServiceCalls refuses options that are not valid before it asks", () => {
  for (
    const [options, message] of [
      [{ url: "acme" }, 'url is "acme"'],
      [{ url: "ftp://acme" }, 'url is "ftp://acme"'],
      [{ key: Object(undefined).key }, "key is missing"],
      [{ key: "" }, "key is empty"],
      [{ key: "a\nb" }, "key is empty or has characters"],
      [{ timeoutMs: 0 }, "timeoutMs is 0"],
      [{ maxRetries: 1.5 }, "maxRetries is 1.5"],
    ] as const
  ) {
    assertThrows(
      () => new ServiceCalls({ url: URL_OF_TENANT, key: "dk_1", ...options }),
      TypeError,
      message,
    );
  }
});

Deno.test("ServiceCalls.call() asks below the address, with the credential and an encoded path and query", async () => {
  for (
    const [url, base] of [
      [URL_OF_TENANT, "/api/v1/"],
      ["http://127.0.0.1:8070/t/acme", "/t/acme/api/v1/"],
      ["https://acme.tasks.test/api/", "/api/v1/"],
    ] as const
  ) {
    const { calls, seen } = createScriptedCalls(
      () => Response.json({ id: "x" }),
      { url },
    );
    const body = await calls.call<{ readonly id: string }>({
      ...CALL,
      path: ["tasks", "a/b"],
      query: { status: ["waiting", "a,b"], limit: 5, cursor: undefined },
    });
    assertEquals(body, { id: "x" });
    const [request] = seen;
    assertEquals(
      request?.path,
      `${base}tasks/a%2Fb?status=waiting,a%2Cb&limit=5`,
    );
    assertEquals(request?.headers.get("authorization"), "Bearer dk_1");
  }
});

Deno.test("ServiceCalls.call() tries again what failed in passing, as long as the service says", async () => {
  const answers = [
    () => problem(429, { headers: { "retry-after": "7" } }),
    () => Promise.reject(new TypeError("fetch failed")),
    () => Response.json({ id: "tsk_1" }),
  ];
  const { calls, seen, clock } = createScriptedCalls(() => answers.shift()!());
  const startMs = clock.nowMs();
  await waitFor(calls.call(CALL), clock);
  assertEquals(seen.length, 3);
  const tookMs = clock.nowMs() - startMs;
  assert(tookMs >= 7_200 && tookMs <= 7_500, String(tookMs));
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("ServiceCalls.call() gives up after its tries, at once for what stays wrong, and when it would wait too long", async () => {
  for (
    const [status, headers, tries] of [
      [503, {}, 4],
      [404, {}, 1],
      [422, {}, 1],
      [429, { "retry-after": "3600" }, 1],
    ] as const
  ) {
    const { calls, seen, clock } = createScriptedCalls(() =>
      problem(status, { headers })
    );
    const error = await assertRejects(
      () => waitFor(calls.call(CALL), clock),
      TasksError,
    );
    assertEquals([error.status, seen.length], [status, tries]);
  }
  const { calls, seen } = createScriptedCalls(() => problem(503));
  const call = { ...CALL, method: "POST" } as const;
  await assertRejects(() => calls.call(call), TasksError);
  assertEquals(seen.length, 1, "who knows what the first one did");
});

Deno.test("ServiceCalls.call() tries again when a proxy refuses in the service's place", async () => {
  for (const status of [401, 403, 404]) {
    const { calls, seen, clock } = createScriptedCalls(() =>
      seen.length < 3
        ? new Response("default backend - 404", { status })
        : Response.json({ id: "tsk_1" })
    );
    const body = await waitFor(calls.call(CALL), clock);
    assertEquals([body, seen.length], [{ id: "tsk_1" }, 3]);
  }
});

Deno.test("ServiceCalls.make() sends one idempotency key with all its tries", async () => {
  const { calls, seen, clock } = createScriptedCalls(() =>
    seen.length < 3
      ? problem(409, { code: "idempotency_in_progress" })
      : Response.json({})
  );
  await waitFor(calls.make("create", { ...CALL, body: {} }, {}), clock);
  const keys = seen.map(({ headers }) => headers.get("idempotency-key"));
  assertEquals(new Set(keys).size, 1);
  await calls.make("create", { ...CALL, body: {} }, {
    idempotencyKey: "order-1",
  });
  assertEquals(seen.at(-1)?.headers.get("idempotency-key"), "order-1");
});

Deno.test("ServiceCalls.call() tells what happened", async () => {
  const cases:
    readonly (readonly [() => Response | Promise<Response>, string, string])[] =
      [
        [
          () => problem(404, { code: "not_found", title: "Not found" }),
          "not_found",
          "Cannot show the task: Not found",
        ],
        [
          () =>
            problem(409, { code: "wrong_state", detail: "Cannot do it: no" }),
          "wrong_state",
          "Cannot do it: no",
        ],
        [
          () =>
            problem(422, {
              ...{ code: "invalid", title: "Invalid" },
              errors: [
                { pointer: "/date", code: "x", detail: "Cannot take date: no" },
                { pointer: "/job", code: "x", detail: "other" },
              ],
            }),
          "invalid",
          "Cannot take date: no (/date), and 1 more",
        ],
        [
          () => new Response("<html>", { status: 200 }),
          "unexpected_answer",
          "answered 200 with something else",
        ],
        [
          () => new Response(null, { status: 302, headers: { location: "/" } }),
          "unexpected_answer",
          "answered 302",
        ],
        [
          () =>
            Promise.reject(
              new TypeError("fetch failed", {
                cause: new Error("connection refused"),
              }),
            ),
          "unreachable",
          "cannot reach https://acme.tasks.test/api/v1/: connection refused",
        ],
        [
          () => new Promise(() => {}),
          "no_answer",
          "no answer from https://acme.tasks.test/api/v1/ within 10000 ms",
        ],
      ];
  for (const [script, code, message] of cases) {
    const { calls, clock } = createScriptedCalls(script, { maxRetries: 0 });
    const error = await assertRejects(
      () => waitFor(calls.call(CALL), clock),
      TasksError,
    );
    assertEquals(error.code, code);
    assert(error.message.includes(message), error.message);
  }
});

Deno.test("ServiceCalls.call() ends with its signal's reason, in a call and between two", async () => {
  const during = new AbortController();
  const { calls } = createScriptedCalls(() => {
    during.abort(new Error("enough"));
    return new Promise(() => {});
  });
  await assertRejects(
    () => calls.call({ ...CALL, signal: during.signal }),
    Error,
    "enough",
  );
  const between = new AbortController();
  const { calls: others } = createScriptedCalls(() => {
    queueMicrotask(() => between.abort(new Error("no more")));
    return problem(503);
  });
  await assertRejects(
    () => others.call({ ...CALL, signal: between.signal }),
    Error,
    "no more",
  );
});

Deno.test("ServiceCalls.call() refuses a body that is no JSON at once", async () => {
  const { calls, seen } = createScriptedCalls(() => problem(503));
  await assertRejects(
    () => calls.make("create the task", { path: [], body: { at: 1n } }, {}),
    TypeError,
    "Cannot create the task: the body is not JSON",
  );
  assertEquals(seen, []);
});

Deno.test("ServiceCalls.call() sends its own credential when a header of that name is given, in whatever case", async () => {
  const { calls, seen } = createScriptedCalls(() => Response.json({}), {
    headers: { Authorization: "Basic other", "X-Proxy": "a" },
  });
  await calls.call(CALL);
  assertEquals(seen[0]?.headers.get("authorization"), "Bearer dk_1");
  assertEquals(seen[0]?.headers.get("x-proxy"), "a");
});

Deno.test("ServiceCalls.call() tries again when its body did not arrive in time", async () => {
  const answers = [problem(408, { code: "request_timeout" })];
  const { calls, seen, clock } = createScriptedCalls(() =>
    answers.shift() ?? Response.json({})
  );
  await waitFor(calls.call(CALL), clock);
  assertEquals(seen.length, 2);
});

Deno.test("ServiceCalls.call() has removed what is gone after a try whose answer was lost, and nothing at the first try", async () => {
  const call = {
    ...CALL,
    action: "remove the task",
    method: "DELETE",
  } as const;
  const gone = () => problem(404, { code: "not_found", title: "Not found" });
  const answers = [() => Promise.reject(new TypeError("broken")), gone];
  const { calls, clock } = createScriptedCalls(() => answers.shift()!());
  const answer = await waitFor(calls.call(call), clock);
  assertEquals(answer, undefined);
  const { calls: others } = createScriptedCalls(gone);
  await assertRejects(() => others.call(call), TasksError, "Not found");
});

Deno.test("ServiceCalls.call() has removed nothing when what is gone was not tried before", async () => {
  for (const status of [408, 429]) {
    const answers = [
      problem(status, { code: "too_early", title: "Later" }),
      problem(404, { code: "not_found", title: "Not found" }),
    ];
    const { calls, clock } = createScriptedCalls(() => answers.shift()!);
    await assertRejects(
      () =>
        waitFor(
          calls.call({ ...CALL, action: "remove the task", method: "DELETE" }),
          clock,
        ),
      TasksError,
      "Not found",
    );
  }
});

Deno.test("TasksClient refuses what is no id before it sends, in every method that takes one", async () => {
  const { fetch, seen } = scriptedFetch(() => Response.json({}));
  const tasks = new TasksClient({
    ...{ url: URL_OF_TENANT, key: "dk_1" },
    fetch: fetch as typeof globalThis.fetch,
  });
  const { workers, keys } = tasks;
  const methods: readonly ((id: string) => PromiseLike<unknown>)[] = [
    (id) => tasks.get(id),
    (id) => tasks.update(id, {}),
    (id) => tasks.patch(id, {}),
    (id) => tasks.remove(id),
    (id) => tasks.cancel(id),
    (id) => tasks.retry(id),
    (id) => tasks.run(id),
    (id) => tasks.pause(id),
    (id) => tasks.resume(id),
    (id) => tasks.history(id).take(1),
    (id) => tasks.attempts(id).take(1),
    (id) => tasks.explain(id),
    (id) => tasks.operation(id),
    (id) => workers.get(id),
    (id) => workers.patch(id, {}),
    (id) => workers.remove(id),
    (id) => workers.pause(id),
    (id) => workers.resume(id),
    (id) => workers.test(id),
    (id) => workers.createCredential(id),
    (id) => workers.secrets(id),
    (id) => workers.addSecrets(id, { type: "credential" }),
    (id) => workers.removeSecret(id, "API_KEY"),
    (id) => workers.removeSecret("mailer", id),
    (id) => keys.get(id),
    (id) => keys.remove(id),
    (id) => keys.rotate(id),
  ];
  for (const none of ["", ".", "..", undefined as unknown as string]) {
    for (const [index, method] of methods.entries()) {
      await assertRejects(
        async () => await method(none),
        TypeError,
        `an id or a name is ${JSON.stringify(none) ?? "undefined"}`,
        `method ${index}`,
      );
    }
  }
  assertEquals(seen, []);
});
