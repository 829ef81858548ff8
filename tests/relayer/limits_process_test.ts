import { assert, assertEquals, assertRejects } from "@std/assert";
import { MemError } from "../../mod.ts";
import { runSteps } from "../support/data_service_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";
import { getMember, sendWire } from "./wire_client.ts";

const LIMITED = { RATE_LIMIT_DISABLED: "false" };

onStores({
  name: "relayer limits keys by minute",
  timeout: 240_000,
  onBoth: true,
  fn: async (storage, t) => {
    // Each step has an account of its own.
    await using home = await RelayerHome.open({
      storage,
      accounts: 2,
      env: { ...LIMITED, RATE_POINT_BYTES: "1024", RATE_PER_KEY_MINUTE: "20" },
    });
    await runSteps(t, home, {
      "relayer counts bytes as points, on top of those of the route":
        countsBytes,
      "relayer answers 429 with layer and Retry-After when points are used up":
        answersLimited,
    });
  },
});

async function countsBytes(home: RelayerHome): Promise<void> {
  const wire = home.wire(home.account(1));
  const remember = (chars: number) =>
    wire.call("POST", "/api/remember", { text: "x".repeat(chars) });
  // The first call costs 5 points and 9 for its bytes, the second 5 points; the
  // one left of 20 is not enough for a third.
  assertEquals((await remember(9_300)).status, 202);
  assertEquals((await remember(100)).status, 202);
  const limited = await remember(100);
  assertEquals(limited.status, 429);
  assertEquals(getMember(limited.json, "layer"), "delegate_key");
}

async function answersLimited(home: RelayerHome): Promise<void> {
  const wire = home.wire();
  const whoami = () => wire.call("GET", "/api/whoami");
  const config = async () => {
    const target = "/config";
    const answer = await sendWire(home.url, { method: "GET", target });
    return getMember(answer.json, "rateLimitDisabled");
  };
  assertEquals(await config(), false);
  const body = { items: [{ text: "Rain tomorrow" }, { text: "Sun today" }] };
  assertEquals(
    (await wire.call("POST", "/api/remember/bulk", body)).status,
    202,
  );
  for (let call = 0; call < 10; call++) {
    assertEquals((await whoami()).status, 200);
  }
  const limited = await whoami();
  assertEquals(limited.status, 429);
  const seconds = Number(limited.headers.get("retry-after"));
  assert(Number.isInteger(seconds) && seconds >= 1 && seconds <= 120);
  assertEquals(
    ["layer", "limit", "retry_after_seconds"].map((name) =>
      getMember(limited.json, name)
    ),
    ["delegate_key", 20, seconds],
  );
  const error = await assertRejects(() => home.mem().recall("rain"), MemError);
  assertEquals(error.status, 429);
  // A request with an invalid signature is answered with 401 rather than 429,
  // since it is not charged.
  const bad = await sendWire(home.url, {
    method: "GET",
    target: "/api/whoami",
  });
  assertEquals(bad.status, 401);
  // Spent points are still known after a restart. Those of a shared store are
  // read within a second after the first call.
  await home.restart();
  if (home.storage.isShared) {
    await waitUntil(async () => (await whoami()).status === 429, {
      what: "points that were spent before",
    });
  }
  assertEquals((await whoami()).status, 429);
  await home.restart({ RATE_LIMIT_DISABLED: "true" });
  assertEquals((await whoami()).status, 200);
  assertEquals(await config(), true);
}

onStores({
  name: "relayer limits accounts by the minute and by the hour",
  fn: async (storage) => {
    await using home = await RelayerHome.open({
      storage,
      env: { ...LIMITED, RATE_PER_ACCOUNT_MINUTE: "4" },
    });
    const wire = home.wire();
    const spend = async (): Promise<unknown> => {
      for (let call = 0; call < 6; call++) {
        const answer = await wire.call("GET", "/api/whoami");
        if (answer.status === 429) return getMember(answer.json, "layer");
      }
      return undefined;
    };
    assertEquals(await spend(), "account_burst");
    await home.restart({
      RATE_PER_ACCOUNT_MINUTE: "60",
      RATE_PER_ACCOUNT_HOUR: "5",
    });
    assertEquals(await spend(), "account_sustained");
  },
});

onStores({
  name: "relayer answers 402 when an owner's storage is used up",
  fn: async (storage) => {
    await using home = await RelayerHome.open({
      storage,
      accounts: 2,
      env: { STORAGE_QUOTA_BYTES: "8192" },
    });
    const mem = home.mem();
    const full = await mem.rememberAndWait("x".repeat(6_000));
    const status = async (act: () => Promise<unknown>) =>
      (await assertRejects(act, MemError)).status;
    assertEquals(await status(() => mem.remember("y".repeat(4_000))), 402);
    assertEquals(
      await status(() => mem.rememberBulk([{ text: "z".repeat(4_000) }])),
      402,
    );
    const vector = await mem.embed("sealed");
    const encryptedData = new Uint8Array(4_000);
    assertEquals(
      await status(() => mem.rememberManual({ encryptedData, vector })),
      402,
    );
    // Another owner has a quota of its own, and deleting a memory frees storage.
    await home.mem({}, home.account(1)).rememberAndWait("w".repeat(4_000));
    assertEquals((await mem.stats()).memory_count, 1);
    await mem.deleteMemory(full.id);
    await waitUntil(async () => {
      try {
        await mem.rememberAndWait("y".repeat(4_000));
        return true;
      } catch (error) {
        if (error instanceof MemError && error.status === 402) return false;
        throw error;
      }
    }, { what: "room" });
  },
});

onStores({
  name:
    "relayer answers with what there is room for, names the rest and gives it by its ids",
  fn: async (storage) => {
    await using home = await RelayerHome.open({
      storage,
      env: { MAX_ANSWER_BYTES: "8192" },
    });
    const mem = home.mem();
    const texts = ["Ada", "Bo", "Cy", "Di"].map((name) =>
      `${name} likes tea. ${name.repeat(1_500)}`
    );
    const { results: stored } = await mem.rememberBulkAndWait(
      texts.map((text) => ({ text })),
    );
    assertEquals(stored.map(({ status }) => status), Array(4).fill("done"));
    const seen: string[] = [];
    let ids: readonly string[] | undefined;
    let rounds = 0;
    do {
      const found = await mem.recall({ query: "Who likes tea?", ids });
      assert(found.results.length >= 1);
      seen.push(...found.results.map(({ text }) => text));
      assertEquals(found.total, found.results.length);
      assertEquals(found.truncated === true, found.omitted_ids !== undefined);
      ids = found.omitted_ids;
      rounds++;
    } while (ids !== undefined);
    assertEquals(seen.toSorted(), texts.toSorted());
    assert(rounds >= 2, `${rounds} rounds`);
  },
});
