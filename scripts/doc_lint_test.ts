import { assertEquals } from "@std/assert";
import { emptyComments } from "./doc_lint.ts";

Deno.test("emptyComments() finds comments that say only the name", () => {
  const text = `
/** The job names. */
export type JobName = string;

/** What a job is. */
export interface Job {
  /** Its id. */
  readonly id: string;
  /**
   * The catch-up.
   * @default {"one"}
   */
  readonly catch_up?: string;
  /** Milliseconds. */
  readonly lag: number;
  readonly within: {
    /** The key. */
    readonly key: string;
  };
}

/** Max jobs. */
export const MAX_JOBS = 3;

/** Runs the job. */
export function runJob(): void {
  /** The text. */
  const text = "";
}

/** Its own. */
const own = "";
`;
  assertEquals(emptyComments("a.ts", text), [
    'a.ts:3: "The job names." only repeats "JobName"',
    'a.ts:8: "Its id." only repeats "id"',
    'a.ts:18: "The key." only repeats "key"',
    'a.ts:23: "Max jobs." only repeats "MAX_JOBS"',
    'a.ts:26: "Runs the job." only repeats "runJob"',
  ]);
});
