import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { hash } from "node:crypto";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { Jwks } from "../../access/jwks.ts";
import { JwtVerifier } from "../../access/jwt.ts";
import { ProviderLogin } from "../../access/provider_login.ts";
import { IdentityProviderServer } from "../../access/testing/identity_provider_server.ts";
import { addUser } from "../../routes/users/testing/add_user.ts";
import { openTestConsole, type TestConsole } from "../testing/test_console.ts";

const CLIENT = "console";

/** A console whose users sign in at a provider that a test plays. */
interface Setup extends AsyncDisposable {
  readonly browser: TestConsole;
  /** Claims of the next token that differ from the usual ones. */
  readonly claims: Record<string, unknown>;
  /** The description that the provider gives of itself. */
  readonly description: Record<string, unknown>;
  /** What was sent to the provider's token endpoint. */
  readonly redeemed: URLSearchParams[];
  /** Follows the link to the provider; returns the address it leads to. */
  begin(next?: string): Promise<URL>;
  /** Returns from the provider with a code. */
  finish(state: string | null): ReturnType<TestConsole["read"]>;
}

async function setUp(): Promise<Setup> {
  const clock = new FakeClock();
  const provider = await IdentityProviderServer.start();
  const keys = new Jwks({
    url: provider.keySetUrl,
    fetch,
    clock,
    logger: new RecordingLogger(),
  });
  const issuer = provider.url;
  const claims: Record<string, unknown> = {};
  const redeemed: URLSearchParams[] = [];
  const description: Record<string, unknown> = {
    issuer,
    authorization_endpoint: `${issuer}/authorize?tenant=x`,
    token_endpoint: `${issuer}/token`,
  };
  let asked: URL | undefined;
  const login = new ProviderLogin({
    issuer,
    clientId: CLIENT,
    clientSecret: "s3cret",
    clock,
    tokens: new JwtVerifier({ issuer, audiences: [CLIENT], clock, keys }),
    async fetch(url, { body }) {
      if (url === `${issuer}/.well-known/openid-configuration`) {
        return Response.json(description);
      }
      assertEquals(url, `${issuer}/token`);
      const sent = new URLSearchParams(String(body));
      redeemed.push(sent);
      const challenge = asked?.searchParams.get("code_challenge");
      const verifier = sent.get("code_verifier") ?? "";
      if (
        sent.get("code") !== "code-1" ||
        hash("sha256", verifier, "base64url") !== challenge
      ) return Response.json({ error: "invalid_grant" }, { status: 400 });
      const token = await provider.mint({
        ...provider.claimsAt(clock.nowMs(), CLIENT),
        nonce: asked?.searchParams.get("nonce"),
        ...claims,
      });
      return Response.json({ id_token: token, access_token: "opaque" });
    },
  });
  const browser = await openTestConsole({ clock, login });
  return {
    browser,
    claims,
    description,
    redeemed,
    async begin(next = "/console/tasks") {
      const { location } = await browser.read(
        `/sign-in/provider?next=${encodeURIComponent(next)}`,
      );
      asked = new URL(location);
      return asked;
    },
    finish(state) {
      const query = new URLSearchParams({ code: "code-1", state: state ?? "" });
      return browser.read(`/sign-in/callback?${query}`);
    },
    async [Symbol.asyncDispose]() {
      await keys.stop();
      await browser.api.close();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a user signs in at the identity provider and has the rights of the role", async () => {
  await using setup = await setUp();
  const { browser, redeemed } = setup;
  await addUser(browser.api, { role: "viewer" });
  const form = await browser.read("/sign-in?next=/console/tasks");
  assertStringIncludes(form.html, "/console/sign-in/provider?next=");
  const asked = await setup.begin();
  const { searchParams: query } = asked;
  assertEquals(query.get("tenant"), "x");
  assertEquals(query.get("client_id"), CLIENT);
  assertEquals(query.get("code_challenge_method"), "S256");
  const redirectUri = "http://acme.tercet.test/console/sign-in/callback";
  assertEquals(query.get("redirect_uri"), redirectUri);
  const back = await setup.finish(query.get("state"));
  assertEquals(back.status, 200);
  assertStringIncludes(back.html, 'content="0;url=/console/tasks"');
  const [sent] = redeemed;
  assertEquals(sent?.get("redirect_uri"), redirectUri);
  assertEquals(sent?.get("client_secret"), "s3cret");
  assertEquals((await browser.read("/tasks")).status, 200);
  const refused = await browser.send("/tasks/tsk_1", { action: "cancel" });
  assertEquals(refused.status, 403);

  const { users } = browser.api.engine.parts.repositories;
  const [user] = await users.all(browser.api.tenant.id);
  assert(user !== undefined);
  await browser.api.write(
    users.update(user, {
      ...user,
      version: user.version + 1,
      status: "disabled",
    }),
  );
  assertEquals((await browser.read("/tasks")).status, 303);
});

Deno.test("a return that answers no sign-in of this browser opens no session", async () => {
  await using setup = await setUp();
  const { browser } = setup;
  await addUser(browser.api);
  const asked = await setup.begin();
  const state = asked.searchParams.get("state");
  const { cookie = "" } = browser.headers;
  for (
    const [sentState, sentCookie] of [
      ["x".repeat(43), cookie],
      ["", cookie],
      [state, ""],
      [state, "tercet_login=a.b.c"],
    ]
  ) {
    browser.headers.cookie = sentCookie ?? "";
    const answer = await setup.finish(sentState ?? "");
    assertEquals(answer.status, 401);
    assertEquals(answer.headers["set-cookie"], undefined);
  }
  assertEquals(setup.redeemed, []);
});

Deno.test("a token of another nonce, audience or person opens no session", async () => {
  await using setup = await setUp();
  const { browser, claims } = setup;
  await addUser(browser.api);
  for (
    const wrong of [
      { nonce: "x".repeat(43) },
      { nonce: undefined },
      { aud: "other" },
      { iss: "https://evil.example" },
      { exp: 1 },
      { email: "bob@example.com" },
      { email_verified: false },
    ]
  ) {
    const asked = await setup.begin();
    Object.assign(claims, wrong);
    const answer = await setup.finish(asked.searchParams.get("state"));
    assertEquals(answer.status, 401, JSON.stringify(wrong));
    assertEquals(answer.headers["set-cookie"], undefined);
    for (const name of Object.keys(wrong)) delete claims[name];
  }
  const asked = await setup.begin();
  const good = await setup.finish(asked.searchParams.get("state"));
  assertEquals(good.status, 200);
});

Deno.test("a provider that names no usable endpoints is told as one that does not answer", async () => {
  for (
    const wrong of [
      { issuer: "https://evil.example" },
      { token_endpoint: "ftp://x" },
      { authorization_endpoint: undefined },
    ]
  ) {
    await using setup = await setUp();
    Object.assign(setup.description, wrong);
    const answer = await setup.browser.read("/sign-in/provider");
    assertEquals(answer.status, 503);
    assertStringIncludes(answer.html, "does not answer");
  }
});

Deno.test("a link on another site leads to its page by way of one of this site", async () => {
  const browser = await openTestConsole();
  browser.headers["sec-fetch-site"] = "cross-site";
  const answer = await browser.read("/sign-in?next=/console/tasks");
  assertStringIncludes(answer.html, 'content="0;url=/console/tasks"');
  browser.headers["sec-fetch-site"] = "same-origin";
  const form = await browser.read("/sign-in?next=/console/tasks");
  assertStringIncludes(form.html, 'name="key"');
  assert(!form.html.includes("/sign-in/provider"), "there is no provider");
  await browser.signIn();
  for (const path of ["/sign-in/provider", "/sign-in/callback", "/nothing"]) {
    const missing = await browser.read(path);
    assertEquals(missing.status, 404);
    assertStringIncludes(missing.html, "There is no such page");
  }
  await browser.api.close();
});
