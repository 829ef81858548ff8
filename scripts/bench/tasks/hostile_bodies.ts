/**
 * Request bodies that cost a service more than their length suggests: what one
 * member of a tenant may send to make all others wait.
 *
 * @module
 */

import type { HttpRequestLine } from "./http_socket.ts";

/** A body and the request that carries it. */
export interface HostileBody {
  /** What is special about the body, for the report. */
  readonly name: string;
  /** The request path, below the base of the API. */
  readonly path: string;
  /** The HTTP method. */
  readonly method: HttpRequestLine["method"];
  /** The body itself. */
  readonly body: string;
}

/**
 * Just under the limits of a task's body (2 MiB and 128 KiB) and of its data (1
 * MiB).
 */
const TASK_BYTES = 2_200_000;
const DATA_BYTES = 1_040_000;
/**
 * Just under the limits of values in a document and of members of an object.
 */
const VALUES = 262_000;
const MEMBERS = 65_000;
/**
 * Just under the limits of a batch and of a report from the holder of a lease.
 */
const BATCH_BYTES = 4_190_000;
const REPORT_BYTES = 4_190_000;
const MANY_TASKS = 1_000;

/** Returns all hostile bodies; `worker` is the worker that their tasks name. */
export function hostileBodies(
  { worker, taskId }: { readonly worker: string; readonly taskId: string },
): readonly HostileBody[] {
  const bodies: HostileBody[] = [];
  const post = (name: string, path: string, body: string): void => {
    bodies.push({ name, path, method: "POST", body });
  };
  const head = `{"worker":"${worker}","data":`;
  const room = DATA_BYTES - 2;
  for (const [name, data] of dataShapes(room)) {
    post(`task, ${name}`, "/tasks", `${head}${data}}`);
  }
  post(
    "task, 2 MiB of blanks and lists",
    "/tasks",
    `${head}[${fitting("[     ]", TASK_BYTES - 200)}]}`,
  );
  post(
    "task, 2 MiB that ends in a fault",
    "/tasks",
    `${head}[${fitting("[]", TASK_BYTES - 200)}}`,
  );
  post("task, unknown members", "/tasks", members(TASK_BYTES));
  post(
    "task, metadata of 2 MiB",
    "/tasks",
    `{"worker":"${worker}","metadata":${members(TASK_BYTES - 100)}}`,
  );
  post(
    "task, tags of 2 MiB",
    "/tasks",
    `{"worker":"${worker}","tags":[${fitting("{}", TASK_BYTES - 100)}]}`,
  );
  for (const [name, data] of dataShapes(BATCH_BYTES - 20)) {
    post(`batch, ${name}`, "/tasks/batch", `{"tasks":${data}}`);
  }
  post(
    "batch, 1,000 with a bad field",
    "/tasks/batch",
    batchOf((index) => `{"worker":"${worker}","priority":${index + 10}}`),
  );
  post(
    "batch, 1,000 with many bad fields",
    "/tasks/batch",
    batchOf(() => members(4_000)),
  );
  post(
    "batch, 1,000 with 1 KB of lists",
    "/tasks/batch",
    batchOf(() => `${head}[${repeated("[]", 1_000)}]}`),
  );
  post(
    "batch, 1,000 with 4 KB of text",
    "/tasks/batch",
    batchOf(() => `${head}"${"x".repeat(4_000)}"}`),
  );
  post(
    "batch, 4 with 1 MiB of lists",
    "/tasks/batch",
    `{"tasks":[${
      Array.from({ length: 4 }, () => `${head}[${fitting("[]", room)}]}`)
        .join(",")
    }]}`,
  );
  post(
    "batch, 16 MiB of nested lists",
    "/tasks/batch",
    `{"tasks":[${repeated(nested(60), 16_000_000)}]}`,
  );
  for (const [name, result] of dataShapes(REPORT_BYTES - 200)) {
    post(
      `report, ${name}`,
      "/leases/batch",
      '{"leases":[{"id":"lse_01h455vb4pex5vsknk084sn02q_1","token":"lt_x",' +
        `"action":"complete","result":${result}}]}`,
    );
  }
  bodies.push({
    name: "change, merge patch of nested objects",
    path: `/tasks/${taskId}`,
    method: "PATCH",
    body: `{"data":{${
      Array.from(
        { length: 3_000 },
        (_, index) => `"k${index}":${nestedObjects(60)}`,
      ).join(",").slice(0, TASK_BYTES)
    }}}`,
  });
  bodies.push({
    name: "change, merge patch of many members",
    path: `/tasks/${taskId}`,
    method: "PATCH",
    body: `{"data":${members(DATA_BYTES)}}`,
  });
  post(
    "bulk, a filter of lists",
    "/tasks/actions",
    `{"action":"cancel","filter":{"tag":[${repeated("[]", 524_000)}]}}`,
  );
  return bodies;
}

