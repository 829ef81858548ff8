import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { Runner } from "./session.ts";
import {
  NotReplicatedError,
  readReplication,
  type Replication,
  ReplicationWatch,
} from "./replication.ts";

const CASES: readonly (readonly [
  Replication["kind"],
  Readonly<Record<string, unknown>>,
])[] = [
  ["asynchronous", { names: "", mode: "on", confirming: 0, hidden: 0 }],
  ["asynchronous", { names: "a", mode: "local", confirming: 1, hidden: 0 }],
  ["asynchronous", {
    names: "a",
    mode: "remote_write",
    confirming: 1,
    hidden: 0,
  }],
  ["synchronous", { names: "a", mode: "on", confirming: 1, hidden: 0 }],
  ["synchronous", {
    names: "a",
    mode: "remote_apply",
    confirming: 2,
    hidden: 0,
  }],
  ["missing", { names: "a", mode: "on", confirming: 0, hidden: 0 }],
  ["hidden", { names: "a", mode: "on", confirming: 0, hidden: 2 }],
];

Deno.test("readReplication() tells whether a standby confirms commits", () => {
  for (const [kind, row] of CASES) {
    assertEquals(readReplication(row).kind, kind, JSON.stringify(row));
  }
});

/** A server whose answer a test sets. */
function server(): Runner & { row: Readonly<Record<string, unknown>> } {
  const it = {
    row: {} as Readonly<Record<string, unknown>>,
    query: () =>
      Promise.resolve(
        Object.assign([it.row], { count: 1, command: "SELECT" }),
      ),
  };
  return it as unknown as Runner & { row: Readonly<Record<string, unknown>> };
}

Deno.test("ReplicationWatch refuses writes while no standby confirms them, if one is required", async () => {
  const clock = new FakeClock();
  const runner = server();
  runner.row = { names: "a", mode: "on", confirming: 0, hidden: 0 };
  const watch = new ReplicationWatch({ runner, clock, isRequired: true });
  assertThrows(() => watch.demand(), NotReplicatedError, "could not be asked");
  await watch.start();
  assertThrows(() => watch.demand(), NotReplicatedError, "no synchronous");
  runner.row = { names: "a", mode: "on", confirming: 1, hidden: 0 };
  await clock.advance(1_000);
  watch.demand();
  assertEquals(watch.note, undefined);
  await watch.stop();
});

Deno.test("ReplicationWatch refuses writes when a standby is missing for ten seconds, also if none is required", async () => {
  const clock = new FakeClock();
  const runner = server();
  const missing = { names: "a", mode: "on", confirming: 0, hidden: 0 };
  runner.row = missing;
  const watch = new ReplicationWatch({ runner, clock, isRequired: false });
  await watch.start();
  await clock.advanceAsync(8_500);
  watch.demand();
  await clock.advanceAsync(1_500);
  assertThrows(() => watch.demand(), NotReplicatedError, "no synchronous");
  assertStringIncludes(watch.note ?? "", "no synchronous standby");
  runner.row = { ...missing, confirming: 1 };
  await clock.advanceAsync(1_500);
  watch.demand();
  runner.row = missing;
  await clock.advanceAsync(1_500);
  watch.demand();
  await watch.stop();
});

Deno.test("ReplicationWatch notes that a failover may lose commits, if no standby is required", async () => {
  const clock = new FakeClock();
  const runner = server();
  runner.row = { names: "", mode: "on", confirming: 0, hidden: 0 };
  const watch = new ReplicationWatch({ runner, clock, isRequired: false });
  await watch.start();
  watch.demand();
  assertEquals(
    watch.note,
    "commits wait for no standby: a failover may lose the last ones",
  );
  await watch.stop();
});
