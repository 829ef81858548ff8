import { assert, assertEquals, assertMatch } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { makePipe } from "../../../tests/support/make_pipe.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { systemClock } from "../clock.ts";
import type { WatchedDirectory } from "./change_reports.ts";
import { PathWatcher } from "./path_watcher.ts";
import {
  type WatchAnswer,
  type WatchRequest,
  WatchThread,
} from "./watch_thread.ts";

/** A real thread and a watcher that looks when it reports, and never else. */
interface Watched {
  /** The real path of a folder that is removed afterwards. */
  readonly base: string;
  readonly thread: WatchThread;
  readonly logger: RecordingLogger;
  /** Does `step` and waits until it was noticed. */
  readonly notice: (what: string, step: () => void) => Promise<void>;
  /** Lets the watcher look by itself; returns how often it told of a change. */
  readonly look: () => Promise<number>;
}

async function watching(
  { paths, prepare }: {
    readonly paths: (base: string) => readonly string[];
    readonly prepare: (base: string) => void;
  },
  use: (watched: Watched) => Promise<void>,
): Promise<void> {
  const base = await Deno.realPath(await Deno.makeTempDir());
  prepare(base);
  const clock = systemClock;
  const logger = new RecordingLogger();
  const thread = new WatchThread({ clock, logger, startDelayMs: 0 });
  let calls = 0;
  const watcher = new PathWatcher({
    paths: () => paths(base),
    onChange: () => {
      calls++;
    },
    reports: thread,
    clock,
    logger,
    pollMs: 3_600_000,
    reportedPollMs: 3_600_000,
    maxQuietMs: 3_600_000,
  });
  const settled = () =>
    waitUntil(() => thread.isReporting, { what: "the watch" });
  try {
    await watcher.start();
    await thread.start();
    await settled();
    await use({
      base,
      thread,
      logger,
      async notice(what, step) {
        const before = calls;
        step();
        await waitUntil(() => calls > before, { what, intervalMs: 1 });
        // Another directory may have to be watched from now on.
        await settled();
      },
      async look() {
        const before = calls;
        await watcher.runOnce();
        return calls - before;
      },
    });
  } finally {
    await watcher.stop();
    await thread.stop();
    await Deno.remove(base, { recursive: true });
  }
}

function swapLink(target: string, link: string): void {
  Deno.symlinkSync(target, `${link}.next`);
  Deno.renameSync(`${link}.next`, link);
}

Deno.test("WatchThread reports a file that is written in place, replaced, added and removed", async () => {
  await watching({
    paths: (base) => [`${base}/config`],
    prepare: (base) => {
      Deno.mkdirSync(`${base}/config`);
      Deno.writeTextFileSync(`${base}/config/a`, "1");
    },
  }, async ({ base, notice, logger }) => {
    const file = `${base}/config/a`;
    await notice("a write", () => Deno.writeTextFileSync(file, "22"));
    await notice("a replacement", () => {
      Deno.writeTextFileSync(`${base}/next`, "333");
      Deno.renameSync(`${base}/next`, file);
    });
    await notice("a folder", () => Deno.mkdirSync(`${base}/config/below`));
    await notice("a removal", () => Deno.removeSync(file));
    assertEquals(logger.messages, []);
  });
});

Deno.test("WatchThread reports each swap of a link on the way and of a mounted ConfigMap", async () => {
  await watching({
    paths: (base) => [`${base}/current/config`],
    prepare: (base) => {
      for (const version of [1, 2, 3]) {
        const config = `${base}/v${version}/config`;
        Deno.mkdirSync(`${config}/..1`, { recursive: true });
        Deno.writeTextFileSync(`${config}/..1/a`, "1");
        Deno.symlinkSync("..1", `${config}/..data`);
        Deno.symlinkSync("..data/a", `${config}/a`);
      }
      Deno.symlinkSync("v1", `${base}/current`);
    },
  }, async ({ base, notice, logger }) => {
    for (const version of [2, 3]) {
      await notice(
        `a swap to version ${version}`,
        () => swapLink(`v${version}`, `${base}/current`),
      );
      const config = `${base}/v${version}/config`;
      for (const data of [2, 3]) {
        await notice(`a swap to ${data}`, () => {
          Deno.mkdirSync(`${config}/..${data}`);
          Deno.writeTextFileSync(`${config}/..${data}/a`, "1");
          swapLink(`..${data}`, `${config}/..data`);
        });
        await notice(
          `an edit behind the link to ${data}`,
          () => Deno.writeTextFileSync(`${config}/..${data}/a`, "22"),
        );
      }
    }
    assertEquals(logger.messages, []);
  });
});

