import { assertEquals } from "@std/assert";
import { countRounds } from "../../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import { withoutUndefined } from "../../../../tests/support/without_undefined.ts";
import { openSubject as openSqlite } from "../sqlite/testing/open_store.ts";
import { describeStore, drawCommit, pick } from "../testing/drawn_commits.ts";
import { openSubject } from "./testing/postgres_subject.ts";

// The numbers of changes differ.
const LEFT_OUT = ["change"];

serviceTest(["postgres"], {
  name:
    "PostgreSQL and SQLite answer alike, and have the same rows, whatever is committed",
  async fn() {
    for (let seed = 0; seed < countRounds(1); seed++) await compare(seed);
  },
});

async function compare(seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const [sqlite, postgres] = [await openSqlite(), await openSubject()];
  const subjects = [sqlite, postgres];
  const names = new Map<string, string>();
  try {
    for (const { store } of subjects) {
      for (const id of ["one", "two"]) {
        const beat = { id, version: "", address: "", wants: [] };
        await store.beat({ ...beat, sinceLastMs: undefined });
      }
    }
    for (let round = 0; round < 40; round++) {
      const elapsedMs = random.below(300);
      for (const { clock } of subjects) clock.advance(elapsedMs);
      const nowMs = sqlite.clock.nowMs();
      // Some at once, so that they share groups and transactions.
      const commits = Array.from(
        { length: 1 + random.below(12) },
        () => drawCommit(random, { nowMs, names }),
      );
      const [expected, found] = await Promise.all(
        subjects.map(({ store }) =>
          Promise.all(commits.map((changes) => store.commit(changes)))
        ),
      );
      assertEquals(found, expected, `${seed} ${round}`);
      if (random.chance(0.2)) {
        const bounds = {
          ...{ nowMs, limit: 1_000, finishedJobsBeforeMs: nowMs - 2_000 },
          tombstonesBeforeMs: nowMs - 1_000,
        };
        for (const { store } of subjects) await store.sweep(bounds);
      }
      const leases = {
        ...{ nowMs, limit: 1 + random.below(4), maxBytes: 30 },
        ...{ instance: pick(random, ["one", "two"]), leaseMs: 500 },
      };
      const taken = await Promise.all(
        subjects.map(({ store }) => store.leaseJobs(leases)),
      );
      assertEquals(withoutUndefined(taken[1]), withoutUndefined(taken[0]));
      assertEquals(
        await describeStore(postgres.store, nowMs, LEFT_OUT),
        await describeStore(sqlite.store, nowMs, LEFT_OUT),
        `${seed} ${round}`,
      );
    }
  } finally {
    for (const subject of subjects) await subject.close();
  }
}
