import { assert, assertEquals } from "@std/assert";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { waitUntil } from "../support/wait_until.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";

onStores({
  name:
    "relayer tells jobs, calls of models and blobs, commits and requests in its metrics",
  onBoth: true,
  fn: async (storage) => {
    await using home = await RelayerHome.open({ storage });
    const url = await metricsUrl(home.service);
    const mem = home.mem();
    for (const text of ["Ada prefers oolong tea", "Ben repairs bicycles"]) {
      await mem.rememberAndWait(text);
    }
    await mem.recall({ query: "tea" });
    let families = await readMetrics(url);
    await waitUntil(async () => {
      families = await readMetrics(url);
      const labels = { outcome: "done" };
      return findSeries(families, "relayer_jobs_ended_total", labels) === 2;
    }, { what: "the end of both jobs" });
    const value = (
      name: string,
      labels?: Readonly<Record<string, string>>,
    ): number | undefined => findSeries(families, name, labels);
    assertEquals({
      accepted: value("relayer_jobs_accepted_total"),
      timed: value("relayer_job_duration_seconds_count"),
      stored: value("relayer_blob_calls_total", {
        operation: "put",
        outcome: "ok",
      }),
      memories: value("relayer_memories"),
      ready: value("relayer_write_ready"),
      recalls: value("relayer_http_requests_total", {
        route: "POST /api/recall",
        status: "200",
      }),
    }, {
      ...{
        accepted: 2,
        timed: 2,
        stored: 2,
        memories: 2,
        ready: 1,
        recalls: 1,
      },
    });
    for (
      const [name, labels] of [
        ["relayer_model_calls_total", { operation: "embed", outcome: "ok" }],
        ["relayer_store_commits_total", { outcome: "ok" }],
        ["relayer_store_commit_duration_seconds_count", {}],
        ["relayer_blob_call_duration_seconds_count", { operation: "put" }],
        ["process_resident_memory_bytes", {}],
      ] as const
    ) {
      assert((value(name, labels) ?? 0) > 0, name);
    }
  },
});
