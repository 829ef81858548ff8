import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { IdentityProvider } from "./identity_provider.ts";
import { IdentityProviderServer } from "./testing/identity_provider_server.ts";

type IdentityProviderOptions = ConstructorParameters<
  typeof IdentityProvider
>[0];

const ADA = {
  tenant: "acme",
  userId: "usr_1",
  email: "ada@example.com",
  name: "Ada",
  isBlocked: false,
};

function connect(
  server: IdentityProviderServer,
  options: Partial<IdentityProviderOptions> = {},
): IdentityProvider {
  return new IdentityProvider({
    url: server.url,
    accessToken: server.accessToken,
    fetch,
    clock: new FakeClock(),
    logger: new RecordingLogger(),
    ...options,
  });
}

Deno.test("IdentityProvider.check() makes the one call and accepts a 200", async () => {
  await using server = await IdentityProviderServer.start();
  const calls: [string, RequestInit][] = [];
  const provider = connect(server, {
    url: `${server.url}/`,
    fetch: (url, init) => {
      calls.push([url, init]);
      return fetch(url, init);
    },
  });
  assertEquals(await provider.check(), { kind: "ok" });
  assertEquals(server.managementCalls, [
    { method: "GET", path: "/api/v2/", body: undefined },
  ]);
  const [call] = calls;
  assertEquals(call?.[0], `${server.url}/api/v2/`);
  assertEquals(
    new Headers(call?.[1].headers).get("authorization"),
    `Bearer ${server.accessToken}`,
  );
});

Deno.test("IdentityProvider.check() tells a refused token from a provider in trouble", async () => {
  await using server = await IdentityProviderServer.start();
  const wrong = connect(server, { accessToken: "wrong-token" });
  assertEquals((await wrong.check()).kind, "refused");
  const provider = connect(server);
  const kinds: Readonly<Record<number, string>> = {
    204: "ok",
    302: "unavailable",
    403: "refused",
    404: "unavailable",
    500: "unavailable",
  };
  for (const [status, kind] of Object.entries(kinds)) {
    server.managementFault = { kind: "status", status: Number(status) };
    assertEquals((await provider.check()).kind, kind, status);
  }
});

Deno.test("IdentityProvider gives up after its time", async () => {
  await using server = await IdentityProviderServer.start();
  const clock = new FakeClock();
  const provider = connect(server, { clock });
  server.managementFault = { kind: "silence" };
  const checked = provider.check();
  await waitUntil(() => server.managementCalls.length === 1, {
    what: "the call",
  });
  clock.advance(5_000);
  const outcome = await checked;
  assert(outcome.kind === "unavailable");
  assertStringIncludes(outcome.reason, "5000 ms");
});

Deno.test("IdentityProvider never tells the token, whatever goes wrong", async () => {
  const token = "very-secret-token";
  const failures: readonly Partial<IdentityProviderOptions>[] = [
    { accessToken: `${token}\r\nx: y` },
    { accessToken: `${token}é` },
    { accessToken: "" },
    {
      fetch: () => Promise.reject(new TypeError(`bad header: Bearer ${token}`)),
    },
    {
      fetch: () => {
        throw new TypeError(`bad header: Bearer ${token}`);
      },
    },
    { url: "http://127.0.0.1:1" },
  ];
  for (const failure of failures) {
    const provider = new IdentityProvider({
      url: "http://127.0.0.1:1",
      accessToken: token,
      fetch,
      clock: new FakeClock(),
      logger: new RecordingLogger(),
      ...failure,
    });
    for (
      const outcome of [await provider.check(), await provider.remove("a|1")]
    ) {
      assert(outcome.kind === "unavailable");
      assertNotEquals(outcome.reason, "");
      assert(!JSON.stringify(outcome).includes(token));
    }
  }
});

