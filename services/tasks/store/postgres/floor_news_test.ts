import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import {
  type DuePlace,
  FloorNews,
  type FloorNotice,
  readFloorNotice,
} from "./floor_news.ts";

function place(of: Partial<DuePlace> = {}): DuePlace {
  return { lane: 1, job: "j", group: "", rank: 5, ...of };
}

Deno.test("FloorNews tells the lowest places of some milliseconds together", () => {
  const clock = new FakeClock();
  const told: FloorNotice[] = [];
  const news = new FloorNews(clock, (notice) => told.push(notice));
  news.due(place({ rank: 7 }));
  news.due(place({ rank: 3 }));
  news.due(place({ rank: 4 }));
  news.due(place({ group: "g" }));
  news.wake(90);
  news.wake(60);
  news.wake(70);
  assertEquals(told, []);
  clock.advance(5);
  assertEquals(told, [{
    kind: "floors",
    due: [place({ rank: 3 }), place({ group: "g" })],
    wakeAtMs: 60,
  }]);
  clock.advance(60_000);
  assertEquals(told.length, 1);
});

Deno.test("FloorNews names no more than some places", () => {
  const clock = new FakeClock();
  const told: FloorNotice[] = [];
  const news = new FloorNews(clock, (notice) => told.push(notice));
  for (let group = 0; group < 51; group++) {
    news.due(place({ group: `${group}` }));
  }
  news.flush();
  assertEquals(told, [
    { kind: "floors", due: [], wakeAtMs: undefined, isAll: true },
  ]);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("readFloorNotice() takes what FloorNews tells and nothing else", () => {
  const notice = { kind: "floors", due: [place()], wakeAtMs: 4 };
  assertEquals(readFloorNotice(JSON.parse(JSON.stringify(notice))), {
    ...notice,
    kind: "floors",
    isAll: false,
  });
  for (
    const other of [
      undefined,
      null,
      "floors",
      { kind: "due", tenantId: "t", workerId: "w" },
      { kind: "floors" },
      { kind: "floors", due: [{ ...place(), rank: "5" }] },
      { kind: "floors", due: [null] },
      { kind: "floors", due: [], wakeAtMs: "soon" },
    ]
  ) assertEquals(readFloorNotice(other), undefined);
});
