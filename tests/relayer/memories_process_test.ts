import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertRejects,
} from "@std/assert";
import { MemError, RememberJobNotFound } from "../../mod.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";
import { getMember } from "./wire_client.ts";

const DAY_MS = 86_400_000;

onStores({
  name: "relayer keeps memories and finds them again",
  // The steps share a relayer, each with an account of its own.
  timeout: 240_000,
  onBoth: true,
  fn: async (storage, t) => {
    await using home = await RelayerHome.open({ storage, accounts: 4 });
    await t.step(
      "relayer remembers and recalls by relevance, newness, importance and metadata",
      async () => {
        const mem = home.mem();
        const tea = await mem.rememberAndWait("Ada prefers oolong tea", {
          metadata: { person: "Ada", cups: 3, isDaily: true },
          importance: 0.1,
          idempotencyKey: "tea-1",
        });
        assertEquals([tea.id, tea.namespace, tea.owner], [
          tea.job_id,
          "default",
          home.account().owner,
        ]);
        const bulk = await mem.rememberBulkAndWait([
          { text: "Ben prefers black tea", metadata: { person: "Ben" } },
          {
            text: "Carla drinks tea in the evening",
            importance: 1,
            metadata: { person: "Carla", cups: 3 },
          },
          { text: "Dora repairs bicycles", namespace: "work" },
        ]);
        assertEquals([bulk.total, bulk.succeeded, bulk.failed, bulk.timedOut], [
          3,
          3,
          0,
          0,
        ]);
        assertEquals(bulk.results.map(({ namespace }) => namespace), [
          "default",
          "default",
          "work",
        ]);
        const byRelevance = await mem.recall({
          query: "Ada prefers oolong tea",
        });
        assertEquals(byRelevance.total, 3);
        const [first] = byRelevance.results;
        assertEquals(
          [first?.id, first?.text, first?.blob_id, first?.metadata],
          [
            tea.id,
            "Ada prefers oolong tea",
            tea.blob_id,
            { person: "Ada", cups: 3, isDaily: true },
          ],
        );
        assertAlmostEquals(first?.distance ?? 1, 0, 1e-5);
        assert(Date.now() - Date.parse(first?.created_at ?? "") < DAY_MS);
        const distances = byRelevance.results.map(({ distance }) => distance);
        assertEquals(distances, distances.toSorted((a, b) => a - b));

        const recent = await mem.recall({
          query: "oolong tea",
          sort: "recent",
        });
        const times = recent.results.map(({ created_at = "" }) => created_at);
        assertEquals(times, times.toSorted().reverse());
        assertEquals(recent.results.at(-1)?.id, tea.id);

        const weighed = await mem.recall({
          query: "Ada prefers oolong tea",
          scoringWeights: { semantic: 0, importance: 1 },
        });
        assertEquals(
          weighed.results[0]?.text,
          "Carla drinks tea in the evening",
        );
        assertEquals(weighed.results.map(({ score }) => score), [1, 0.5, 0.1]);

        const filtered = await mem.recall({
          query: "tea",
          filter: { cups: 3 },
        });
        assertEquals(
          filtered.results.map(({ metadata }) => metadata?.["person"])
            .toSorted(),
          ["Ada", "Carla"],
        );
        const both = await mem.recall({
          query: "tea",
          filter: { cups: 3, person: "Ada" },
        });
        assertEquals(both.results.map(({ id }) => id), [tea.id]);
        const none = await mem.recall({ query: "tea", filter: { cups: "3" } });
        assertEquals(none.total, 0);
        const work = await mem.recall({ query: "bicycles", namespace: "work" });
        assertEquals(work.results.map(({ text }) => text), [
          "Dora repairs bicycles",
        ]);
        assertEquals((await mem.recall("tea", 1)).total, 1);

        assertEquals((await mem.stats()).memory_count, 3);
        assertEquals((await mem.stats("work")).memory_count, 1);
        assertEquals((await mem.stats("nowhere")).memory_count, 0);
        assertEquals((await mem.whoami()).account_id, home.account().accountId);
      },
    );

    await t.step(
      "relayer finds a memory as soon as its status is uploaded, and waits for that",
      async () => {
        const mem = home.mem({}, home.account(1));
        const wire = home.wire(home.account(1));
        for (let round = 0; round < 15; round++) {
          const text = `Note ${round} about zeppelin${round}`;
          const { job_id: id } = await mem.remember(text);
          const status = await wire.expect(200, [
            "GET",
            `/api/remember/${id}?wait=20`,
          ]);
          const state = getMember(status, "status");
          assert(state === "uploaded" || state === "done", String(state));
          const { results } = await mem.recall({ query: text, limit: 3 });
          assertEquals(results[0]?.text, text);
          assertEquals(results.filter((memory) => memory.id === id).length, 1);
        }
        // Polls the status, without letting the request wait, until the memory is
        // stored.
        const { job_id: id } = await mem.remember("The quagga is extinct");
        let state = "running";
        while (state === "running") {
          state = (await mem.getRememberStatus(id)).status;
        }
        assert(state === "uploaded" || state === "done", state);
        const { results } = await mem.recall("quagga extinct", 1);
        assertEquals(results[0]?.id, id);
      },
    );

    await t.step(
      "relayer makes one memory of one idempotency key",
      async () => {
        const mem = home.mem({}, home.account(2));
        const send = (text: string) =>
          mem.remember(text, { idempotencyKey: "one-key" });
        const jobs = await Promise.all(
          Array.from({ length: 8 }, () => send("Ada sails")),
        );
        assertEquals(new Set(jobs.map(({ job_id }) => job_id)).size, 1);
        const refusal = await assertRejects(() => send("Ada rows"), MemError);
        assertEquals(refusal.status, 409);
        const items = [{ text: "Ben climbs" }, { text: "Ben swims" }];
        const bulk = await Promise.all(
          [1, 2, 3].map(() =>
            mem.rememberBulk(items, { idempotencyKey: "bulk-key" })
          ),
        );
        assertEquals(new Set(bulk.flatMap(({ job_ids }) => job_ids)).size, 2);
        const ids = bulk[0]?.job_ids ?? [];
        await mem.waitForRememberJobs([...ids, jobs[0]?.job_id ?? ""]);
        assertEquals((await mem.stats()).memory_count, 3);
        const { results } = await mem.getRememberBulkStatus([
          ...ids,
          "00000000-0000-4000-8000-000000000000",
          "no id",
        ]);
        assertEquals(results.map(({ status }) => status), [
          "done",
          "done",
          "not_found",
          "not_found",
        ]);
        await assertRejects(
          () => mem.waitForRememberJob("00000000-0000-4000-8000-000000000000"),
          RememberJobNotFound,
        );
      },
    );

    await t.step(
      "relayer finds facts, answers questions, and keeps what clients sealed",
      async () => {
        const mem = home.mem({}, home.account(3));
        const facts = await mem.analyzeAndWait(
          "Ada lives in London. How are you? Ada works at the harbour since " +
            "yesterday.",
          "people",
          { occurredAt: "2026-07-02T12:00:00Z" },
        );
        assertEquals([facts.succeeded, facts.failed, facts.facts.length], [
          2,
          0,
          2,
        ]);
        assertEquals(facts.facts[0]?.text, "Ada lives in London.");
        assert(
          facts.facts[1]?.text.includes("2026-07-01"),
          facts.facts[1]?.text,
        );
        const none = await mem.analyze("Hello!", "people");
        assertEquals([none.fact_count, none.job_ids.length], [0, 0]);
        const answer = await mem.ask("Where does Ada live?", "people");
        assert(answer.answer.includes("London"), answer.answer);
        assert(answer.memories_used >= 1);
        assertEquals(answer.memories[0]?.text, "Ada lives in London.");

        const vector = await mem.embed("sealed by the client");
        const other = await mem.embed("something else entirely");
        const sealed = crypto.getRandomValues(new Uint8Array(100));
        const manual = await mem.rememberManual({
          encryptedData: sealed,
          vector,
          namespace: "sealed",
        });
        await mem.rememberManual({
          encryptedData: crypto.getRandomValues(new Uint8Array(100)),
          vector: other,
          namespace: "sealed",
        });
        const hits = await mem.recallManual({ vector, namespace: "sealed" });
        assertEquals(hits.total, 2);
        assertEquals(hits.results[0]?.blob_id, manual.blob_id);
        assertAlmostEquals(hits.results[0]?.distance ?? 1, 0, 1e-5);
        assertEquals((await mem.deleteMemory(manual.id)).deleted, true);
        const left = await mem.recallManual({ vector, namespace: "sealed" });
        assertEquals(left.results.map(({ id }) => id === manual.id), [false]);
      },
    );
  },
});
