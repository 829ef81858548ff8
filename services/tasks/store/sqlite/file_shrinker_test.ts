import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import {
  creation,
  removal,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { databasePath, fileLength } from "./database_file.ts";
import { FileShrinker } from "./file_shrinker.ts";
import { withFolder, withStore } from "./testing/open_store.ts";
import { SteppingClock } from "../../../../tests/support/stepping_clock.ts";
import type { WriterRequest } from "./thread_messages.ts";

const MINUTE_MS = 60_000;

/** A writer of a file with free pages, of which each takes its time. */
class FakeWriter {
  busyMs = 0;
  isIdle = true;
  /** How many pages each step gave back. */
  readonly steps: number[] = [];
  movedLogs = 0;
  readonly #file: { total: number; free: number; isShrinkable: boolean };
  readonly #msOfPage: number;

  constructor(
    file: { total: number; free: number; isShrinkable?: boolean },
    msOfPage = 0.1,
  ) {
    this.#file = { isShrinkable: true, ...file };
    this.#msOfPage = msOfPage;
  }

  get free(): number {
    return this.#file.free;
  }

  ask = (request: WriterRequest): Promise<readonly number[]> => {
    const file = this.#file;
    switch (request.kind) {
      case "count_pages":
        return Promise.resolve([file.total, file.free, +file.isShrinkable]);
      case "give_back": {
        const most = Math.ceil(request.withinMs / this.#msOfPage);
        const pages = Math.min(request.pages, most);
        this.steps.push(pages);
        file.free -= pages;
        file.total -= pages;
        const tookMs = pages * this.#msOfPage;
        return Promise.resolve([tookMs, file.total, file.free]);
      }
      case "move_log":
        this.movedLogs++;
        return Promise.resolve([]);
      default:
        throw new Error(`Cannot answer ${request.kind}`);
    }
  };
}

async function shrinkFor(
  writer: FakeWriter,
  ms: number,
  atEachMinute: () => void = () => {},
): Promise<RecordingLogger> {
  const clock = new SteppingClock();
  const logger = new RecordingLogger();
  const shrinker = new FileShrinker({ writer, clock, logger });
  shrinker.start();
  for (let passedMs = 0; passedMs < ms; passedMs += MINUTE_MS) {
    atEachMinute();
    await clock.advance(Math.min(MINUTE_MS, ms - passedMs));
  }
  await shrinker.stop();
  return logger;
}

Deno.test("FileShrinker gives free pages back, but for a tenth of those in use, in steps of some milliseconds", async () => {
  const writer = new FakeWriter({ total: 60_000, free: 40_000 });
  await shrinkFor(writer, 10 * MINUTE_MS);
  assertEquals(writer.free, 2_000);
  assertEquals(Math.max(...writer.steps), 40);
  assert(writer.movedLogs > 0);
  const steps = writer.steps.length;
  await shrinkFor(writer, 5 * MINUTE_MS);
  assertEquals(writer.steps.length, steps);
});

Deno.test("FileShrinker works a tenth of the time at the most", async () => {
  const writer = new FakeWriter({ total: 900_000, free: 800_000 });
  await shrinkFor(writer, 3 * MINUTE_MS);
  const workedMs = writer.steps.reduce((sum, pages) => sum + pages * 0.1, 0);
  assert(workedMs > MINUTE_MS / 10, `${workedMs}`);
  assert(workedMs <= 2 * MINUTE_MS / 10 + 20, `${workedMs}`);
});

Deno.test("FileShrinker leaves a busy minute to others, and a moment in which writes wait", async () => {
  const busy = new FakeWriter({ total: 60_000, free: 40_000 });
  await shrinkFor(busy, 5 * MINUTE_MS, () => busy.busyMs += 15_000);
  assertEquals(busy.steps, []);
  const waiting = new FakeWriter({ total: 60_000, free: 40_000 });
  waiting.isIdle = false;
  await shrinkFor(waiting, 2 * MINUTE_MS);
  assertEquals(waiting.steps, []);
});

Deno.test("FileShrinker tells once of a file that only a rewrite makes shorter", async () => {
  const old = new FakeWriter({
    ...{ total: 60_000, free: 40_000, isShrinkable: false },
  });
  const logger = await shrinkFor(old, 5 * MINUTE_MS);
  assertEquals(old.steps, []);
  assertEquals(logger.listMessages("info"), [
    "The database has space that only `tasks compact` returns",
  ]);
  const full = new FakeWriter({
    ...{ total: 60_000, free: 4_000, isShrinkable: false },
  });
  assertEquals((await shrinkFor(full, 2 * MINUTE_MS)).lines, []);
});

Deno.test("a store gives the space of removed tasks back, while it goes on", async () => {
  await withFolder(async (folder) => {
    const clock = new FakeClock();
    await withStore(folder, async (store) => {
      const ids = sampleIds();
      const tasks = Array.from({ length: 400 }, () =>
        sampleTask({
          id: ids.next(),
          dataJson: JSON.stringify("d".repeat(60_000)),
        }));
      await store.commit(toTransactions(...tasks.map(creation)));
      await store.commit(toTransactions(...tasks.slice(1).map(removal)));
      const path = databasePath(folder);
      const before = fileLength(path) ?? 0;
      for (let second = 0; second < 180; second++) {
        await clock.advanceAsync(1_000);
        // Lets the writing thread answer.
        await store.commit(toTransactions(creation(sampleTask({
          id: ids.next(),
        }))));
      }
      const after = fileLength(path) ?? 0;
      assert(after * 2 < before, `${before} ${after}`);
      const [first] = tasks;
      assertEquals(await store.task("tnt_a", first!.id), first);
    }, { clock });
  });
});
