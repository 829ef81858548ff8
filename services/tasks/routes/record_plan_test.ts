import { assertEquals, assertRejects } from "@std/assert";
import type { TransactionResult } from "../store/store.ts";
import { empty } from "../http/answer.ts";
import { problem } from "../http/problem_answer.ts";
import { type CommitPlan, commitPlan } from "./record_plan.ts";

type Reason = Extract<TransactionResult, { kind: "conflict" }>["reason"];

const DONE = empty();
const TAKEN = problem("name_taken");

Deno.test("commitPlan() answers after the commit, and does what follows once", async () => {
  const store = scripted([]);
  let after = 0;
  const answer = await commitPlan(store, plan({ afterwards: () => after++ }));
  assertEquals([answer, after, store.commits], [DONE, 1, 1]);
});

Deno.test("commitPlan() gives a plan that is an answer as it is", async () => {
  const store = scripted([]);
  const answer = await commitPlan(store, () => Promise.resolve(TAKEN));
  assertEquals([answer, store.commits], [TAKEN, 0]);
});

Deno.test("commitPlan() looks again when somebody was faster", async () => {
  const store = scripted(["version", "missing", "version"]);
  let plans = 0;
  let after = 0;
  const answer = await commitPlan(store, () => {
    plans++;
    return plan({ afterwards: () => after++ })();
  });
  assertEquals([answer, plans, after], [DONE, 4, 1]);
});

Deno.test("commitPlan() asks the plan about conflicts", async () => {
  const store = scripted(["version", "alias"]);
  const answer = await commitPlan(
    store,
    plan({
      onConflict: ({ reason }) => reason === "alias" ? TAKEN : undefined,
    }),
  );
  assertEquals([answer, store.commits], [TAKEN, 2]);
});

Deno.test("commitPlan() does not write what a repeated request has written", async () => {
  const store = scripted(["idempotency"]);
  const answer = await commitPlan(store, plan());
  assertEquals(
    answer.kind === "problem" && answer.code,
    "idempotency_in_progress",
  );
  assertEquals(store.commits, 1);
});

Deno.test("commitPlan() gives up some time", async () => {
  const store = scripted(new Array<Reason>(1_000).fill("version"));
  const answer = await commitPlan(store, plan());
  assertEquals(answer.kind === "problem" && answer.code, "overloaded");
  assertEquals(store.commits, 30);
});

Deno.test("commitPlan() lets a failure of the store through", async () => {
  const store = { commit: () => Promise.reject(new Error("disk full")) };
  await assertRejects(() => commitPlan(store, plan()), Error, "disk full");
});

function plan(
  more: Partial<CommitPlan> = {},
): () => Promise<CommitPlan> {
  return () =>
    Promise.resolve({ kind: "plan", writes: [], answer: DONE, ...more });
}

/** A store whose first commits conflict for these reasons. */
function scripted(reasons: readonly Reason[]): {
  commits: number;
  commit(): Promise<readonly TransactionResult[]>;
} {
  return {
    commits: 0,
    commit() {
      const reason = reasons[this.commits++];
      return Promise.resolve([
        reason === undefined
          ? { kind: "ok" }
          : { kind: "conflict", write: 0, reason },
      ]);
    },
  };
}
