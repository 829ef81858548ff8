/**
 * Runs the same suite for the client with the real relayer and with the mock,
 * so that an application's tests with the mock say something about its use of a
 * real relayer.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { Mem, type MemConfig } from "../../mod.ts";
import { findRoute } from "../../sdk/mock/mock_exchange.ts";
import { MemMock } from "../../sdk/testing.ts";
import { relayerDocument } from "../../services/relayer/api/document/relayer_document.ts";
import { allRoutes } from "../../services/relayer/api/handler.ts";
import { openTestRelayer } from "../../services/relayer/api/testing/test_relayer.ts";
import { undocumented } from "../../services/shared/openapi/testing/document_check.ts";
import { onStores } from "../relayer/on_stores.ts";
import { RelayerHome } from "../relayer/relayer_home.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { awaitNextMs } from "./mem_conformance/await_next_ms.ts";
import { LIFE_CASES } from "./mem_conformance/life_cases.ts";
import { RECALL_CASES } from "./mem_conformance/recall_cases.ts";
import { REMEMBER_CASES } from "./mem_conformance/remember_cases.ts";
import { Trial } from "./mem_conformance/trial.ts";

const CASES = [...REMEMBER_CASES, ...RECALL_CASES, ...LIFE_CASES];

const DOCUMENT = relayerDocument(allRoutes(openTestRelayer().parts), "1");

/** Checks that the mock answers as the relayer's document says. */
function checkedFetch({ fetch }: MemConfig): typeof globalThis.fetch {
  return async (url, init) => {
    assert(fetch !== undefined);
    const response = await fetch(String(url), init ?? {});
    const { pathname } = new URL(String(url));
    const found = findRoute(init?.method ?? "GET", pathname);
    assert(found !== undefined, pathname);
    // The health of a mock says that it is one.
    if (found.route === "GET /health") return response;
    const route = found.route.replaceAll(/:([a-z]+)/g, "{$1}");
    const body = await response.clone().text();
    const { status, headers } = response;
    assertEquals(
      undocumented(DOCUMENT, {
        route,
        response: {
          status,
          headers: Object.fromEntries(headers),
          ...body === "" ? {} : { body },
        },
      }),
      [],
      `${route} ${status} ${body}`,
    );
    return response;
  };
}

/** Members of the client's class that no case has to call. */
const OWN_METHODS = ["constructor"];

onStores({
  name: "Mem with the real relayer passes the conformance suite",
  fn: async (storage, t) => {
    await using home = await RelayerHome.open({ storage });
    await using sparing = await RelayerHome.open({
      storage,
      env: { RATE_LIMIT_DISABLED: "false", RATE_PER_KEY_MINUTE: "1" },
    });
    const { key, ...account } = home.account();
    const called = new Set<string>();
    for (const [index, { name, run }] of CASES.entries()) {
      await t.step(`Mem ${name}`, async () => {
        using trial = new Trial({
          config: { key, accountId: account.accountId, serverUrl: home.url },
          account,
          namespace: `case-${index}`,
          tick: awaitNextMs,
          limited: async () => {
            const mem = sparing.mem();
            await mem.stats();
            return mem;
          },
          onCall: (method) => called.add(method),
        });
        await run(trial);
      });
    }
    assertAllCalled(called);
  },
});

Deno.test("MemMock passes the conformance suite", async (t) => {
  const called = new Set<string>();
  for (const [index, { name, run }] of CASES.entries()) {
    await t.step(`MemMock ${name}`, async () => {
      const clock = new FakeClock();
      const mock = MemMock.create({ clock });
      const { accountId, owner } = await mock.mem.whoami().then((who) => ({
        accountId: who.account_id,
        owner: who.owner,
      }));
      using trial = new Trial({
        config: { ...mock.config, fetch: checkedFetch(mock.config) },
        account: {
          accountId,
          owner,
          publicKey: await mock.mem.getPublicKeyHex(),
        },
        namespace: `case-${index}`,
        tick: () => clock.advance(1),
        limited: () => Promise.resolve(limitedByMock()),
        onCall: (method) => called.add(method),
      });
      await run(trial);
      // Nothing that a client does may wait for a timer.
      assertEquals(clock.pendingTimers, 0);
    });
  }
  assertAllCalled(called);
});

/** Asserts that the cases have called every method of the client. */
function assertAllCalled(called: ReadonlySet<string>): void {
  const methods = Object.getOwnPropertyNames(Mem.prototype);
  assertEquals(
    methods.filter((name) => !called.has(name) && !OWN_METHODS.includes(name)),
    [],
  );
}

function limitedByMock(): Mem {
  const mock = MemMock.create();
  mock.fail("POST /api/remember", {
    kind: "status",
    status: 429,
    retryAfterSeconds: 7,
  });
  return mock.mem;
}
