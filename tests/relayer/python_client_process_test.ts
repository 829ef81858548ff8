import { assert, assertEquals } from "@std/assert";
import { waitUntil } from "../support/wait_until.ts";
import { onStores } from "./on_stores.ts";
import { PythonClient } from "./python_client.ts";
import { RelayerHome } from "./relayer_home.ts";
import { getMember, readList, readText } from "./wire_client.ts";

const NAMESPACE = "python";
const ACCEPTED = [200, 202];
const TEXT = "Zoë mag Grüntee 🍵";

onStores({
  name: "relayer answers what the released Python client sends",
  timeout: 240_000,
  fn: async (storage, t) => {
    await using home = await RelayerHome.open({ storage });
    const client = new PythonClient(home.url, home.account());
    const namespace = NAMESPACE;
    await t.step("remember, wait and recall", async () => {
      const body = { text: TEXT, namespace };
      const job = await client.call("POST", "/api/remember", {
        body: { ...body, idempotency_key: crypto.randomUUID() },
        accepted: ACCEPTED,
      });
      await waitDone(client, readText(job, "job_id"));
      const found = await client.call("POST", "/api/recall", {
        body: { query: "Wer mag Grüntee?", limit: 10, namespace },
      });
      const [first] = readList(found, "results");
      assertEquals(readText(first, "text"), TEXT);
      assert(readText(first, "blob_id") !== "");
      assertEquals(typeof getMember(first, "distance"), "number");
      assertEquals(getMember(found, "total"), 1);
    });
    await t.step("several texts, and their states", async () => {
      const items = ["Ada rows", "Ben rows"].map((text) => ({
        ...{ text, namespace },
      }));
      const accepted = await client.call("POST", "/api/remember/bulk", {
        body: { items },
        accepted: ACCEPTED,
      });
      const ids = readList(accepted, "job_ids").map(String);
      assertEquals(ids.length, items.length);
      for (const id of ids) await waitDone(client, id);
      const states = await client.call("POST", "/api/remember/bulk/status", {
        body: { job_ids: ids },
      });
      assertEquals(
        readList(states, "results").map((state) => readText(state, "status")),
        ["done", "done"],
      );
    });
    await t.step("facts, answers and vectors", async () => {
      const facts = await client.call("POST", "/api/analyze", {
        body: {
          text: "I moved to Ghent last Friday.",
          namespace,
          occurred_at: "2026-03-02T10:00:00.000Z",
        },
        accepted: ACCEPTED,
      });
      const jobs = readList(facts, "job_ids").map(String);
      assertEquals(getMember(facts, "fact_count"), jobs.length);
      assertEquals(readList(facts, "facts").length, jobs.length);
      for (const id of jobs) await waitDone(client, id);
      const told = await client.call("POST", "/api/ask", {
        body: { question: "Who rows?", limit: 5, namespace },
      });
      assert(readText(told, "answer") !== "");
      assertEquals(
        readList(told, "memories").length,
        getMember(told, "memories_used"),
      );
      const made = await client.call("POST", "/api/embed", {
        ...{ body: { text: "tea" }, hasSession: false },
      });
      assertEquals(readList(made, "vector").length, 1_536);
    });
    await t.step("the account's namespaces, and a restore", async () => {
      const stats = await client.call("POST", "/api/stats", {
        ...{ body: { namespace }, hasSession: false },
      });
      const owner = readText(stats, "owner");
      const page = await client.call(
        "GET",
        `/v1/owners/${owner}/namespaces?limit=100`,
        { hasSession: false },
      );
      const [first] = readList(page, "namespaces");
      assertEquals(readText(first, "name"), namespace);
      for (const name of ["id", "memory_count", "storage_used", "updated_at"]) {
        assert(getMember(first, name) !== undefined, name);
      }
      assertEquals(getMember(page, "has_more"), false);
      assertEquals(getMember(page, "snapshot_version"), 2);
      const restored = await client.call("POST", "/api/restore", {
        body: { namespace, limit: 10 },
      });
      assertEquals(getMember(restored, "restored"), 0);
      assertEquals(readText(restored, "owner"), owner);
    });
    await t.step("a job that is not there", async () => {
      const gone = await client.call(
        "GET",
        `/api/remember/${crypto.randomUUID()}`,
        {
          accepted: [200, 404],
        },
      );
      const status = getMember(gone, "status");
      assert(status === undefined || status === "not_found", String(status));
    });
    await t.step("its first releases are told to upgrade", async () => {
      assertEquals(
        await client.callAsAtFirst("/api/recall", { query: "tea", limit: 10 }),
        426,
      );
    });
  },
});

async function waitDone(client: PythonClient, job: string): Promise<void> {
  await waitUntil(async () => {
    const state = await client.call("GET", `/api/remember/${job}`, {
      accepted: [200, 404],
    });
    return readText(state, "status") === "done";
  }, { what: "the job" });
}
