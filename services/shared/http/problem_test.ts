import { assertEquals, assertThrows } from "@std/assert";
import { problem } from "./problem.ts";

Deno.test("problem() takes the title from the status when none is given", async () => {
  const response = problem({ status: 404 });
  assertEquals(response.status, 404);
  assertEquals(
    response.headers.get("content-type"),
    "application/problem+json",
  );
  assertEquals(await response.json(), { title: "Not Found", status: 404 });
});

Deno.test("problem() writes all that is given", async () => {
  const response = problem({
    status: 429,
    title: "Slow down",
    detail: 'The limit of domain "mail" is used up',
    type: "https://example.com/problems/limit",
    headers: { "retry-after": "7", "content-type": "text/html" },
    extensions: { limit: 5 },
  });
  assertEquals(response.headers.get("retry-after"), "7");
  assertEquals(
    response.headers.get("content-type"),
    "application/problem+json",
  );
  assertEquals(await response.json(), {
    type: "https://example.com/problems/limit",
    title: "Slow down",
    status: 429,
    detail: 'The limit of domain "mail" is used up',
    limit: 5,
  });
});

Deno.test("problem() does not let an extension replace a standard member", async () => {
  const response = problem({
    status: 400,
    extensions: { status: 200, title: "Fine", detail: "No", type: "x:y" },
  });
  assertEquals(await response.json(), { title: "Bad Request", status: 400 });
});

Deno.test("problem() leaves the title out when the status has no phrase", async () => {
  assertEquals(await problem({ status: 499 }).json(), { status: 499 });
});

Deno.test("problem() throws when the status is no HTTP status", () => {
  assertThrows(() => problem({ status: 42 }), RangeError);
});
