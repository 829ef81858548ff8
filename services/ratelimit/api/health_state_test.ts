import { assertEquals } from "@std/assert";
import { SERVING_STATUS } from "../../../proto/health.ts";
import { HealthBoard } from "../../shared/grpc/health.ts";
import { HealthState } from "./health_state.ts";

const { SERVING, NOT_SERVING } = SERVING_STATUS;

Deno.test("HealthState is healthy from the start when no domain is needed", () => {
  const board = new HealthBoard();
  const state = new HealthState({
    board,
    isStoreHealthy: () => true,
    needsDomain: false,
  });
  assertEquals(state.isHealthy, true);
  assertEquals(board.get("ratelimit"), SERVING);
});

Deno.test("HealthState follows the number of domains when one is needed", () => {
  const board = new HealthBoard();
  const state = new HealthState({
    board,
    isStoreHealthy: () => true,
    needsDomain: true,
  });
  assertEquals(board.get("ratelimit"), NOT_SERVING);
  state.configured(1);
  assertEquals(board.get("ratelimit"), SERVING);
  state.configured(0);
  assertEquals(board.get("ratelimit"), NOT_SERVING);
  assertEquals(state.reasons, ["no rate limit configuration loaded"]);
});

Deno.test("HealthState.refresh() sees the store come and go", () => {
  const board = new HealthBoard();
  let isStoreHealthy = false;
  const state = new HealthState({
    board,
    isStoreHealthy: () => isStoreHealthy,
    needsDomain: false,
  });
  assertEquals(board.get("ratelimit"), NOT_SERVING);
  isStoreHealthy = true;
  state.refresh();
  assertEquals(board.get("ratelimit"), SERVING);
});

Deno.test("HealthState.terminating() turns the state for good, and that of the whole", () => {
  const board = new HealthBoard();
  const state = new HealthState({
    board,
    isStoreHealthy: () => true,
    needsDomain: false,
  });
  state.terminating();
  state.refresh();
  assertEquals(board.get("ratelimit"), NOT_SERVING);
  assertEquals(board.get(""), NOT_SERVING);
});
