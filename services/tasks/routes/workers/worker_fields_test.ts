import { assertEquals, assertMatch } from "@std/assert";
import type { TaskStatus } from "../../domain/task.ts";
import { workerRoutes } from "./worker_routes.ts";
import { openTestApi, SERVICE_HOST } from "../testing/test_api.ts";
import { workerStatus } from "./worker_fields.ts";

const NOW_MS = 1_800_000_000_000;

type Counts = Partial<Record<TaskStatus, number>>;

Deno.test("workerStatus() tells a pull worker's life by when it asked for tasks", () => {
  const cases: [number | undefined, Counts, ReturnType<typeof workerStatus>][] =
    [
      [undefined, {}, "idle"],
      [undefined, { failed: 3, retry: 1 }, "idle"],
      [undefined, { waiting: 1 }, "stale"],
      [undefined, { running: 1, waiting: 1 }, "active"],
      [0, {}, "active"],
      [59_999, { waiting: 1 }, "active"],
      [60_000, {}, "stale"],
      [60_000, { running: 1 }, "active"],
    ];
  for (const [agoMs, counts, status] of cases) {
    assertEquals(computeStatus("pull", { agoMs, counts }), status);
  }
});

Deno.test("workerStatus() tells a push worker's life by its tasks", () => {
  assertEquals(computeStatus("push", { counts: {} }), "idle");
  assertEquals(computeStatus("push", { counts: { waiting: 1 } }), "active");
  assertEquals(computeStatus("push", { counts: { running: 1 } }), "active");
});

Deno.test("workerStatus() is paused whatever the worker does", () => {
  for (const kind of ["pull", "push"] as const) {
    const counts = { running: 1 };
    assertEquals(
      computeStatus(kind, { counts, agoMs: 0, isPaused: true }),
      "paused",
    );
  }
});

function computeStatus(
  kind: "pull" | "push",
  { agoMs, counts, isPaused = false }: {
    readonly agoMs?: number | undefined;
    readonly counts: Counts;
    readonly isPaused?: boolean;
  },
): ReturnType<typeof workerStatus> {
  return workerStatus({ kind, isPaused }, {
    counts,
    nowMs: NOW_MS,
    life: agoMs === undefined
      ? undefined
      : { lastSeenAtMs: NOW_MS - agoMs, instances: new Map() },
  });
}

Deno.test("GET /v1/workers names the next page by an address that leads there", async () => {
  const api = await openTestApi({ routes: workerRoutes });
  const made: string[] = [];
  for (const name of ["a", "b", "c"]) {
    const answer = await api.call("POST", "/v1/workers", { body: { name } });
    made.push(answer.textAt("id"));
  }
  const seen: unknown[] = [];
  let path: string | undefined = "/api/v1/workers?limit=1";
  while (path !== undefined) {
    const page = await api.call("GET", path);
    assertEquals(page.status, 200, path);
    seen.push(page.at("data", 0, "id"));
    const link = page.headers["link"];
    if (link !== undefined) assertMatch(link, /^<[^>]+>; rel="next"$/);
    const url = /^<([^>]+)>/.exec(link ?? "")?.[1];
    assertEquals(url === undefined, page.at("next") === null);
    path = url?.replace(`http://acme.${SERVICE_HOST}`, "");
  }
  assertEquals(seen.sort(), made.sort());
  await api.close();
});