Deno.test("WatchThread reports what happens in a directory that was removed and made again", async () => {
  await watching({
    paths: (base) => [`${base}/root/config`, `${base}/beside`],
    prepare: (base) => {
      Deno.mkdirSync(`${base}/root/config`, { recursive: true });
      Deno.mkdirSync(`${base}/beside`);
    },
  }, async ({ base, notice, logger }) => {
    const config = `${base}/root/config`;
    // The first file may be found by the look after the new watch was opened.
    const addFiles = async (): Promise<void> => {
      for (const name of ["a", "b", "c"]) {
        const add = () => Deno.writeTextFileSync(`${config}/${name}`, "1");
        await notice(`${name} in it`, add);
      }
    };
    await notice(
      "a removal",
      () => Deno.removeSync(config, { recursive: true }),
    );
    await notice("making it again", () => Deno.mkdirSync(config));
    await addFiles();
    await notice("another one in its place", () => {
      Deno.mkdirSync(`${base}/root/next`);
      Deno.renameSync(config, `${base}/root/old`);
      Deno.renameSync(`${base}/root/next`, config);
    });
    await addFiles();
    await notice("a removal with the one above", () => {
      Deno.removeSync(`${base}/root`, { recursive: true });
    });
    await notice(
      "both again",
      () => Deno.mkdirSync(config, { recursive: true }),
    );
    await addFiles();
    assertEquals(logger.messages, []);
  });
});

Deno.test("WatchThread says once that nothing is reported when a pipe stops it, and stops all the same", async () => {
  const pipe = Promise.withResolvers<string>();
  await watching({
    paths: (base) => [base],
    prepare: (base) => Deno.writeTextFileSync(`${base}/a`, "1"),
  }, async ({ base, thread, notice, look, logger }) => {
    pipe.resolve(`${base}/pipe`);
    try {
      await notice("a write", () => Deno.writeTextFileSync(`${base}/a`, "22"));
      makePipe(`${base}/pipe`);
      // The runtime opens it, and waits for a writer. It may report the pipe
      // before, so that two looks find it at the same time.
      assert(await look() >= 1);
      while (await look() > 0);
      for (const text of ["333", "4444", "55555"]) {
        await Deno.writeTextFile(`${base}/a`, text);
        assertEquals(await look(), 1);
        assertEquals(await look(), 0);
      }
      assertEquals(logger.messages, [
        "Changes of files may not be reported: checking every second",
      ]);
      assertMatch(String(logger.lines[0]?.fields.reason), /named pipe/);
      assertEquals(thread.isReporting, false);
      await thread.stop();
    } finally {
      // Lets the runtime's own thread go on, for which the process would wait.
      (await Deno.open(`${base}/pipe`, { read: true, write: true })).close();
    }
  });
});

/** A thread that answers as a test says. */
class ScriptedThread {
  readonly requests: WatchRequest[] = [];
  readonly isTerminated = { value: false };
  worker: Worker | undefined;

  start(): Worker {
    const worker = {
      onmessage: null as ((event: { data: WatchAnswer }) => void) | null,
      onerror: null,
      postMessage: (request: WatchRequest) => this.requests.push(request),
      terminate: () => {
        this.isTerminated.value = true;
      },
    };
    this.worker = worker as unknown as Worker;
    return this.worker;
  }

  answer(answer: WatchAnswer): void {
    this.worker?.onmessage?.({ data: answer } as MessageEvent<WatchAnswer>);
  }
}

interface Scripted {
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly script: ScriptedThread;
  readonly thread: WatchThread;
  /** Adds a subscriber whose directories the test may change. */
  readonly subscribe: (...directories: string[]) => {
    directories: readonly WatchedDirectory[];
    reports: number;
    readonly refresh: () => void;
  };
}

async function scripting(
  use: (scripted: Scripted) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const script = new ScriptedThread();
  const startThread = () => script.start();
  const thread = new WatchThread({ clock, logger, startThread });
  await use({
    clock,
    logger,
    script,
    thread,
    subscribe(...paths) {
      const subscriber = {
        directories: paths.map((path) => ({ path, identity: "1" })),
        reports: 0,
        refresh: () => subscription.refresh(),
      };
      const subscription = thread.subscribe({
        directories: () => Promise.resolve(subscriber.directories),
        onReport: () => {
          subscriber.reports++;
        },
      });
      return subscriber;
    },
  });
  await thread.stop();
  assertEquals(clock.pendingTimers, 0);
}

