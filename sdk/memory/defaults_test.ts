import { assertEquals } from "@std/assert";
import type { ClientParts } from "./client_parts.ts";
import { getRememberStatus } from "./job_status.ts";
import { analyze, ask } from "./language_model.ts";
import { listMemories, listNamespaces } from "./listings.ts";
import { embed, recallManual, rememberManual } from "./manual.ts";
import { deleteMemory, forget, restore, stats } from "./namespaces.ts";
import { recall } from "./recall.ts";
import { remember, rememberBulk } from "./remember.ts";
import { health } from "./service.ts";
import { stubParts } from "./testing/stub_parts.ts";

interface Default {
  readonly call: (parts: ClientParts) => Promise<unknown>;
  readonly route: string;
  /** Milliseconds of its deadline. */
  readonly timeoutMs: number;
  /** What is sent when the caller says no more than it must. */
  readonly body?: unknown;
}

const DEFAULTS: readonly Default[] = [
  {
    call: (parts) => remember(parts, "t", { idempotencyKey: "k" }),
    route: "POST /api/remember",
    timeoutMs: 30_000,
    body: { text: "t", namespace: "default", idempotency_key: "k" },
  },
  {
    call: (parts) =>
      rememberBulk(parts, [{ text: "t" }], { idempotencyKey: "k" }),
    route: "POST /api/remember/bulk",
    timeoutMs: 30_000,
    body: {
      items: [{ text: "t", namespace: "default" }],
      idempotency_key: "k",
    },
  },
  {
    call: (parts) => getRememberStatus(parts, "j1"),
    route: "GET /api/remember/j1",
    timeoutMs: 30_000,
  },
  {
    call: (parts) => recall(parts, ["q"]),
    route: "POST /api/recall",
    timeoutMs: 15_000,
    body: { query: "q", limit: 10, namespace: "default", deadline_ms: 14_000 },
  },
  {
    call: (parts) => recall(parts, [{ query: "q", timeoutMs: 0 }]),
    route: "POST /api/recall",
    timeoutMs: Infinity,
    body: { query: "q", limit: 10, namespace: "default" },
  },
  {
    call: (parts) => recall(parts, [{ query: "q", limit: 3, topK: 4 }]),
    route: "POST /api/recall",
    timeoutMs: 15_000,
    body: { query: "q", limit: 4, namespace: "default", deadline_ms: 14_000 },
  },
  {
    call: (parts) => recall(parts, ["q", 7, "n"]),
    route: "POST /api/recall",
    timeoutMs: 15_000,
    body: { query: "q", limit: 7, namespace: "n", deadline_ms: 14_000 },
  },
  {
    call: (parts) => recall(parts, ["q", { timeoutMs: 2_500 }]),
    route: "POST /api/recall",
    timeoutMs: 2_500,
    body: { query: "q", limit: 10, namespace: "default", deadline_ms: 1_500 },
  },
  {
    call: (parts) => analyze(parts, "t"),
    route: "POST /api/analyze",
    timeoutMs: 60_000,
    body: { text: "t", namespace: "default" },
  },
  {
    call: (parts) => ask(parts, "q"),
    route: "POST /api/ask",
    timeoutMs: 60_000,
    body: {
      question: "q",
      limit: 5,
      namespace: "default",
      ranking: "fused",
    },
  },
  {
    call: (parts) => restore(parts, "n"),
    route: "POST /api/restore",
    timeoutMs: 60_000,
    body: { namespace: "n", limit: 10 },
  },
  {
    call: (parts) => forget(parts, "n"),
    route: "POST /api/forget",
    timeoutMs: 30_000,
    body: { namespace: "n" },
  },
  {
    call: (parts) => stats(parts),
    route: "POST /api/stats",
    timeoutMs: 30_000,
    body: { namespace: "default" },
  },
  {
    call: (parts) => deleteMemory(parts, "m1"),
    route: "DELETE /api/memories/m1",
    timeoutMs: 30_000,
  },
  {
    call: (parts) => recallManual(parts, { vector: [1] }),
    route: "POST /api/recall/manual",
    timeoutMs: 30_000,
    body: { vector: [1], limit: 10, namespace: "default" },
  },
  {
    call: (parts) =>
      rememberManual(parts, { vector: [1], encryptedData: Uint8Array.of(1) }),
    route: "POST /api/remember/manual",
    timeoutMs: 30_000,
    body: { encrypted_data: "AQ==", vector: [1], namespace: "default" },
  },
  {
    call: (parts) => embed(parts, "t"),
    route: "POST /api/embed",
    timeoutMs: 30_000,
    body: { text: "t" },
  },
  {
    call: (parts) => health(parts),
    route: "GET /health",
    timeoutMs: 5_000,
  },
  // The relayer's own defaults of 100 are used, so that a relayer can change
  // them.
  {
    call: (parts) => listNamespaces(parts),
    route: "GET /v1/owners/0x1/namespaces",
    timeoutMs: 30_000,
  },
  {
    call: (parts) => listMemories(parts),
    route: "GET /v1/owners/0x1/memories",
    timeoutMs: 30_000,
  },
];

for (const { call, route, timeoutMs, body } of DEFAULTS) {
  Deno.test(`${route} is sent with ${timeoutMs} ms and ${JSON.stringify(body)}`, async () => {
    const parts = stubParts();
    parts.exchange
      .on("GET /api/whoami", { json: { owner: "0x1" } })
      .on(route, { status: 500 });
    await call(parts).catch(() => {});
    const request = parts.exchange.requestTo(route);
    assertEquals(
      { path: request.path, body: request.body, timeoutMs: request.timeoutMs },
      { path: route.split(" ")[1] ?? "", body, timeoutMs },
    );
  });
}
