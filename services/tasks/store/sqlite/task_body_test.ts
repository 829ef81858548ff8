import { assert, assertEquals } from "@std/assert";
import { sampleIds, sampleTask } from "../testing/sample_tasks.ts";
import { decodeBody, encodeBody } from "./task_body.ts";

const task = sampleTask({ id: sampleIds().next() });

Deno.test("encodeBody() leaves out what most tasks have in common", () => {
  const fields = Object.keys(JSON.parse(encodeBody(task)));
  for (
    const field of ["id", "tenantId", "version", "dataJson", "run", "tags"]
  ) {
    assert(!fields.includes(field), field);
  }
  assert(encodeBody(task).length < 300, encodeBody(task));
});

Deno.test("decodeBody() gives back what encodeBody() took", () => {
  const { tenantId: _, id: __, version: ___, dataJson: ____, ...body } = task;
  const bodies = [
    body,
    { ...body, job: "", group: "g", timezone: "Europe/Paris", isDue: false },
    { ...body, priority: -3, run: 1, executions: 2, retries: 3, fence: 4 },
    { ...body, retry: null, tags: ["a"], metadata: { a: "" } },
    { ...body, dependencies: [task.id], lost: 1, lostInRow: 1, missed: 9 },
  ];
  for (const one of bodies) {
    assertEquals(decodeBody(encodeBody({ ...task, ...one })), one);
  }
});