Deno.test("WatchThread.start() starts no thread before its delay, nor without directories", async () => {
  await scripting(async ({ clock, script, thread, subscribe }) => {
    subscribe();
    await thread.start();
    await clock.advanceAsync(10_000);
    assertEquals(script.worker, undefined);
    subscribe("/a", "/b");
    await clock.advanceAsync(0);
    assertEquals(script.requests, [{ number: 1, directories: ["/a", "/b"] }]);
  });
  await scripting(async ({ clock, script, thread, subscribe }) => {
    const subscriber = subscribe("/a");
    await thread.start();
    subscriber.refresh();
    await clock.advanceAsync(199);
    assertEquals(script.worker, undefined);
    await clock.advanceAsync(1);
    assertEquals(script.requests.length, 1);
    assertEquals(thread.isReporting, false);
    script.answer({ kind: "watching", number: 1 });
    assertEquals([thread.isReporting, subscriber.reports], [true, 1]);
    script.answer({ kind: "changed" });
    assertEquals(subscriber.reports, 2);
    await thread.stop();
    assertEquals(script.isTerminated.value, true);
  });
});

Deno.test("WatchThread asks again when a directory is another one, and not when all are the same", async () => {
  await scripting(async ({ clock, script, thread, subscribe }) => {
    const first = subscribe("/a");
    const second = subscribe("/a", "/b");
    await thread.start();
    await clock.advanceAsync(200);
    script.answer({ kind: "watching", number: 1 });
    first.refresh();
    await clock.advanceAsync(0);
    assertEquals(script.requests.length, 1);
    first.directories = [];
    second.directories = [{ path: "/a", identity: "2" }];
    second.refresh();
    await clock.advanceAsync(0);
    assertEquals(script.requests[1], { number: 2, directories: ["/a"] });
    assertEquals(thread.isReporting, false);
    // An answer to the request before says nothing.
    script.answer({ kind: "watching", number: 1 });
    assertEquals(thread.isReporting, false);
    script.answer({ kind: "watching", number: 2 });
    assertEquals(thread.isReporting, true);
  });
});

Deno.test("WatchThread finds the directories again when one of them has gone", async () => {
  await scripting(async ({ clock, script, logger, thread, subscribe }) => {
    subscribe("/a");
    await thread.start();
    await clock.advanceAsync(200);
    script.answer({ kind: "failed", number: 1, reason: "gone", isGone: true });
    await clock.advanceAsync(250);
    assertEquals(script.requests[1], { number: 2, directories: ["/a"] });
    script.answer({ kind: "watching", number: 2 });
    assertEquals([thread.isReporting, logger.messages.length], [true, 0]);
  });
});

Deno.test("WatchThread says once why nothing is reported, and goes on when that ends", async () => {
  await scripting(async ({ clock, script, logger, thread, subscribe }) => {
    const subscriber = subscribe("/a");
    await thread.start();
    await clock.advanceAsync(200);
    const reason = "Too many open files (os error 24)";
    script.answer({ kind: "failed", number: 1, reason, isGone: false });
    assertEquals(logger.lines[0]?.fields.reason, reason);
    subscriber.directories = [{ path: "/b", identity: "1" }];
    subscriber.refresh();
    await clock.advanceAsync(10_000);
    assertEquals(logger.lines.length, 1);
    script.answer({ kind: "watching", number: 2 });
    assertEquals(thread.isReporting, true);
  });
});

Deno.test("WatchThread says that the runtime does not answer", async () => {
  await scripting(async ({ clock, logger, thread, subscribe }) => {
    subscribe("/a");
    await thread.start();
    await clock.advanceAsync(10_199);
    assertEquals(logger.lines, []);
    await clock.advanceAsync(1);
    assertEquals(logger.lines.map(({ fields }) => fields.reason), [
      "the runtime has not answered within 10000 ms",
    ]);
  });
});

Deno.test("WatchThread tolerates double stop and stop before start", async () => {
  await scripting(async ({ thread, subscribe }) => {
    subscribe("/a");
    await thread.stop();
    await thread.start();
    await thread.stop();
  });
});
