import { assert, assertEquals } from "@std/assert";
import { RecordingLogger } from "../../tests/support/recording_logger.ts";
import { waitUntil } from "../../tests/support/wait_until.ts";
import { systemClock } from "../shared/clock.ts";
import { WatchThread } from "../shared/watch/watch_thread.ts";
import type { PlanBook } from "./engine/plan_book.ts";
import { PlansFile, readPlans } from "./plans_file.ts";

interface Followed {
  readonly file: PlansFile;
  readonly path: string;
  readonly plans: PlanBook;
  readonly logger: RecordingLogger;
  /** How often other plans came into force. */
  readonly replaced: () => number;
  /** Puts another file in the place of this one. */
  readonly put: (text: string) => Promise<void>;
  /** Waits until the first plan has that id. */
  readonly waitForPlan: (id: string) => Promise<void>;
  /** Waits until so many lines of errors were logged; returns the last. */
  readonly waitForError: (count: number) => Promise<string>;
}

function createText(...ids: readonly string[]): string {
  return `plans:\n${
    ids.map((id) => `  - {id: ${id}, name: A plan}\n`).join("")
  }`;
}

/** Follows a file of plans, with a watch of the runtime. */
async function following(
  { defaultPlanId }: { readonly defaultPlanId?: string },
  use: (followed: Followed) => Promise<void>,
): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  const path = `${folder}/plans.yaml`;
  await Deno.writeTextFile(path, createText("first"));
  const outcome = await readPlans(path, defaultPlanId);
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  const { read } = outcome;
  const { plans } = read;
  const clock = systemClock;
  const logger = new RecordingLogger();
  const reports = new WatchThread({ clock, logger, startDelayMs: 0 });
  const file = new PlansFile({ path, read, reports, clock, logger });
  let replaced = 0;
  file.onReplaced(() => replaced++);
  try {
    await file.start();
    await reports.start();
    await waitUntil(() => reports.isReporting, { what: "the watch" });
    await use({
      file,
      path,
      plans,
      logger,
      replaced: () => replaced,
      async put(text) {
        await Deno.writeTextFile(`${path}.next`, text);
        await Deno.rename(`${path}.next`, path);
      },
      waitForPlan: (id) =>
        waitUntil(() => plans.plans[0]?.id === id, { what: `plan ${id}` }),
      async waitForError(count) {
        const errors = () =>
          logger.lines.filter(({ level }) => level === "error");
        await waitUntil(() => errors().length >= count, { what: "an error" });
        assertEquals(errors().length, count);
        return String(errors().at(-1)?.fields.error);
      },
    });
  } finally {
    await file.stop();
    await reports.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("PlansFile puts the plans of a file that is edited or replaced into force", async () => {
  await following({}, async (test) => {
    const { path, plans, logger, replaced, put, waitForPlan } = test;
    await Deno.writeTextFile(path, createText("edited", "other"));
    await waitForPlan("edited");
    assertEquals(plans.plans.length, 2);
    assertEquals(plans.defaultPlan.id, "edited");
    await put(createText("replaced"));
    await waitForPlan("replaced");
    assertEquals(logger.messages, ["Reloaded plans", "Reloaded plans"]);
    assertEquals(replaced(), 2);
  });
});

Deno.test("PlansFile keeps its plans and says so once while the file can't be used", async () => {
  await following({ defaultPlanId: "first" }, async (test) => {
    const { file, path, plans, put, waitForPlan, waitForError } = test;
    await put("plans: none\n");
    assertEquals(
      await waitForError(1),
      `plans: Cannot accept value: it is text, not a list (${path})`,
    );
    await put(createText("second"));
    assertEquals(
      await waitForError(2),
      'Cannot use "first" as default plan: it does not exist (DEFAULT_PLAN)',
    );
    await Deno.remove(path);
    assertEquals(
      await waitForError(3),
      `Cannot read plans: there is no file "${path}"; PLANS_FILE names it`,
    );
    assertEquals(plans.plans.map(({ id }) => id), ["first"]);
    // SIGHUP asks for an answer.
    await file.reload();
    await waitForError(4);
    await put(createText("third", "first"));
    await waitForPlan("third");
    assertEquals(plans.defaultPlan.id, "first");
  });
});

Deno.test("readPlans() tells what is wrong with a file, and needs none", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/plans.yaml`;
    const faults = async (id?: string): Promise<unknown> => {
      const outcome = await readPlans(file, id);
      return outcome.kind === "invalid" ? outcome.problems : "none";
    };
    await Deno.mkdir(file);
    assertEquals(await faults(), [
      `Cannot read plans: "${file}" (PLANS_FILE): it is not a file`,
    ]);
    await Deno.remove(file);
    await Deno.writeFile(file, new Uint8Array([0xff]));
    assertEquals(await faults(), [
      `Cannot read plans: "${file}" (PLANS_FILE): it is not valid UTF-8`,
    ]);
    await Deno.writeTextFile(file, createText("a"));
    assertEquals(await faults("b"), [
      'Cannot use "b" as default plan: it does not exist (DEFAULT_PLAN)',
    ]);
    const none = await readPlans(undefined, undefined);
    assert(none.kind === "ok");
    assertEquals(none.read.plans.defaultPlan.id, "unlimited");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
