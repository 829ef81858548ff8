import { assertEquals, assertStrictEquals } from "@std/assert";
import { FairTurns } from "../../shared/fair_turns.ts";
import type { HttpHandler, HttpHeaders } from "../../shared/http/exchange.ts";
import { withTestServer } from "../../shared/http1/testing/test_server.ts";
import { Authenticator } from "../access/authenticator.ts";
import { parseToken } from "../access/credential_token.ts";
import { CredentialRecords } from "../engine/credential_records.ts";
import { createHandler } from "./handler.ts";
import { IdempotentAnswers } from "./idempotency.ts";
import { keyRoutes } from "../routes/keys/key_routes.ts";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
} from "../routes/testing/test_api.ts";
import { testRequest } from "../routes/testing/test_request.ts";

interface Bench {
  readonly api: TestApi;
  readonly handler: HttpHandler;
  /**
   * Requests the list of keys with this headers object; returns the status, and
   * the code of a problem.
   */
  ask(headers: HttpHeaders, from?: string): Promise<readonly unknown[]>;
}

/** The API with a handler that takes requests with any headers object. */
async function withBench(use: (bench: Bench) => Promise<void>): Promise<void> {
  const api = await openTestApi({ routes: keyRoutes });
  const { parts, engine, clock, logger } = api;
  const handler = createHandler({
    routes: keyRoutes(parts),
    serviceHost: SERVICE_HOST,
    devFallback: false,
    trustedProxies: [],
    repositories: engine.parts.repositories,
    limitsOfPlan: parts.plans.getLimits,
    operatorDigests: [],
    authenticator: new Authenticator({
      store: new CredentialRecords(engine.parts),
      clock,
    }),
    leaseSource: engine,
    maxBodyBytes: 1_000,
    maxBodiesBytes: 1_048_576,
    answers: new IdempotentAnswers({ store: engine.parts.store, clock }),
    turns: new FairTurns(),
    clock,
    logger,
  });
  try {
    await use({
      api,
      handler,
      async ask(headers, address = "192.0.2.1") {
        const request = testRequest({
          method: "GET",
          target: "/api/v1/keys",
          address,
        });
        const { status, body } = await handler({ ...request, headers });
        const code: unknown = JSON.parse(String(body)).code;
        return code === undefined ? [status] : [status, code];
      },
    });
  } finally {
    await api.close();
  }
}

function headersWith(key: string, domain = "acme"): HttpHeaders {
  return testRequest({
    method: "GET",
    target: "/",
    headers: {
      host: `${domain}.${SERVICE_HOST}`,
      authorization: `Bearer ${key}`,
    },
  }).headers;
}

function parseId(key: string): string {
  return parseToken(key)?.id ?? "";
}

const REFUSED = [401, "invalid_credentials"];

Deno.test("a key that is removed is refused at the next request of the same head", async () => {
  await withBench(async ({ api, ask }) => {
    const key = await api.addKey();
    const headers = headersWith(key);
    assertEquals(await ask(headers), [200]);
    assertEquals(await ask(headers), [200]);
    const removed = await api.call("DELETE", `/v1/keys/${parseId(key)}`);
    assertEquals(removed.status, 204);
    assertEquals(await ask(headers), REFUSED);
    // The same headers on another connection are refused as well.
    assertEquals(await ask(headersWith(key)), REFUSED);
  });
});

Deno.test("a key that expires is refused at the next request of the same head", async () => {
  await withBench(async ({ api, ask }) => {
    const expiresAtMs = api.clock.nowMs() + 2_000;
    const headers = headersWith(await api.addKey({ expiresAtMs }));
    assertEquals(await ask(headers), [200]);
    // Not so late that anything is read again because of its age.
    api.clock.advance(1_999);
    assertEquals(await ask(headers), [200]);
    api.clock.advance(1);
    assertEquals(await ask(headers), [401, "token_expired"]);
  });
});

Deno.test("a key is refused from another address though the head is the same", async () => {
  await withBench(async ({ api, ask }) => {
    const key = await api.addKey({ networks: ["192.0.2.0/24"] });
    const headers = headersWith(key);
    assertEquals(await ask(headers, "192.0.2.7"), [200]);
    assertEquals(await ask(headers, "198.51.100.7"), [403, "forbidden"]);
    assertEquals(await ask(headers, "192.0.2.7"), [200]);
  });
});

Deno.test("a tenant that is suspended is refused at the next request of the same head", async () => {
  await withBench(async ({ api, ask }) => {
    const { tenants } = api.engine.parts.repositories;
    const headers = headersWith(api.ownerKey);
    assertEquals(await ask(headers), [200]);
    const { tenant } = api;
    const { version } = tenant;
    await api.write(tenants.update(tenant, {
      ...tenant,
      version: version + 1,
      status: "suspended",
    }));
    assertEquals(await ask(headers), [403, "tenant_suspended"]);
  });
});

Deno.test("a secret is compared each time: one head lets no other in", async () => {
  await withBench(async ({ api, ask }) => {
    const key = await api.addKey();
    assertEquals(await ask(headersWith(key)), [200]);
    const other = await api.addTenant("globex");
    assertEquals(await ask(headersWith(key, "globex")), REFUSED);
    assertEquals(await ask(headersWith(other.ownerKey)), REFUSED);
    assertEquals(await ask(headersWith(other.ownerKey, "globex")), [200]);
  });
});

Deno.test("a key that is removed is refused at the next request of its connection", async () => {
  await withBench(async ({ api, handler }) => {
    const key = await api.addKey();
    const heads: HttpHeaders[] = [];
    const watched: HttpHandler = (request) => {
      heads.push(request.headers);
      return handler(request);
    };
    await withTestServer({ handler: watched }, async ({ connect }) => {
      const client = await connect();
      const statuses: number[] = [];
      const ask = async (): Promise<void> => {
        await client.send(
          `GET /api/v1/keys HTTP/1.1\r\nhost: acme.${SERVICE_HOST}\r\n` +
            `authorization: Bearer ${key}\r\n\r\n`,
        );
        statuses.push((await client.answer()).status);
      };
      await ask();
      await ask();
      await api.call("DELETE", `/v1/keys/${parseId(key)}`);
      await ask();
      assertEquals(statuses, [200, 200, 401]);
    });
    // Otherwise the headers were not parsed once, and the test shows nothing.
    assertStrictEquals(heads[2], heads[0]);
  });
});
