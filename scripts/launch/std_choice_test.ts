import { assertEquals, assertRejects, fail } from "@std/assert";
import { chooseStd, type StdChoiceInputs } from "./std_choice.ts";

/**
 * Inputs with nothing set and nothing cached, where asking the registry fails
 * the test.
 */
const NOTHING: StdChoiceInputs = {
  forced: undefined,
  decided: undefined,
  isCached: () => Promise.resolve(false),
  ask: () => fail("asked the registry"),
};

const notConsulted = () => fail("looked into the cache");

Deno.test("chooseStd() takes JSR and asks nobody when the packages are cached", async () => {
  assertEquals(
    await chooseStd({ ...NOTHING, isCached: () => Promise.resolve(true) }),
    {
      source: "jsr",
      notice:
        "@std: taking the packages of JSR, because they are in Deno's cache",
    },
  );
});

Deno.test("chooseStd() takes JSR when the registry has the packages", async () => {
  const ask = () =>
    Promise.resolve({ kind: "available", reason: "https://jsr.io/ has them" });
  assertEquals(
    await chooseStd({ ...NOTHING, ask: ask as StdChoiceInputs["ask"] }),
    {
      source: "jsr",
      notice:
        "@std: taking the packages of JSR, because https://jsr.io/ has them",
    },
  );
});

Deno.test("chooseStd() takes the stand-ins when the registry has no answer", async () => {
  const choice = await chooseStd({
    ...NOTHING,
    ask: () => Promise.resolve({ kind: "unavailable", reason: "it is down" }),
  });
  assertEquals(choice, {
    source: "offline",
    notice: "@std: taking the stand-ins of scripts/offline, because it is down",
  });
});

Deno.test("chooseStd() follows TERCET_STD without looking or asking", async () => {
  for (const source of ["jsr", "offline"] as const) {
    const choice = await chooseStd({
      ...NOTHING,
      forced: source,
      isCached: notConsulted,
    });
    assertEquals(choice.source, source);
    assertEquals(choice.notice?.endsWith("because TERCET_STD says so"), true);
  }
});

Deno.test("chooseStd() follows a parent's decision and says nothing", async () => {
  const choice = await chooseStd({
    ...NOTHING,
    decided: "offline",
    forced: "jsr",
    isCached: notConsulted,
  });
  assertEquals(choice, { source: "offline" });
});

Deno.test("chooseStd() takes empty values as not set", async () => {
  const choice = await chooseStd({
    ...NOTHING,
    decided: "",
    forced: "",
    isCached: () => Promise.resolve(true),
  });
  assertEquals(choice.source, "jsr");
});

Deno.test("chooseStd() names what is accepted when TERCET_STD is something else", async () => {
  await assertRejects(
    () => chooseStd({ ...NOTHING, forced: "Offline" }),
    RangeError,
    `Cannot use TERCET_STD: got "Offline", accepted are "jsr", "offline" and nothing at all`,
  );
});
