import { assertEquals, assertRejects } from "@std/assert";
import { enqueue, type EnqueueQuery } from "./enqueue.ts";

/** A query that notes what it is asked, and gives an answer. */
function recording(answer: unknown) {
  const asked: (readonly [string, readonly (string | null)[]])[] = [];
  const query: EnqueueQuery = (text, values) => {
    asked.push([text, values]);
    return Promise.resolve(answer);
  };
  return { query, asked };
}

const CALL = ".enqueue($1::text, $2::text::jsonb, $3::text::jsonb, " +
  "$4::text)::text AS request";

Deno.test("enqueue() calls the function with texts, whatever the client", async () => {
  const { query, asked } = recording([{ request: "17" }]);
  const number = await enqueue(query, {
    worker: "mailer",
    data: { to: "a@b.c" },
    key: "k",
    date: new Date(0),
    tags: ["x"],
  });
  assertEquals(number, 17);
  assertEquals(asked, [[`SELECT "tercet"${CALL}`, [
    "mailer",
    '{"to":"a@b.c"}',
    '{"date":"1970-01-01T00:00:00.000Z","tags":["x"]}',
    "k",
  ]]]);
});

Deno.test("enqueue() tells no data from null, and takes another schema", async () => {
  const { query, asked } = recording({ rows: [{ request: 18n }] });
  const options = { schema: "other" };
  assertEquals(await enqueue(query, { worker: "w" }, options), 18);
  await enqueue(query, { worker: "w", data: null }, options);
  assertEquals(asked, [
    [`SELECT "other"${CALL}`, ["w", null, "{}", null]],
    [`SELECT "other"${CALL}`, ["w", "null", "{}", null]],
  ]);
});

Deno.test("enqueue() refuses what it cannot send, and answers that it cannot read", async () => {
  const { query, asked } = recording(undefined);
  await assertRejects(
    () => enqueue(query, { worker: "w" }, { schema: 'a"b' }),
    TypeError,
    "is no schema's name",
  );
  await assertRejects(
    () => enqueue(query, { worker: "w", date: new Date(NaN) }),
    TypeError,
    "it is an invalid Date",
  );
  assertEquals(asked, []);
  await assertRejects(
    () => enqueue(query, { worker: "w" }),
    TypeError,
    "neither rows nor an object with `rows`",
  );
});
