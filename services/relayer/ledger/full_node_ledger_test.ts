import { assert, assertEquals, assertThrows } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { systemClock } from "../../shared/clock.ts";
import { FullNodeLedger } from "./full_node_ledger.ts";
import type { AccountOutcome } from "./ledger.ts";

type FullNodeLedgerOptions = ConstructorParameters<typeof FullNodeLedger>[0];

const PACKAGE = `0x${"9".repeat(64)}`;
const ACCOUNT = `0x${"1".repeat(64)}`;
const OWNER = `0x${"a".repeat(64)}`;
const KEY = "07".repeat(32);

type Answer = (call: RpcCall) => Response | Promise<Response>;

interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

Deno.test("account() reads an account", async () => {
  const calls: RpcCall[] = [];
  await withNode(
    (call) => {
      calls.push(call);
      return result({ data: createObject() });
    },
    async (ledger) => {
      const outcome = await ledger.account(ACCOUNT.slice(2).toUpperCase());
      assertEquals(outcome, {
        kind: "ok",
        account: {
          accountId: ACCOUNT,
          owner: OWNER,
          isActive: true,
          delegateKeys: [{
            publicKey: KEY,
            address: `0x${"b".repeat(64)}`,
            label: "phone",
          }],
          access: undefined,
        },
      });
      assertEquals(calls, [{
        method: "sui_getObject",
        params: [ACCOUNT, {
          showType: true,
          showOwner: true,
          showContent: true,
        }],
      }]);
    },
  );
});

Deno.test("account() reads what key servers decide by, where the ledger tells it", async () => {
  const owner = { Shared: { initial_shared_version: 17 } };
  const counted = { ...createFields(), access_counter_version: "3" };
  for (
    const [data, access] of [
      [{ ...createObject({ fields: counted }), owner }, {
        initialVersion: "17",
        counter: "3",
      }],
      [{ ...createObject(), owner }, {
        initialVersion: "17",
        counter: undefined,
      }],
      [{ ...createObject(), owner: { AddressOwner: OWNER } }, undefined],
      [{
        ...createObject(),
        owner: { Shared: { initial_shared_version: "-1" } },
      }, undefined],
    ] as const
  ) {
    const outcome = await read(() => result({ data }));
    assertEquals(outcome.kind === "ok" && outcome.account.access, access);
  }
});

Deno.test("account() reads an account anew each time, once for all who ask meanwhile", async () => {
  let calls = 0;
  await withNode(
    () => {
      calls++;
      return result({ data: createObject() });
    },
    async (ledger) => {
      await Promise.all([1, 2, 3].map(() => ledger.account(ACCOUNT)));
      assertEquals(calls, 1);
      await ledger.account(ACCOUNT);
      assertEquals(calls, 2);
    },
  );
});

Deno.test("account() is tolerant of what is missing in the fields", async () => {
  const fields = createFields();
  const { active: _, ...without } = fields;
  const cases: readonly (readonly [unknown, Partial<Seen>])[] = [
    [without, { isActive: true, keys: [KEY] }],
    [{ ...fields, active: false }, { isActive: false }],
    [{ ...fields, active: null }, { isActive: false }],
    [{ ...fields, active: "true" }, { isActive: false }],
    [{ ...fields, delegate_keys: [] }, { keys: [] }],
    [{ ...fields, delegate_keys: [null, 1, {}, { fields: {} }] }, { keys: [] }],
    [{ ...fields, delegate_keys: [createKey([1, 2])] }, { keys: [] }],
    [{ ...fields, delegate_keys: [createKey(Array(32).fill(256))] }, {
      keys: [],
    }],
    [{ ...fields, delegate_keys: [createKey(Array(32).fill(1.5))] }, {
      keys: [],
    }],
    [{ ...fields, delegate_keys: [createKey(Array(32).fill("7"))] }, {
      keys: [],
    }],
    // Some versions of nodes send a key's members without the wrapping object.
    [
      { ...fields, delegate_keys: [{ public_key: Array(32).fill(7) }] },
      { keys: [KEY] },
    ],
  ];
  for (const [changed, expected] of cases) {
    const outcome = await read(() =>
      result({ data: createObject({ fields: changed }) })
    );
    const seen = toSeen(outcome);
    assertEquals({ ...seen, ...expected }, seen, JSON.stringify(changed));
  }
});

Deno.test("account() takes no object of another package for an account", async () => {
  const types = [
    `0x${"8".repeat(64)}::account::MemWalAccount`,
    `${PACKAGE}::account::AccountRegistry`,
    `${PACKAGE}::other::MemWalAccount`,
    `${PACKAGE}::account::MemWalAccount<${PACKAGE}::x::Y>`,
    `x${PACKAGE}::account::MemWalAccount`,
    "package",
    undefined,
  ];
  for (const type of types) {
    const outcome = await read(() => result({ data: createObject({ type }) }));
    assertEquals(outcome, { kind: "missing" }, type);
  }
  const type = `${PACKAGE.slice(2)}::account::MemWalAccount`;
  const outcome = await read(() => result({ data: createObject({ type }) }));
  assertEquals(outcome.kind, "ok");
});

