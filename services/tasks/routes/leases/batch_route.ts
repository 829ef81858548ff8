/**
 * The route that says something with many leases at once.
 *
 * @module
 */

import type { LeaseOutcome } from "../../engine/leases.ts";
import { type Answer, problemText, statusOf } from "../../http/answer.ts";
import { type Call, callerOf, tenantOf } from "../../http/call.ts";
import {
  invalidRequest,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import { named } from "../../../shared/schema/schema.ts";
import { asGiven, list } from "../../../shared/schema/composite.ts";
import {
  MAX_BATCH_FAULTS,
  withFewFaults,
} from "../../../shared/schema/fault.ts";
import { object } from "../../../shared/schema/object.ts";
import { speak, type SpokenWord } from "./lease_answer.ts";
import { LEASE_RESULTS } from "./lease_schema.ts";
import type { LogBudget, LogTally } from "./log_budget.ts";
import type { SayParts } from "./say_routes.ts";
import { HELD_WORD, type HeldWord, MAX_OUTCOME_BYTES } from "./word_schema.ts";

/** Most words of a batch. */
const MAX_WORDS = 1_000;

/** Most values of a batch: a thousand for each word. */
const MAX_VALUES = 1_048_576;

/** Words are read one by one: a bad one takes nothing from the others. */
const WORDS = named(
  "LeaseBatch",
  object({
    leases: list(asGiven(HELD_WORD.json, [HELD_WORD]), {
      minItems: 1,
      maxItems: MAX_WORDS,
    }),
  }),
);

type BatchCall = Call<unknown, { readonly leases: readonly unknown[] }>;

/** The route that says something with many leases at once, in one commit. */
export function batchRoute(say: SayParts): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/leases/batch",
    hosts: "tenant",
    operationId: "sayLeases",
    summary: "Say something with many leases at once",
    description: "Each word stands for itself and is answered in its place, " +
      "as it would be alone. All of them are written in one commit. Words " +
      "about the same lease are heard in their order. A worker's credential " +
      "speaks for its own leases only.",
    tags: ["leases"],
    access: { kind: "worker" },
    body: requiredBody(WORDS, {
      maxBytes: () => MAX_OUTCOME_BYTES,
      maxValues: MAX_VALUES,
      example: {
        leases: [{
          id: "lse_01h455vb4pex5vsknk084sn02q_1",
          token: "lt_Qm9ndXMgdG9rZW4gZm9yIHRoZSBkb2N1bWVudGF0aW9u",
          action: "complete",
          result: { sent: true },
        }],
      },
    }),
    answers: {
      200: { description: "What came of each", shape: LEASE_RESULTS },
    },
    problems: [],
    handle: (call) => sayAll(call, say),
  });
}

/** A word of a batch, or what is wrong with it. */
type ReadWord =
  | { readonly kind: "word"; readonly word: HeldWord }
  | ProblemAnswer;

async function sayAll(
  call: BatchCall,
  { parts, scrubbers, budget }: SayParts,
): Promise<Answer> {
  const caller = callerOf(call);
  const tenantId = tenantOf(call).id;
  const only = caller.kind === "worker" ? { workerId: caller.workerId } : {};
  const read: ReadWord[] = [];
  let faultsLeft = MAX_BATCH_FAULTS;
  for (const [index, given] of call.body.leases.entries()) {
    const one = readWord(given, { index, faultsLeft });
    if (one.kind === "problem") faultsLeft -= one.errors?.length ?? 0;
    read.push(one);
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  const words = read.filter((one) => one.kind === "word");
  const found = await scrubbers.ofAll(
    tenantId,
    words.map(({ word }) => word.id),
  );
  const tallies = await talliesOf(words, { tenantId, budget });
  const spoken: SpokenWord[] = [];
  for (const [index, { word }] of words.entries()) {
    const tally = tallies.get(word.id);
    spoken.push(speak(word, {
      tenantId,
      leaseId: word.id,
      token: word.token,
      scrubber: found[index],
      ...(tally === undefined ? {} : { tally }),
      ...only,
    }));
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  const outcomes = spoken.length === 0
    ? []
    : await parts.engine.leases.sayAll(spoken.map(({ heard }) => heard));
  let next = 0;
  const results: string[] = [];
  for (const one of read) {
    if (one.kind === "problem") results.push(resultOf(one, call));
    else {
      const index = next++;
      results.push(resultOf(answered(spoken[index], outcomes[index]), call));
    }
    const pause = call.pausing.pause();
    if (pause !== undefined) await pause;
  }
  return {
    kind: "text",
    status: 200,
    text: `{"results":[${results.join(",")}]}`,
    contentType: "application/json",
  };
}

/** What counts the log lines of each lease that has some to add. */
async function talliesOf(
  words: readonly { readonly word: HeldWord }[],
  { tenantId, budget }: {
    readonly tenantId: string;
    readonly budget: LogBudget;
  },
): Promise<ReadonlyMap<string, LogTally>> {
  const tallies = new Map<string, LogTally>();
  for (const { word: { action, id } } of words) {
    if (action !== "log" || tallies.has(id)) continue;
    tallies.set(id, await budget.tally(tenantId, id));
  }
  return tallies;
}

function readWord(
  given: unknown,
  { index, faultsLeft }: {
    readonly index: number;
    readonly faultsLeft: number;
  },
): ReadWord {
  const { value: word, faults } = withFewFaults(
    faultsLeft,
    (faults) => HELD_WORD.read(given, `/leases/${index}`, faults),
  );
  return word === undefined ? invalidRequest(faults) : { kind: "word", word };
}

function answered(
  spoken: SpokenWord | undefined,
  outcome: LeaseOutcome | undefined,
): ReturnType<SpokenWord["answer"]> {
  if (spoken !== undefined && outcome !== undefined) {
    return spoken.answer(outcome);
  }
  throw new TypeError("Cannot answer a word: nothing is known of it");
}

/** One result as JSON text. */
function resultOf(
  answer: ReturnType<SpokenWord["answer"]>,
  call: BatchCall,
): string {
  return answer.kind === "json"
    ? JSON.stringify({ status: 200, lease: answer.value })
    : `{"status":${statusOf(answer)},"problem":${problemText(call, answer)}}`;
}
