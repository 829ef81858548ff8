import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { waitUntil } from "../support/wait_until.ts";
import type { Mem } from "../../mod.ts";
import { FakeEmbedder } from "./fake_embedder.ts";
import { withoutWords } from "./older_entries.ts";
import { listWords } from "./readable_traces.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";

onStores({
  name: "relayer asks its embedder",
  timeout: 240_000,
  fn: async (storage, t) => {
    await using embedder = new FakeEmbedder({ width: 64 });
    await using home = await RelayerHome.open({
      storage,
      env: embedder.env("one"),
    });
    const mem = home.mem();
    await mem.rememberAndWait("Ada prefers oolong tea");
    await t.step(
      "relayer asks its embedding endpoint once for a question that comes again",
      async () => {
        embedder.calls.length = 0;
        for (let round = 0; round < 3; round++) {
          const { results } = await mem.recall({
            query: "which tea does Ada like",
          });
          assertEquals(results[0]?.text, "Ada prefers oolong tea");
        }
        assertEquals(embedder.texts, ["which tea does Ada like"]);
        const families = await readMetrics(await metricsUrl(home.service));
        const sourced = (source: string): number | undefined =>
          findSeries(families, "relayer_question_vectors_total", { source });
        assertEquals(["kept", "shared", "asked"].map(sourced), [2, 0, 1]);
      },
    );
    await t.step(
      "relayer answers a fused recall by words alone while its embedding endpoint fails",
      async () => {
        embedder.refuse = () => new Response("down", { status: 503 });
        const query = "What does Ada prefer?";
        const { results } = await mem.recall({ query, ranking: "fused" });
        assertEquals(results[0]?.text, "Ada prefers oolong tea");
        assertEquals(results[0]?.distance, 1);
        assert((results[0]?.relevance ?? 0) > 0.3);
        await home.service.waitForLine("Recalled by words alone");
      },
    );
  },
});

onStores({
  name:
    "relayer stores what its embedder refuses or is away for, and finds it by words until the vector comes",
  timeout: 240_000,
  fn: async (storage, t) => {
    await using embedder = new FakeEmbedder({ width: 64 });
    await using home = await RelayerHome.open({
      storage,
      env: embedder.env("one"),
    });
    const mem = home.mem();
    const wire = home.wire(home.account());
    const fetchVector = async (id: string): Promise<unknown> =>
      Reflect.get(
        Object(await wire.expect(200, ["GET", `/api/remember/${id}`])),
        "vector",
      );
    const findFirst = async (query: string): Promise<string | undefined> => {
      const found = await mem.recall({ query, ranking: "fused", limit: 1 });
      return found.results[0]?.text;
    };
    await t.step(
      "a text that is too long for the model is shortened",
      async () => {
        embedder.refuse = (texts) =>
          texts.some((text) => text.length > 200)
            ? new Response("context length exceeded", { status: 400 })
            : undefined;
        const text = `The harbour master of Trieste keeps ${
          "ledgers ".repeat(80)
        }`;
        const { id } = await mem.rememberAndWait(text);
        assertEquals(await fetchVector(id), "ready");
      },
    );
    await t.step(
      "a text that the model refuses is found by its words",
      async () => {
        embedder.refuse = (texts) =>
          texts.some((text) => text.includes("poison") || text.includes("ivy"))
            ? new Response("no", { status: 400 })
            : undefined;
        const text = "Beware of poison ivy";
        const [{ id }, other] = await Promise.all([
          mem.rememberAndWait(text),
          mem.rememberAndWait("Tomatoes want sun"),
        ]);
        assertEquals(await fetchVector(other.id), "ready");
        assert(["refused", "pending"].includes(String(await fetchVector(id))));
        await waitUntil(async () => await fetchVector(id) === "refused", {
          what: "the refusal",
        });
        assertEquals(await findFirst("poison ivy"), text);
      },
    );
    await t.step(
      "a text gets its vector once the embedder is back",
      async () => {
        embedder.refuse = () => new Response("down", { status: 503 });
        const text = "Grandmother's recipe needs saffron";
        const { id } = await mem.rememberAndWait(text);
        assertEquals(await fetchVector(id), "pending");
        assertEquals(await findFirst("recipe saffron"), text);
        await home.service.waitForLine("Cannot renew all vectors");
        embedder.refuse = () => undefined;
        await waitUntil(async () => await fetchVector(id) === "ready", {
          what: "the vector",
          intervalMs: 100,
        });
        const { results } = await mem.recall({ query: text, limit: 1 });
        assert((results[0]?.distance ?? 1) < 0.001);
      },
    );
  },
});

