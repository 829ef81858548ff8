import { assertEquals } from "@std/assert";
import { describeUnknownPath } from "./unknown_path.ts";

const NONE = "Cannot find the path: there is none such; ";

Deno.test("describeUnknownPath() names the beginning when a tenant's path lacks it", () => {
  assertEquals(
    describeUnknownPath("/v1/tasks", "tenant"),
    `${NONE}the API begins with /api/v1/`,
  );
});

Deno.test("describeUnknownPath() asks for the tenant's host when the API is looked for elsewhere", () => {
  assertEquals(
    describeUnknownPath("/api/v1/tasks", "apex"),
    `${NONE}the API is at each tenant's own host, name it in the Host header`,
  );
});

Deno.test("describeUnknownPath() leads to the list of paths when nothing is known to be meant", () => {
  for (const host of ["tenant", "accounts", "apex"] as const) {
    assertEquals(
      describeUnknownPath("/nope", host),
      `${NONE}/docs has them all`,
    );
  }
});