Deno.test("account() tells what is not there from what cannot be had", async () => {
  const error = (code: unknown): Response => result({ error: { code } });
  assertEquals((await read(() => error("notExists"))).kind, "missing");
  assertEquals((await read(() => error("deleted"))).kind, "missing");
  const answers: readonly Answer[] = [
    () => error("displayError"),
    () => result(null),
    () => result({}),
    () => result({ data: null }),
    () => result({ data: createObject({ fields: null }) }),
    () =>
      result({
        data: createObject({ fields: { ...createFields(), owner: 5 } }),
      }),
    () =>
      result({ data: { ...createObject(), objectId: `0x${"2".repeat(64)}` } }),
    () => Response.json({ jsonrpc: "2.0", id: 1, error: { code: -32000 } }),
    () => Response.json([]),
    () => Response.json(5),
    () => new Response(""),
    () => new Response("<html>"),
    () => new Response('{"jsonrpc":"2.0","id":1,"result":{"da'),
    () => new Response("slow down", { status: 429 }),
    () => new Response("x".repeat(100_000), { status: 503 }),
    () => new Response(null, { status: 307, headers: { location: "/x" } }),
    () => result({ data: createObject(), more: "x".repeat(400_000) }),
  ];
  for (const answer of answers) {
    const outcome = await read(answer);
    assertEquals(outcome.kind, "unavailable", String(answer));
    assert(outcome.kind === "unavailable" && outcome.reason.length < 400);
  }
});

Deno.test("account() takes a node that ends in the middle for one that is away", async () => {
  const outcome = await read(() => {
    const stream = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode('{"jsonrpc"'));
        controller.error(new Error("gone"));
      },
    });
    return new Response(stream);
  });
  assertEquals(outcome.kind, "unavailable");
  const ledger = ledgerAt("http://127.0.0.1:1/");
  assertEquals((await ledger.account(ACCOUNT)).kind, "unavailable");
  await ledger.stop();
});

Deno.test("account() waits no longer than told", async () => {
  const clock = new FakeClock();
  let isAborted = false;
  const ledger = ledgerAt("http://node.test/", {
    clock,
    timeoutMs: 1_000,
    fetch: (_url, init) =>
      new Promise((_, reject) =>
        init.signal?.addEventListener("abort", () => {
          isAborted = true;
          reject(new Error("aborted"));
        })
      ),
  });
  const outcome = ledger.account(ACCOUNT);
  await clock.advanceAsync(1_000);
  assertEquals(await outcome, {
    kind: "unavailable",
    reason: "no answer within 1000 ms",
  });
  assertEquals(isAborted, true);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("account() waits no longer for a body that trickles", async () => {
  await withNode(
    () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(Uint8Array.of(32)),
        }, { highWaterMark: 0 }),
      ),
    async (ledger) => {
      const outcome = await ledger.account(ACCOUNT);
      assertEquals(outcome, {
        kind: "unavailable",
        reason: "no answer within 200 ms",
      });
    },
    { timeoutMs: 200, maxBytes: 1e12 },
  );
});

Deno.test("account() bounds how many calls are under way", async () => {
  const answers: (() => void)[] = [];
  await withNode(
    () =>
      new Promise((resolve) =>
        answers.push(() => resolve(result({ error: { code: "notExists" } })))
      ),
    async (ledger) => {
      const first = ledger.account("0x1");
      const second = ledger.account("0x2");
      const third = await ledger.account("0x3");
      assertEquals(third.kind, "unavailable");
      await waitUntil(() => answers.length === 2, { what: "both calls" });
      for (const answer of answers) answer();
      assertEquals((await first).kind, "missing");
      assertEquals((await second).kind, "missing");
    },
    { maxCalls: 2 },
  );
});

Deno.test("account() reads for owners while newcomers and strangers use up their own calls", async () => {
  const answers: (() => void)[] = [];
  await withNode(
    () =>
      new Promise((resolve) =>
        answers.push(() => resolve(result({ error: { code: "notExists" } })))
      ),
    async (ledger) => {
      const stranger = ledger.accountOfOwner("0x1", "stranger");
      const newcomer = ledger.account("0x2", "newcomer");
      const owner = ledger.account("0x2", "owner");
      const refused = [
        await ledger.accountOfOwner("0x3", "stranger"),
        await ledger.account("0x3", "newcomer"),
      ];
      assertEquals(refused.map(({ kind }) => kind), [
        "unavailable",
        "unavailable",
      ]);
      await waitUntil(() => answers.length === 3, { what: "the calls" });
      for (const answer of answers) answer();
      assertEquals((await owner).kind, "missing");
      await Promise.all([stranger, newcomer]);
    },
    { maxCalls: 1, registryId: "0x9" },
  );
});

