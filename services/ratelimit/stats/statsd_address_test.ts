import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { type FoundAddress, StatsdAddress } from "./statsd_address.ts";

const OLD = { address: "10.0.0.1", family: 4 };
const NEW = { address: "10.0.0.2", family: 4 };
const OTHER_FAMILY = { address: "::1", family: 6 };

function world(answers: (readonly FoundAddress[] | Error)[]) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const address = new StatsdAddress({
    host: "statsd",
    found: OLD,
    lookUp: (host) => {
      asked.push(host);
      const answer = answers.shift() ?? [];
      return answer instanceof Error
        ? Promise.reject(answer)
        : Promise.resolve(answer);
    },
    clock,
  });
  return { clock, asked, address };
}

Deno.test("StatsdAddress.take() looks the name up again after a minute, and follows it", async () => {
  const { clock, asked, address } = world([[NEW, OTHER_FAMILY]]);
  await clock.advanceAsync(59_999);
  assertEquals([address.take(), asked], ["10.0.0.1", []]);
  await clock.advanceAsync(1);
  // The lookup holds nothing up: it is for the next payload.
  assertEquals([address.take(), address.take()], ["10.0.0.1", "10.0.0.1"]);
  assertEquals(asked, ["statsd"]);
  await clock.advanceAsync(0);
  assertEquals(address.take(), "10.0.0.2");
  assertEquals(asked.length, 1);
  await clock.advanceAsync(60_000);
  address.take();
  assertEquals(asked.length, 2);
});

Deno.test("StatsdAddress.take() keeps the address when a lookup fails or still has it", async () => {
  const { clock, asked, address } = world([
    new Error("SERVFAIL"),
    [],
    [OTHER_FAMILY],
    [NEW, OLD],
  ]);
  for (let minute = 0; minute < 4; minute++) {
    await clock.advanceAsync(60_000);
    address.take();
    await clock.advanceAsync(0);
    assertEquals(address.take(), "10.0.0.1");
  }
  assertEquals(asked.length, 4);
});
