import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../tests/support/recording_logger.ts";
import type { Clock } from "./clock.ts";
import { type CommonNotice, OwnMembers } from "./instance_store.ts";
import { type InstanceChange, Instances } from "./instances.ts";
import { DEAD_AFTER_MS, FENCED_AFTER_MS } from "./members.ts";
import { SteppingClock } from "../../tests/support/stepping_clock.ts";

const DUTIES = ["recover", "sweep", "audit", "erase"] as const;

/** What {@linkcode Instances} need of a store. */
type MemberStore = ConstructorParameters<typeof Instances>[0]["store"];

/** Stores that share members; each hears what the others tell. */
class SharedMembers {
  readonly #members: OwnMembers;
  readonly #clock: Clock;
  readonly #listeners = new Map<
    MemberStore,
    Set<(notice: CommonNotice) => void>
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#members = new OwnMembers(clock);
  }

  open(): MemberStore {
    const heard = new Set<(notice: CommonNotice) => void>();
    const store: MemberStore = {
      beat: (beat) => Promise.resolve(this.#members.beat(beat)),
      leave: (id) => Promise.resolve(this.#members.leave(id)),
      tell: (notices) => {
        this.#clock.setTimer(() => {
          for (const [one, listeners] of this.#listeners) {
            if (one === store) continue;
            for (const listen of listeners) notices.forEach(listen);
          }
        }, 0);
      },
      onNotice(listen) {
        heard.add(listen);
        return () => void heard.delete(listen);
      },
    };
    this.#listeners.set(store, heard);
    return store;
  }
}

interface World {
  readonly clock: SteppingClock;
  readonly one: Instances;
  readonly other: Instances;
  /** What the first instance has noticed. */
  readonly changes: InstanceChange[];
  /** Lets the beats of the first instance fail, or not. */
  breaks(isBroken: boolean): void;
}

/**
 * Two instances on one store that have not joined. The beats of the first one
 * take some time.
 */
function open({ waitMs = 0 }: { readonly waitMs?: number } = {}): World {
  const clock = new SteppingClock();
  const members = new SharedMembers(clock);
  const base = members.open();
  let isBroken = false;
  let ids = 0;
  const create = (store: MemberStore): Instances =>
    new Instances({
      store,
      duties: DUTIES,
      clock,
      newId: (prefix) => `${prefix}_${++ids}`,
      logger: new RecordingLogger(),
    });
  const one = create({
    ...base,
    async beat(beat) {
      if (waitMs > 0) await clock.sleep(waitMs);
      if (isBroken) throw new Error("down");
      return await base.beat(beat);
    },
  });
  const changes: InstanceChange[] = [];
  one.onChange((change) => changes.push(change));
  return {
    clock,
    one,
    other: create(members.open()),
    changes,
    breaks: (value) => isBroken = value,
  };
}

Deno.test("Instances.join() makes a member that holds all duties while it is alone, and shares them with the next one", async () => {
  const { clock, one, other } = open();
  await one.join();
  assert(DUTIES.every((duty) => one.holds(duty)));
  assertEquals([one.hasOthers, other.hasOthers], [false, false]);
  await other.join();
  // It was told, so it need not wait for its next beat.
  await clock.advance(0);
  assertEquals([one.hasOthers, other.hasOthers], [true, true]);
  await clock.advance(2_000);
  for (const duty of DUTIES) {
    assertEquals(one.holds(duty), !other.holds(duty), duty);
  }
  await one.leave();
  await clock.advance(0);
  assert(DUTIES.every((duty) => other.holds(duty) && !one.holds(duty)));
  assertEquals([other.hasOthers, one.isFenced], [false, true]);
  await other.leave();
  await clock.advance(0);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("Instances is fenced when its beats were not answered for so long, before others count it as dead, and comes back as a new one", async () => {
  const { clock, one, other, changes, breaks } = open();
  await one.join();
  await other.join();
  await clock.advance(2_000);
  const { id } = one;
  changes.length = 0;
  breaks(true);
  await clock.advance(FENCED_AFTER_MS - 2_001);
  assertEquals([one.isFenced, changes], [false, []]);
  await clock.advance(2_001);
  assertEquals([one.isFenced, changes], [true, [{ kind: "fenced" }]]);
  assert(DUTIES.every((duty) => !one.holds(duty)));
  assertEquals(other.members.map((member) => member.id), [id, other.id]);
  await clock.advance(DEAD_AFTER_MS);
  assertEquals(other.members.map((member) => member.id), [other.id]);
  changes.length = 0;
  breaks(false);
  assertEquals(await one.mayAct(), true);
  assertNotEquals(one.id, id);
  const [change] = changes;
  assertEquals(change?.kind === "answered" && change.isBack, true);
  await clock.advance(2_000);
  assertEquals(other.members.map((member) => member.id), [other.id, one.id]);
  await one.leave();
  await other.leave();
});

Deno.test("Instances goes on as before after its process stood still, where it is alone", async () => {
  const clock = new FakeClock();
  const alone = new Instances({
    store: new SharedMembers(clock).open(),
    duties: DUTIES,
    clock,
    newId: (prefix) => prefix,
    logger: new RecordingLogger(),
  });
  const kinds: string[] = [];
  alone.onChange(({ kind }) => kinds.push(kind));
  await alone.join();
  clock.block(600_000);
  assertEquals([alone.isFenced, await alone.mayAct()], [true, true]);
  clock.block(600_000);
  await clock.advanceAsync(1_000);
  assertEquals(alone.isFenced, false);
  assertEquals(kinds.includes("fenced"), false);
  await alone.leave();
});

Deno.test("Instances.findGone() names no instance that has joined since the last beat", async () => {
  const { clock, one, other } = open();
  await one.join();
  await clock.advance(1_000);
  // Nobody is told of the other one.
  const joining = other.join();
  const gone = await one.findGone([one.id, other.id, "boot_dead"]);
  await joining;
  assertEquals([...gone], ["boot_dead"]);
  await one.leave();
  await other.leave();
});

Deno.test("Instances.findGone() judges nobody without an answer", async () => {
  const { one, breaks } = open();
  await one.join();
  breaks(true);
  assertEquals([...await one.findGone([one.id])], []);
  await assertRejects(
    () => one.findGone(["boot_unknown"]),
    Error,
    "Cannot tell which instances live: the store did not answer",
  );
  breaks(false);
  await one.leave();
});

Deno.test("Instances.join() rejects when the store fails, and can be called again", async () => {
  const { one, breaks } = open();
  breaks(true);
  await assertRejects(() => one.join(), Error, "down");
  assertEquals(one.isFenced, true);
  breaks(false);
  await one.join();
  assertEquals([one.isFenced, one.members.length], [false, 1]);
  await one.leave();
});

Deno.test("Instances tells that it is fenced although its timer fires a fraction of a millisecond early", async () => {
  // The monotonic clock is ahead by another fraction after each wait.
  for (let waitMs = 1; waitMs < 10; waitMs++) {
    const { clock, one, changes, breaks } = open({ waitMs });
    const joining = one.join();
    await clock.advance(waitMs);
    await joining;
    breaks(true);
    await clock.advance(FENCED_AFTER_MS + 1);
    assertEquals(changes.at(-1), { kind: "fenced" });
    const leaving = one.leave();
    await clock.advance(waitMs);
    await leaving;
  }
});