Deno.test("IdentityProvider adds, changes and removes a user", async () => {
  await using server = await IdentityProviderServer.start();
  const provider = connect(server);
  const created = await provider.create(ADA);
  assert(created.kind === "ok");
  const { subject } = created;
  const { password, ...stored } = server.users.get(subject) ?? {};
  assertEquals(stored, {
    user_id: subject,
    connection: "Username-Password-Authentication",
    email: ADA.email,
    name: ADA.name,
    blocked: false,
    app_metadata: { tenant: "acme", user_id: "usr_1" },
  });
  assertMatch(
    String(password),
    /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*!).{40,72}$/,
  );

  assertEquals(await provider.create(ADA), { kind: "exists" });
  assertEquals(
    await provider.update(subject, { isBlocked: true }),
    { kind: "ok", subject },
  );
  assertEquals(server.users.get(subject)?.blocked, true);
  assertEquals(server.users.get(subject)?.email, ADA.email);
  assertEquals(await provider.remove(subject), { kind: "ok", subject });
  assertEquals(server.users.size, 0);
  assertEquals(await provider.remove(subject), { kind: "not_found" });
  assertEquals(await provider.update(subject, {}), { kind: "not_found" });
});

Deno.test("IdentityProvider reaches users and nothing else by a subject", async () => {
  await using server = await IdentityProviderServer.start();
  const provider = connect(server);
  for (const subject of ["", ".", ".."]) {
    assertEquals(await provider.remove(subject), { kind: "not_found" });
  }
  assertEquals(server.managementCalls, []);
  for (const subject of ["../clients/x", "a?b#c", "auth0|1", "%2e%2e", "..."]) {
    assertEquals(await provider.remove(subject), { kind: "not_found" });
    const path = server.managementCalls.at(-1)?.path ?? "";
    assertMatch(path, /^\/api\/v2\/users\/[^/]+$/);
    assertEquals(decodeURIComponent(path.slice(14)), subject);
  }
});

Deno.test("IdentityProvider tells what is worth another try", async () => {
  await using server = await IdentityProviderServer.start();
  const provider = connect(server);
  const kinds: Readonly<Record<number, string>> = {
    400: "refused",
    401: "refused",
    429: "unavailable",
    500: "unavailable",
  };
  for (const [status, kind] of Object.entries(kinds)) {
    server.managementFault = { kind: "status", status: Number(status) };
    assertEquals((await provider.create(ADA)).kind, kind, status);
  }
  server.managementFault = { kind: "text", text: "{}" };
  assertEquals((await provider.create(ADA)).kind, "unavailable");
  for (const status of [401, 404, 409]) {
    const proxied = connect(server, {
      fetch: () =>
        Promise.resolve(new Response("default backend - 404", { status })),
    });
    for (
      const outcome of [await proxied.create(ADA), await proxied.remove("a|1")]
    ) {
      assertEquals(outcome, {
        kind: "unavailable",
        reason: `the answer has status ${status}`,
      });
    }
  }
  const busy = connect(server, {
    fetch: () =>
      Promise.resolve(
        new Response(null, { status: 429, headers: { "retry-after": "7" } }),
      ),
  });
  assertEquals(await busy.create(ADA), {
    kind: "unavailable",
    reason: "the answer has status 429",
    retryAfterMs: 7_000,
  });
});

Deno.test("IdentityProvider.check() logs the reason when it changes", async () => {
  await using server = await IdentityProviderServer.start();
  const logger = new RecordingLogger();
  const provider = connect(server, { logger });
  assertEquals((await provider.check()).kind, "ok");
  assertEquals(logger.lines, []);
  server.managementFault = { kind: "status", status: 503 };
  assertEquals((await provider.check()).kind, "unavailable");
  assertEquals((await provider.check()).kind, "unavailable");
  server.managementFault = { kind: "status", status: 401 };
  assertEquals((await provider.check()).kind, "refused");
  server.managementFault = undefined;
  await provider.check();
  await provider.check();
  assertEquals(
    logger.lines.map(({ level, fields }) => [level, fields["reason"]]),
    [
      ["warning", "the answer has status 503"],
      ["warning", "the access token is not accepted"],
      ["info", undefined],
    ],
  );
});
