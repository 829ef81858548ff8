import { assertEquals } from "@std/assert";
import { MemMock } from "../../../sdk/testing.ts";
import { onStores } from "../../relayer/on_stores.ts";
import { RelayerHome } from "../../relayer/relayer_home.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { countRounds } from "../../support/rounds.ts";
import { SeededRandom } from "../../support/seeded_random.ts";
import { awaitNextMs } from "./await_next_ms.ts";
import { Caller, randomCall } from "./random_calls.ts";

const SEEDS = [1, 22];
const CALLS = countRounds(80);

onStores({
  name: "MemMock answers random calls as the real relayer does",
  fn: async (storage, t) => {
    await using home = await RelayerHome.open({
      storage,
      accounts: SEEDS.length,
    });
    for (const [index, seed] of SEEDS.entries()) {
      await t.step(`with the seed ${seed}`, async () => {
        const random = new SeededRandom(seed);
        const clock = new FakeClock();
        const mock = MemMock.create({ clock });
        const callers = [
          new Caller(home.mem({}, home.account(index)), awaitNextMs),
          new Caller(mock.mem, () => clock.advance(1)),
        ];
        const names = ["a", "b"];
        for (let round = 0; round < CALLS; round++) {
          const call = randomCall(random, { names, round });
          const [real, mocked] = await Promise.all(
            callers.map((caller) => caller.call(call)),
          );
          const what = `call ${round}: ${JSON.stringify(call)}`;
          assertEquals(mocked, real, what);
        }
      });
    }
  },
});
