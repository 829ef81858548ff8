import { assertEquals } from "@std/assert";
import { Profile } from "npm:pprof-format@^2.3.2";
import { type CpuProfile, encodePprof } from "./pprof.ts";

function node(
  id: number,
  functionName: string,
  children: readonly number[] = [],
  place: { readonly url: string; readonly lineNumber: number } = {
    url: "",
    lineNumber: -1,
  },
): CpuProfile["nodes"][number] {
  const callFrame = { functionName, columnNumber: -1, ...place };
  return { id, callFrame, children };
}

const DECIDE = { url: "file:///src/decide.ts", lineNumber: 9 };
const PROFILE: CpuProfile = {
  nodes: [
    node(1, "(root)", [2, 3, 6]),
    node(2, "(idle)"),
    node(3, "serve", [4, 5]),
    node(4, "decide", [], DECIDE),
    node(5, "", [7]),
    node(6, "(garbage collector)"),
    node(7, "decide", [], DECIDE),
  ],
  startTime: 1_000,
  endTime: 9_000,
  samples: [2, 4, 4, 7, 6, 3],
  timeDeltas: [100, 1_000, 1_000, 1_000, -5, 2_000],
};

/** Returns the samples as `leaf < … < first: count, nanoseconds`. */
function formatStacks(profile: Profile): string[] {
  const text = (at: number | bigint) =>
    profile.stringTable.strings[Number(at)] ?? "?";
  const functions = new Map(profile.function.map((one) => [one.id, one]));
  const locations = new Map(profile.location.map((one) => [one.id, one]));
  return profile.sample.map(({ locationId, value }) => {
    const names = locationId.map((id) => {
      const [line] = locations.get(id)?.line ?? [];
      return text(functions.get(line?.functionId ?? 0)?.name ?? 0);
    });
    return `${names.join(" < ")}: ${value.map(Number).join(", ")}`;
  });
}

Deno.test("encodePprof() gives every stack with its samples and time, without idle time", () => {
  const decoded = Profile.decode(encodePprof(PROFILE, 1_700_000_000_000));
  assertEquals(formatStacks(decoded), [
    "decide < serve: 2, 2000000",
    "decide < (anonymous) < serve: 1, 0",
    "(garbage collector): 1, 2000000",
    "serve: 1, 0",
  ]);
  const text = (at: number | bigint) => decoded.stringTable.strings[Number(at)];
  assertEquals(
    decoded.sampleType.map(({ type, unit }) => [text(type), text(unit)]),
    [["samples", "count"], ["cpu", "nanoseconds"]],
  );
  assertEquals(BigInt(decoded.timeNanos), 1_700_000_000_000_000_000n);
  assertEquals(Number(decoded.durationNanos), 8_000_000);
  // One function, though V8 saw it on two call paths.
  const decide = decoded.function.filter(({ name }) => text(name) === "decide");
  assertEquals(
    decide.map(({ filename, startLine }) => [text(filename), startLine]),
    [["/src/decide.ts", 10]],
  );
});

Deno.test("encodePprof() writes a profile in which nothing ran", () => {
  const empty = { nodes: [node(1, "(root)")], startTime: 5, endTime: 5 };
  const decoded = Profile.decode(encodePprof(empty, 0));
  assertEquals([decoded.sample.length, decoded.location.length], [0, 0]);
});
