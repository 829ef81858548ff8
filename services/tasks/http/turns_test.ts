import { setImmediate } from "node:timers";
import { assert, assertEquals } from "@std/assert";
import { FairTurns } from "../../shared/fair_turns.ts";
import { keyRoutes } from "../routes/keys/key_routes.ts";
import { openTestApi, type TestApi } from "../routes/testing/test_api.ts";
import type { TestAnswer } from "../routes/testing/test_caller.ts";

const PATH = "/v1/keys";
const COUNT = 50;
const ADDRESS = "203.0.113.1";

interface Flooded {
  readonly api: TestApi;
  /** Sends a request, and notes the name when the answer is there. */
  ask(
    name: string,
    call: () => Promise<TestAnswer>,
  ): Promise<TestAnswer>;
  /** The names in the order of the answers. */
  readonly order: string[];
}

/** An API whose requests take turns, all of the same length. */
async function withTurns(
  use: (flooded: Flooded) => Promise<void>,
): Promise<void> {
  let ms = 0;
  const turns = new FairTurns({
    monotonicMs: () => ms += 1,
    maxWaitingPerKey: 100,
  });
  const api = await openTestApi({ routes: keyRoutes, turns });
  const order: string[] = [];
  try {
    await use({
      api,
      order,
      async ask(name, call) {
        const answer = await call();
        order.push(name);
        return answer;
      },
    });
  } finally {
    await api.close();
  }
}

/** Waits until the turns of all requests so far have ended. */
async function turnsEnd(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
}

function times<Value>(make: () => Promise<Value>): Promise<readonly Value[]> {
  return Promise.all(Array.from({ length: COUNT }, make));
}

Deno.test("requests of one tenant do not wait for those of another", () =>
  withTurns(async ({ api, ask, order }) => {
    const { ownerKey } = await api.addTenant("globex");
    const globex = (): Promise<TestAnswer> =>
      api.call("GET", PATH, { host: "globex.tercet.test", key: ownerKey });
    const acme = (): Promise<TestAnswer> => api.call("GET", PATH);
    // From now on both credentials are remembered.
    await acme();
    await globex();
    await turnsEnd();
    const flood = times(() => ask("acme", acme));
    const one = ask("globex", globex);
    await Promise.all([flood, one]);
    assert(order.indexOf("globex") <= 3, order.join(" "));
  }));

Deno.test("requests with wrong credentials make those of the tenant wait for none of them", () =>
  withTurns(async ({ api, ask, order }) => {
    const acme = (): Promise<TestAnswer> =>
      api.call("GET", PATH, { address: ADDRESS });
    await acme();
    await turnsEnd();
    const wrong = await api.addKey({ digest: "0".repeat(64) });
    const flood = times(() =>
      ask(
        "wrong",
        () => api.call("GET", PATH, { key: wrong, address: ADDRESS }),
      )
    );
    const nowhere = times(() =>
      ask(
        "nowhere",
        () =>
          api.call("GET", PATH, {
            host: "initech.tercet.test",
            address: ADDRESS,
          }),
      )
    );
    const own = times(() => ask("acme", acme));
    const [refused, unknown] = await Promise.all([flood, nowhere, own]);
    assertEquals(new Set(refused.map(({ status }) => status)), new Set([401]));
    assertEquals(new Set(unknown.map(({ status }) => status)), new Set([404]));
    // The tenant's requests alternate with those of all strangers together.
    assert(order.indexOf("acme") <= 3, order.join(" "));
    assert(order.lastIndexOf("acme") <= 2 * COUNT + 2, order.join(" "));
  }));

Deno.test("requests without credentials wait for others of their address alone", () =>
  withTurns(async ({ api, ask, order }) => {
    const anonymous = (address: string): Promise<TestAnswer> =>
      api.call("GET", PATH, { key: null, address });
    const flood = times(() => ask("many", () => anonymous(ADDRESS)));
    const one = ask("one", () => anonymous("198.51.100.7"));
    await Promise.all([flood, one]);
    assert(order.indexOf("one") <= 3, order.join(" "));
  }));

Deno.test("requests above those that may wait are refused with 503", () =>
  withTurns(async ({ api }) => {
    await api.call("GET", PATH);
    await turnsEnd();
    const answers = await Promise.all([
      ...await times(() => Promise.resolve()),
      ...await times(() => Promise.resolve()),
      undefined,
      undefined,
    ].map(() => api.call("GET", PATH)));
    const refused = answers.filter(({ status }) => status === 503);
    assertEquals(refused.length, 1);
    assertEquals(refused[0]?.at("code"), "overloaded");
    assert(Number(refused[0]?.headers["retry-after"]) >= 1);
  }));