onStores({
  name: "relayer asks without a cache",
  timeout: 240_000,
  fn: async (storage, t) => {
    await using embedder = new FakeEmbedder({ width: 64 });
    await using home = await RelayerHome.open({
      storage,
      env: { ...embedder.env("one"), EMBEDDING_CACHE: "0" },
    });
    const mem = home.mem();
    await t.step(
      "relayer asks each time when EMBEDDING_CACHE is 0",
      async () => {
        for (let round = 0; round < 3; round++) {
          await mem.recall({ query: "tea" });
        }
        assertEquals(embedder.texts, ["tea", "tea", "tea"]);
      },
    );
    await t.step(
      "relayer shares a call of the endpoint among equal questions that come together",
      async () => {
        embedder.calls.length = 0;
        const held = Promise.withResolvers<void>();
        embedder.held = held.promise;
        const asked = Array.from(
          { length: 20 },
          () => mem.recall({ query: "tea" }),
        );
        // Waits until the metrics count all but the first question as sharing its
        // call: then all have arrived.
        const url = await metricsUrl(home.service);
        for (let shared = 0; shared < 19;) {
          const families = await readMetrics(url);
          shared = findSeries(families, "relayer_question_vectors_total", {
            source: "shared",
          }) ?? 0;
        }
        held.resolve();
        await Promise.all(asked);
        assertEquals(embedder.texts, ["tea"]);
      },
    );
  },
});

onStores({
  name:
    "relayer says which EMBEDDING_WIDTH is right when the model's vectors have another",
  fn: async (storage) => {
    await using embedder = new FakeEmbedder({ width: 96 });
    await using home = await RelayerHome.open({
      storage,
      env: { ...embedder.env("one"), EMBEDDING_WIDTH: "64" },
    });
    // The start finds it, without a caller.
    const line = await home.service.waitForLine("EMBEDDING_WIDTH");
    assert(line.includes("have 96 numbers, and 64 are set"), line);
    assert(line.includes("set EMBEDDING_WIDTH to 96"), line);
    const health = await (await fetch(`${home.url}/health`)).json();
    assertEquals(health.embedder.state, "misfit");
    assert(health.embedder.reason.includes("set EMBEDDING_WIDTH to 96"));
    await home.mem().rememberAndWait("Ada prefers oolong tea");
    const { results } = await home.mem().recall({ query: "tea" });
    assertEquals(results[0]?.text, "Ada prefers oolong tea");
    const answer = await home.wire(home.account()).expect(200, [
      ...["POST", "/api/recall"] as const,
      { query: "tea" },
    ]);
    assertStringIncludes(
      String(Reflect.get(Object(answer), "notice")),
      "found by words alone",
    );
  },
});

onStores({
  name:
    "relayer asks a model for the width that is set, where the model takes it",
  fn: async (storage) => {
    await using embedder = new FakeEmbedder({ width: 96, takesWidths: true });
    await using home = await RelayerHome.open({
      storage,
      env: { ...embedder.env("one"), EMBEDDING_WIDTH: "64" },
    });
    await home.mem().rememberAndWait("Ada prefers oolong tea");
    const { results } = await home.mem().recall({ query: "oolong tea" });
    assert((results[0]?.distance ?? 1) < 0.9);
    const health = await (await fetch(`${home.url}/health`)).json();
    assertEquals(health.embedder, { state: "ready" });
  },
});

const TEXTS = Array.from(
  { length: 200 },
  (_, number) => `Parcel ${number} came from street ${number % 7}`,
);

onStores({
  name:
    "relayer makes all vectors again when the embedder changes, and recalls meanwhile, also after a crash",
  fn: async (storage) => {
    await using older = new FakeEmbedder({ width: 64 });
    await using newer = new FakeEmbedder({ width: 96 });
    await using home = await RelayerHome.open({
      storage,
      env: older.env("older"),
    });
    await rememberAll(home.mem(), TEXTS);
    await home.stop();

    const held = Promise.withResolvers<void>();
    newer.held = held.promise;
    const env = { ...newer.env("newer"), RENEWALS_PER_SECOND: "200" };
    await home.start(env);
    await home.service.waitForLine("found by words alone");
    await waitUntil(() => newer.calls.length > 0, { what: "a call for texts" });
    held.resolve();
    // A fused recall finds all memories by their words from the start.
    for (const number of [0, 77, 199]) {
      const { results } = await home.mem().recall({
        ...{ query: `Which street did parcel ${number} come from?`, limit: 3 },
        ranking: "fused",
      });
      assertEquals(results[0]?.text, TEXTS[number]);
    }
    // Vectors of one call are stored before the next call is made.
    const callsForTexts = (): number =>
      newer.calls.filter(([text = ""]) => TEXTS.includes(text)).length;
    await waitUntil(() => callsForTexts() > 1, { what: "some vectors" });
    home.service.signal("SIGKILL");
    await home.service.waitForExit();
    const before = newer.texts.filter((text) => TEXTS.includes(text)).length;
    newer.calls.length = 0;
    await home.start(env);
    await home.service.waitForLine("Renewed entries of the index");
    const after = newer.texts.filter((text) => TEXTS.includes(text)).length;
    assert(after < TEXTS.length, `${before} texts before, ${after} after`);
    assert(before + after >= TEXTS.length);

    // Recall by distance finds each text by the vector of the newer embedder.
    for (let number = 0; number < TEXTS.length; number += 9) {
      const text = TEXTS[number] ?? "";
      const { results } = await home.mem().recall({ query: text, limit: 1 });
      assertEquals(results[0]?.text, text);
      assert((results[0]?.distance ?? 1) < 0.001);
    }
    const { total } = await home.mem().recall({ query: "parcel", limit: 100 });
    assertEquals(total, 100);
    const families = await readMetrics(await metricsUrl(home.service));
    const inState = (state: string): number | undefined =>
      findSeries(families, "relayer_index_renewal_memories", { state });
    assertEquals(
      ["checked", "unchecked", "failed", "waiting"].map(inState),
      [200, 0, 0, 0],
    );
    newer.calls.length = 0;
    await home.restart(env);
    await home.service.waitForLine("Loaded the index");
    assertEquals(newer.texts, []);
  },
});

