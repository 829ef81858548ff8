import { assertEquals, assertRejects } from "@std/assert";
import { SharedFlight } from "./shared_flight.ts";

Deno.test("SharedFlight.join() works once for all, and again after a failure", async () => {
  let runs = 0;
  const flight = new SharedFlight(() => {
    runs++;
    return runs === 1 ? Promise.reject(new Error("no")) : Promise.resolve(runs);
  });
  const settled = await Promise.allSettled([flight.join(), flight.join()]);
  assertEquals(settled.map(({ status }) => status), ["rejected", "rejected"]);
  assertEquals(runs, 1);
  assertEquals(await Promise.all([flight.join(), flight.join()]), [2, 2]);
  assertEquals(await flight.join(), 2);
});

Deno.test("SharedFlight.join() forgets work that threw before it began", async () => {
  let runs = 0;
  const flight = new SharedFlight((): Promise<number> => {
    if (++runs === 1) throw new Error("no");
    return Promise.resolve(runs);
  });
  await assertRejects(() => flight.join(), Error, "no");
  assertEquals(await flight.join(), 2);
});
