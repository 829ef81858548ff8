import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import type { LeaseBatch, LeaseResults, LeaseWord } from "./api_types.ts";
import { LeaseReports, logParts } from "./lease_reports.ts";
import { TasksError } from "./tasks_error.ts";

/** Reports to a service that accepts batches as the test decides. */
class Reporting {
  readonly clock = new FakeClock();
  /** The reports that the service has accepted. */
  readonly words: LeaseWord[] = [];
  /** The number of reports of each request. */
  readonly sizes: number[] = [];
  readonly errors: string[] = [];
  readonly #isTaken: (word: LeaseWord) => boolean;
  readonly #refusal: () => number | undefined;

  constructor(
    isTaken: (word: LeaseWord) => boolean,
    refusal: () => number | undefined = () => undefined,
  ) {
    this.#isTaken = isTaken;
    this.#refusal = refusal;
  }

  async report(words: readonly LeaseWord[]): Promise<void> {
    const reports = new LeaseReports({
      send: (batch) => this.#send(batch),
      connections: 1,
      clock: this.clock,
      onError: ({ message }) => void this.errors.push(message),
    });
    const endsAtMs = () => this.clock.nowMs() + 9_000;
    const told = words.map((word) => reports.add(word, { endsAtMs }));
    // Long enough for one pause before a second try.
    await this.clock.advanceAsync(1_500);
    await Promise.all(told);
    await reports.drained();
  }

  #send({ leases }: LeaseBatch): Promise<LeaseResults> {
    this.sizes.push(leases.length);
    const status = this.#refusal();
    if (status !== undefined) {
      const refusal = { code: "request_timeout", status } as const;
      return Promise.reject(new TasksError("Cannot read it: late", refusal));
    }
    if (!leases.every(this.#isTaken)) {
      const refusal = { code: "invalid", status: 422 } as const;
      return Promise.reject(
        new TasksError("Cannot read it: too deep", refusal),
      );
    }
    this.words.push(...leases);
    return Promise.resolve({ results: leases.map(() => ({ status: 200 })) });
  }
}

function complete(id: string, result?: unknown): LeaseWord {
  return { id, token: "t", action: "complete", result };
}

const isNoList = (word: LeaseWord): boolean =>
  !(word.action === "complete" && Array.isArray(word.result));

Deno.test("LeaseReports.add() sends the other reports when the service refuses a batch because of one", async () => {
  const reporting = new Reporting(isNoList);
  await reporting.report([
    complete("a", 1),
    complete("b", [[]]),
    complete("c"),
  ]);
  assertEquals(reporting.words, [
    complete("a", 1),
    { id: "b", token: "t", action: "complete" },
    complete("c"),
  ]);
  assertEquals(reporting.sizes, [3, 1, 1, 1, 1]);
  assertEquals(reporting.errors, [
    "Cannot report a result: it was refused: Cannot read it: too deep; the " +
    "report goes without it",
  ]);
});

Deno.test("LeaseReports.add() gives a report up when the service does not take even less of it", async () => {
  const reporting = new Reporting(({ id }) => id !== "b");
  await reporting.report([complete("a", 1), complete("b", 2)]);
  assertEquals(reporting.words, [complete("a", 1)]);
  assertEquals(reporting.errors.length, 2);
});

Deno.test("LeaseReports.add() reports a failure as it was when its detail is no JSON", async () => {
  const reporting = new Reporting(() => true);
  const error = { code: "busy", message: "The card terminal is busy" };
  const said = { id: "a", token: "t", action: "fail" } as const;
  await reporting.report([
    { ...said, error: { ...error, detail: 1n }, retry_after: "5s" },
  ]);
  assertEquals(reporting.words, [{ ...said, error, retry_after: "5s" }]);
  assertEquals(reporting.errors, [
    "Cannot report all of an error: its detail is not JSON: TypeError: Do " +
    "not know how to serialize a BigInt; the report goes without it",
  ]);
});

Deno.test("LeaseReports.add() sends a report again when its request did not arrive in time", async () => {
  let isSlow = true;
  const reporting = new Reporting(() => true, () => {
    const isRefused = isSlow;
    isSlow = false;
    return isRefused ? 408 : undefined;
  });
  await reporting.report([complete("a", 1)]);
  assertEquals(reporting.words, [complete("a", 1)]);
  assertEquals(reporting.sizes, [1, 1]);
});

Deno.test("logParts() keeps all lines in their order when they do not fit into one report", () => {
  assertEquals(logParts([]), []);
  assertEquals(logParts(["a", "b"]), [["a", "b"]]);
  const many = Array.from({ length: 250 }, (_, at) => `line ${at}`);
  const parts = logParts(many);
  assertEquals(parts.map(({ length }) => length), [100, 100, 50]);
  assertEquals(parts.flat(), many);
});

Deno.test("logParts() keeps reports short when lines are long, and cuts what fits into none", () => {
  const half = "x".repeat(131_072);
  assertEquals(
    logParts([half, half, "y", half + half + "cut"]).map((part) =>
      part.map(({ length }) => length)
    ),
    [[131_072, 131_072], [1], [262_144]],
  );
});