Deno.test("stop() ends calls that are under way", async () => {
  const held = Promise.withResolvers<Response>();
  await withNode(() => held.promise, async (ledger) => {
    const outcome = ledger.account(ACCOUNT);
    await ledger.stop();
    assertEquals((await outcome).kind, "unavailable");
    assertEquals((await ledger.account(ACCOUNT)).kind, "unavailable");
    held.resolve(new Response());
  });
});

Deno.test("accountOfOwner() finds accounts by way of the registry", async () => {
  const calls: string[] = [];
  const registry = { accounts: { fields: { id: { id: "0x7" } } } };
  const answer: Answer = ({ method, params }) => {
    calls.push(method);
    if (method === "suix_getDynamicFieldObject") {
      const owner = (params[1] as { readonly value: string }).value;
      return owner === OWNER
        ? result({ data: { content: { fields: { value: ACCOUNT } } } })
        : result({ error: { code: "dynamicFieldNotFound" } });
    }
    return params[0] === ACCOUNT
      ? result({ data: createObject() })
      : result({ data: { content: { fields: registry } } });
  };
  await withNode(answer, async (ledger) => {
    const found = await ledger.accountOfOwner(OWNER.toUpperCase().slice(2));
    assertEquals(found.kind === "ok" && found.account.accountId, ACCOUNT);
    assertEquals((await ledger.accountOfOwner("0x2")).kind, "missing");
    assertEquals(calls, [
      "sui_getObject",
      "suix_getDynamicFieldObject",
      "sui_getObject",
      "suix_getDynamicFieldObject",
    ]);
  }, { registryId: "0x5" });
});

Deno.test("accountOfOwner() and accountOfKey() find nothing where they have nothing to ask", async () => {
  const ledger = ledgerAt("http://127.0.0.1:1/");
  assertEquals((await ledger.accountOfOwner(OWNER)).kind, "missing");
  assertEquals((await ledger.accountOfKey(KEY)).kind, "missing");
  assertEquals((await ledger.account("x")).kind, "missing");
  await ledger.stop();
});

Deno.test("FullNodeLedger wants ids", () => {
  assertThrows(() => ledgerAt("http://x/", { packageId: "" }), TypeError);
  assertThrows(() => ledgerAt("http://x/", { registryId: "x" }), TypeError);
});

interface Seen {
  readonly isActive: boolean;
  readonly keys: readonly string[];
}

function toSeen(outcome: AccountOutcome): Seen {
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return {
    isActive: outcome.account.isActive,
    keys: outcome.account.delegateKeys.map(({ publicKey }) => publicKey),
  };
}

function createKey(publicKey: readonly unknown[]): unknown {
  return {
    type: `${PACKAGE}::account::DelegateKey`,
    fields: {
      public_key: publicKey,
      sui_address: `0x${"b".repeat(64)}`,
      label: "phone",
      created_at: "1",
    },
  };
}

function createFields(): Readonly<Record<string, unknown>> {
  return {
    owner: OWNER,
    active: true,
    delegate_keys: [createKey(Array(32).fill(7))],
    id: { id: ACCOUNT },
  };
}

function createObject(
  content: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    objectId: ACCOUNT,
    version: "12",
    digest: "x",
    content: {
      dataType: "moveObject",
      type: `${PACKAGE}::account::MemWalAccount`,
      fields: createFields(),
      ...content,
    },
  };
}

function result(value: unknown): Response {
  return Response.json({ jsonrpc: "2.0", id: 1, result: value });
}

function ledgerAt(
  url: string,
  options: Partial<FullNodeLedgerOptions> = {},
): FullNodeLedger {
  return new FullNodeLedger({
    url,
    packageId: PACKAGE,
    fetch,
    clock: systemClock,
    ...options,
  });
}

async function read(answer: Answer): Promise<AccountOutcome> {
  let outcome: AccountOutcome | undefined;
  await withNode(answer, async (ledger) => {
    outcome = await ledger.account(ACCOUNT);
  });
  assert(outcome !== undefined);
  return outcome;
}

async function withNode(
  answer: Answer,
  test: (ledger: FullNodeLedger) => Promise<void>,
  options: Partial<FullNodeLedgerOptions> = {},
): Promise<void> {
  const server = Deno.serve(
    {
      port: 0,
      hostname: "127.0.0.1",
      onListen: () => {},
      onError: () => new Response(null, { status: 500 }),
    },
    async (request) => {
      const { method, params } = await request.json();
      return await answer({ method, params });
    },
  );
  const ledger = ledgerAt(`http://127.0.0.1:${server.addr.port}/`, options);
  try {
    await test(ledger);
  } finally {
    await ledger.stop();
    await server.shutdown();
  }
}