/**
 * JSON texts of at most `bytes` bytes, of every shape that costs more than its
 * length suggests.
 */
function dataShapes(bytes: number): readonly (readonly [string, string])[] {
  const list = (item: string) => `[${fitting(item, bytes - 2)}]`;
  return [
    ["more empty lists than are taken", `[${repeated("[]", bytes - 2)}]`],
    ["more members than are taken", members(bytes, { most: Infinity })],
    ["empty lists", list("[]")],
    ["nested lists", list(nested(60))],
    ["empty objects", list("{}")],
    ["small objects", list('{"a":{}}')],
    ["members of different names", members(bytes)],
    ["members with numbers as names", members(bytes, { nameOf: numberName })],
    ["strings of one hash", collidingStrings(bytes)],
    ["one name again and again", `{${repeated('"a":0', MEMBERS * 6)}}`],
    ["__proto__ again and again", `{${repeated('"__proto__":{}', 850_000)}}`],
    ["numbers", list("0")],
    ["long numbers", list(`0.${"1".repeat(300)}`)],
    ["numbers that grow", list("1e20")],
    ["a number too large at the end", `[${fitting("0", bytes - 20)},1e999]`],
    ["a string of escapes", `"${"\\n".repeat((bytes - 2) / 2)}"`],
    ["a string of half characters", `"${"\\ud800".repeat((bytes - 2) / 6)}"`],
    ["empty strings", list('""')],
    ["a plain string", `"${"x".repeat(bytes - 2)}"`],
  ];
}

/**
 * Repeats an item in as many copies as the limits of bytes and of values allow.
 */
function fitting(item: string, bytes: number): string {
  const values = 1 + (item.match(/[[{,]/g)?.length ?? 0);
  const most = Math.floor(VALUES / values) * (item.length + 1);
  return repeated(item, Math.min(bytes, most));
}

/**
 * Numbers as strings that collide in the string table of a JSON parser: the
 * hash of such a string depends on its value, so that numbers a large power of
 * two apart share a few slots.
 */
function collidingStrings(bytes: number): string {
  const strings: string[] = [];
  const most = bytes / 13;
  for (let value = 2 ** 24; strings.length < most; value += 2 ** 17) {
    if (value >= 2 ** 32) break;
    strings.push(`"${value}"`);
  }
  return `[${strings.join(",")}]`;
}

function repeated(item: string, bytes: number): string {
  const count = Math.floor((bytes + 1) / (item.length + 1));
  return `${item},`.repeat(count).slice(0, -1);
}

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

function nestedObjects(depth: number): string {
  return '{"a":'.repeat(depth) + "0" + "}".repeat(depth);
}

function numberName(index: number): string {
  return String((index * 2_654_435_761) % 4_294_967_291);
}

/** An object whose members all have different names. */
function members(
  bytes: number,
  { nameOf = (index) => `k${index}`, most = MEMBERS }: {
    readonly nameOf?: (index: number) => string;
    readonly most?: number;
  } = {},
): string {
  const parts: string[] = [];
  let length = 2;
  while (length < bytes - 20 && parts.length < most) {
    const part = `"${nameOf(parts.length)}":0`;
    parts.push(part);
    length += part.length + 1;
  }
  return `{${parts.join(",")}}`;
}

function batchOf(taskOf: (index: number) => string): string {
  const tasks = Array.from({ length: MANY_TASKS }, (_, index) => taskOf(index));
  return `{"tasks":[${tasks.join(",")}]}`;
}
