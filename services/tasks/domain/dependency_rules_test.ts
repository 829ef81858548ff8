import { assertEquals } from "@std/assert";
import { type DependencyState, judgeDependencies } from "./dependency_rules.ts";
import type { TaskStatus } from "./task.ts";

function judge(
  rule: "fail" | "run" | "wait",
  statuses: readonly (TaskStatus | "removed")[],
): string {
  const ids = statuses.map((_, index) => `tsk_${index}`);
  const states = statuses.map((status, index): DependencyState =>
    status === "removed" ? undefined : { id: ids[index] ?? "", status }
  );
  const verdict = judgeDependencies(
    { dependencies: ids, onDependencyFailure: rule },
    states,
  );
  return verdict.kind === "waits"
    ? `waits for ${verdict.for.join(" ")}`
    : verdict.kind;
}

Deno.test("judgeDependencies() is ready when all have succeeded once", () => {
  assertEquals(judge("fail", []), "ready");
  assertEquals(judge("fail", ["complete", "done"]), "ready");
  assertEquals(
    judgeDependencies(
      { dependencies: ["tsk_0"], onDependencyFailure: "fail" },
      [{ id: "tsk_0", status: "running", lastOutcome: "succeeded" }],
    ).kind,
    "ready",
  );
});

Deno.test("judgeDependencies() waits for those that are under way", () => {
  assertEquals(
    judge("fail", ["complete", "running", "retry"]),
    "waits for tsk_1 tsk_2",
  );
});

Deno.test("judgeDependencies() takes a bad end by the task's rule", () => {
  for (const bad of ["failed", "canceled", "expired", "removed"] as const) {
    assertEquals(judge("fail", ["running", bad]), "failed", bad);
    // One that is gone is never tried again.
    const waits = bad === "removed" ? "failed" : "waits for tsk_1";
    assertEquals(judge("wait", ["complete", bad]), waits, bad);
    assertEquals(judge("run", ["complete", bad]), "ready", bad);
    assertEquals(judge("run", ["running", bad]), "waits for tsk_0", bad);
  }
});
