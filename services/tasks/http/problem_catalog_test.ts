import { assertEquals } from "@std/assert";
import { PROBLEM_CODES } from "./problem_catalog.ts";
import { CALLER_PROBLEMS } from "./problems/caller_problems.ts";
import { HTTP_PROBLEMS } from "./problems/http_problems.ts";
import { IDEMPOTENCY_PROBLEMS } from "./problems/idempotency_problems.ts";
import { SERVICE_PROBLEMS } from "./problems/service_problems.ts";
import { STATE_PROBLEMS } from "./problems/state_problems.ts";
import { VALUE_PROBLEMS } from "./problems/value_problems.ts";

Deno.test("PROBLEM_CODES has each code once when all subjects are put together", () => {
  const codes = [
    CALLER_PROBLEMS,
    HTTP_PROBLEMS,
    IDEMPOTENCY_PROBLEMS,
    SERVICE_PROBLEMS,
    STATE_PROBLEMS,
    VALUE_PROBLEMS,
  ].flatMap((problems) => Object.keys(problems));
  // A code in two subjects would hide the kind of the first one.
  assertEquals(codes.toSorted(), PROBLEM_CODES.toSorted());
});