onStores({
  name:
    "relayer makes vectors again of owners that INDEX_BYTES has no room for, beside writes and deletions",
  fn: async (storage) => {
    await using older = new FakeEmbedder({ width: 64 });
    await using newer = new FakeEmbedder({ width: 96 });
    const env = { INDEX_BYTES: "65536" };
    await using home = await RelayerHome.open({
      storage,
      ...{ accounts: 3, env: { ...env, ...older.env("older") } },
    });
    for (const account of home.accounts) {
      await rememberAll(home.mem({}, account), TEXTS.slice(0, 60));
    }
    await home.restart({ ...env, ...newer.env("newer") });
    const mems = home.accounts.map((account) => home.mem({}, account));
    for (const mem of mems) {
      const { results: [first] } = await mem.recall({
        ...{ query: "parcel 3", ranking: "fused", limit: 1 },
      });
      await mem.deleteMemory(first?.id ?? "");
      await mem.rememberAndWait("A letter came as well");
    }
    await home.service.waitForLine("Renewed entries of the index");
    for (const mem of mems) {
      const { total, results } = await mem.recall({
        ...{ query: "A letter came as well", limit: 100 },
      });
      assertEquals(total, 60);
      assertEquals(results[0]?.text, "A letter came as well");
      assert(!results.some(({ text }) => text === TEXTS[3]));
    }
  },
});

onStores({
  name: "relayer makes no vector again when RENEWALS_PER_SECOND is 0",
  fn: async (storage) => {
    await using older = new FakeEmbedder({ width: 64 });
    await using newer = new FakeEmbedder({ width: 96 });
    await using home = await RelayerHome.open({
      storage,
      env: older.env("older"),
    });
    await rememberAll(home.mem(), TEXTS.slice(0, 40));
    await home.restart({ ...newer.env("newer"), RENEWALS_PER_SECOND: "0" });
    await home.service.waitForLine("Loaded the index");
    const { total } = await home.mem().recall({ query: "parcel" });
    assertEquals(total, 0);
    assertEquals(newer.texts, ["parcel"]);
  },
});

onStores({
  name:
    "relayer makes words of memories that an earlier program has stored, and keeps their vectors",
  fn: async (storage) => {
    await using home = await RelayerHome.open({ storage });
    const texts = ["Ada met Grandma in Ljubljana", "The piano needs tuning"];
    await rememberAll(home.mem(), texts);
    await home.stop();
    assertEquals(
      await withoutWords({ DATA_DIR: home.dataDir, ...home.storage.env }),
      2,
    );

    const matched = async (): Promise<readonly string[]> => {
      const { results } = await home.mem().recall({
        ...{ query: "Who was in Ljubljana?", ranking: "fused", explain: true },
      });
      const first = results.find(({ text }) => text === texts[0]);
      return first?.explanation?.matched ?? [];
    };
    await home.start({ RENEWALS_PER_SECOND: "0" });
    assertEquals(await matched(), []);
    await home.stop();
    await home.start();
    await home.service.waitForLine("Renewed entries of the index");
    assert((await matched()).includes("ljubljana"));
    await home.restart({ RENEWALS_PER_SECOND: "0" });
    assert((await matched()).includes("ljubljana"));
    await home.stop();
    assertEquals(await home.storage.traces(listWords(texts)), []);
  },
});

async function rememberAll(mem: Mem, texts: readonly string[]): Promise<void> {
  for (let from = 0; from < texts.length; from += 20) {
    await mem.rememberBulkAndWait(
      texts.slice(from, from + 20).map((text) => ({ text })),
    );
  }
}
