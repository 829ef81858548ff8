import { assertEquals } from "@std/assert";
import {
  applyBeat,
  type Beat,
  DEAD_AFTER_MS,
  type Duty,
  type MemberState,
  NO_MEMBERS,
  removeMember,
} from "./members.ts";

const WANTS = ["a", "b", "c", "d"];

/** Beats of instances, one after another, on one state. */
class Beats {
  state: MemberState = NO_MEMBERS;
  server = "first";

  beat(
    id: string,
    nowMs: number,
    sinceLastMs?: number,
    wants: readonly string[] = WANTS,
  ): string {
    const beat: Beat = { id, version: "1", address: "", wants, sinceLastMs };
    const time = { nowMs, server: this.server };
    const { state, answer } = applyBeat(this.state, beat, time);
    this.state = state;
    return answer.kind === "expired"
      ? "expired"
      : answer.members.map((member) => member.id).join(" ");
  }

  duties(id: string): readonly Duty[] {
    return this.state.duties.filter(({ holder }) => holder === id);
  }
}

Deno.test("applyBeat() shares the duties out equally when instances join", () => {
  const beats = new Beats();
  assertEquals(beats.beat("x", 0), "x");
  assertEquals(beats.duties("x").map(({ name }) => name), WANTS);
  assertEquals(beats.beat("y", 10), "x y");
  assertEquals(beats.duties("y"), []);
  beats.beat("x", 2_000, 2_000);
  beats.beat("y", 2_010, 2_000);
  assertEquals(beats.duties("x").map(({ name }) => name), ["a", "b"]);
  assertEquals(beats.duties("y").map(({ name }) => name), ["c", "d"]);
  const fences = beats.state.duties.map(({ fence }) => fence);
  assertEquals(new Set(fences).size, 4);
});

Deno.test("applyBeat() leaves all duties to those that can do them", () => {
  const beats = new Beats();
  beats.beat("aside", 0, undefined, []);
  assertEquals(beats.beat("one", 0), "aside one");
  assertEquals(beats.duties("one").length, WANTS.length);
  beats.beat("aside", 1_000, 1_000, []);
  beats.beat("one", 1_000, 1_000);
  assertEquals(beats.duties("one").length, WANTS.length);
});

Deno.test("applyBeat() gives the duties of a dead instance to others, and lets it not come back", () => {
  const beats = new Beats();
  beats.beat("x", 0);
  beats.beat("y", 0);
  for (let nowMs = 2_000; nowMs <= DEAD_AFTER_MS; nowMs += 2_000) {
    assertEquals(beats.beat("y", nowMs, 2_000), "x y");
  }
  assertEquals(beats.beat("y", DEAD_AFTER_MS + 1, 1), "y");
  assertEquals(beats.duties("y").map(({ name }) => name).sort(), WANTS);
  const { state } = beats;
  assertEquals(beats.beat("x", DEAD_AFTER_MS + 2, 2_000), "expired");
  assertEquals(beats.state, state);
});

Deno.test("applyBeat() lets nobody die when the store's time is set forward", () => {
  const beats = new Beats();
  beats.beat("x", 0);
  beats.beat("y", 0);
  assertEquals(beats.beat("x", 3_602_000, 2_000), "x y");
  assertEquals(beats.beat("y", 3_602_100, 2_100), "x y");
});

Deno.test("applyBeat() counts the silence from now on when the store's time is set back", () => {
  const beats = new Beats();
  beats.beat("x", 3_600_000);
  beats.beat("y", 3_600_000);
  for (let nowMs = 0; nowMs <= DEAD_AFTER_MS; nowMs += 2_000) {
    assertEquals(beats.beat("y", nowMs, 2_000), "x y");
  }
  assertEquals(beats.beat("y", DEAD_AFTER_MS + 1, 1), "y");
});

Deno.test("applyBeat() lets nobody die when another server answers", () => {
  const beats = new Beats();
  beats.beat("x", 0);
  beats.beat("y", 0);
  beats.server = "second";
  assertEquals(beats.beat("y", 9_000, 9_000), "x y");
});

Deno.test("removeMember() frees the duties of an instance that stops", () => {
  const beats = new Beats();
  beats.beat("x", 0);
  beats.beat("y", 0);
  beats.state = removeMember(beats.state, "x");
  assertEquals(beats.beat("y", 100, 100), "y");
  assertEquals(beats.duties("y").length, WANTS.length);
});
