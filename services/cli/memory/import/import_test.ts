import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openMemoryUser } from "../testing/memory_user.ts";
import { cutText, toParts } from "./parts.ts";
import type { ImportedRecord } from "./record.ts";

const CLAUDE_EXPORT = [
  {
    uuid: "c1",
    chat_messages: Array.from({ length: 50 }, (_, at) => ({
      uuid: `m${at}`,
      sender: at % 2 === 0 ? "human" : "assistant",
      text: at % 2 === 0 ? `I own book ${at}.` : `You own book ${at - 1}.`,
      created_at: "2026-03-01T12:00:00Z",
    })),
  },
  { uuid: "c2", chat_messages: [] },
  { name: "of no known format" },
];

/** Runs a test with a user and a folder. */
async function withFolder(
  run: (
    user: Pick<ReturnType<typeof openMemoryUser>, "mock"> & {
      readonly folder: string;
      readonly play: (
        ...args: readonly string[]
      ) => ReturnType<ReturnType<typeof openMemoryUser>["play"]>;
    },
  ) => Promise<void>,
): Promise<void> {
  const { mock, play } = openMemoryUser();
  const folder = await Deno.makeTempDir();
  try {
    await run({
      mock,
      folder,
      play: (...args) => play(["memory", "import", ...args]),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("tercet memory import stores a talk's statements once, with their times", async () => {
  await withFolder(async ({ mock, folder, play }) => {
    const path = `${folder}/conversations.json`;
    await Deno.writeTextFile(path, JSON.stringify(CLAUDE_EXPORT));
    const first = await play(path);
    assertEquals([first.code, first.err], [
      0,
      "25 texts are imported; 1 values are of no known format\n",
    ]);
    const memories = mock.memories();
    assertEquals(memories.length, 25);
    assertEquals([memories[0]?.text, memories[0]?.metadata], [
      "I own book 0.",
      {
        source: "claude",
        at: "2026-03-01T12:00:00.000Z",
        conversation: "c1",
      },
    ]);
    const again = await play(path);
    assertStringIncludes(again.err, "0 texts are imported, 25 were before");
    // What is new in a later export is added.
    const later = structuredClone(CLAUDE_EXPORT);
    later[0]!.chat_messages!.push({
      ...{ uuid: "m99", sender: "human", text: "I own a piano." },
      created_at: "2026-04-01T12:00:00Z",
    });
    await Deno.writeTextFile(path, JSON.stringify(later, null, 2));
    assertStringIncludes((await play(path)).err, "1 texts are imported");
    assertEquals(mock.memories().length, 26);
    const other = await play(path, "--namespace", "books", "--whole");
    assertStringIncludes(other.err, "51 texts are imported");
    assertEquals(mock.memories("books").length, 51);
  });
});

Deno.test("tercet memory import goes on after a lost answer and stores nothing twice", async () => {
  await withFolder(async ({ mock, folder, play }) => {
    const path = `${folder}/conversations.json`;
    await Deno.writeTextFile(path, JSON.stringify(CLAUDE_EXPORT));
    mock.fail("POST /api/remember/bulk", { kind: "lost_answer" });
    const first = await play(path);
    assertEquals(first.code, 1);
    assertEquals(mock.memories().length, 20);
    mock.fail("POST /api/remember/bulk", {
      ...{ kind: "status", status: 429, retryAfterSeconds: 60 },
    });
    mock.fail("POST /api/remember/bulk", {
      ...{ kind: "status", status: 503, retryAfterSeconds: 60 },
    });
    const next = await play(path);
    assertEquals([next.code, mock.memories().length], [0, 25]);
    assertEquals(
      new Set(mock.memories().map(({ text }) => text)).size,
      25,
    );
  });
});

Deno.test("tercet memory import --extract finds facts in talks", async () => {
  await withFolder(async ({ mock, folder, play }) => {
    const path = `${folder}/conversations.json`;
    await Deno.writeTextFile(path, JSON.stringify(CLAUDE_EXPORT));
    const { code, err } = await play(path, "--extract");
    assertEquals(code, 0);
    assertStringIncludes(err, "1 texts are imported, with 20 facts");
    const [request] = mock.requests.filter(({ path }) =>
      path === "/api/analyze"
    );
    const { text, occurred_at: at } = Object(request?.body);
    assertEquals(at, "2026-03-01T12:00:00.000Z");
    assertStringIncludes(text, "User: I own book 0.\n\nAssistant: You own");
    const again = await play(path, "--extract");
    assertStringIncludes(again.err, "0 texts are imported, 1 were before");
  });
});

Deno.test("tercet memory import --dry-run shows texts and sends nothing", async () => {
  await withFolder(async ({ mock, folder, play }) => {
    await Deno.mkdir(`${folder}/notes/.hidden`, { recursive: true });
    await Deno.writeTextFile(`${folder}/notes/b.md`, "# B\n\ntwo\u001b[31m");
    await Deno.writeTextFile(`${folder}/notes/a.markdown`, "one");
    await Deno.writeTextFile(`${folder}/notes/.hidden/c.md`, "three");
    await Deno.symlink(`${folder}/notes`, `${folder}/notes/circle`);
    const { code, out, err } = await play(`${folder}/notes`, "--dry-run");
    assertEquals([code, err], [0, "2 texts would be imported\n"]);
    assertEquals(
      out.split("\n").map((line) => line.split("  ")[1]),
      ["one", "B two [31m", undefined],
    );
    assertEquals(mock.requests, []);
    assertEquals(
      await Array.fromAsync(Deno.readDir(folder)).then((all) => all.length),
      1,
    );
  });
});

Deno.test("tercet memory import brings an export of this relayer back", async () => {
  await withFolder(async ({ mock, folder, play }) => {
    const path = `${folder}/memories.jsonl`;
    const lines = [
      { id: "1", namespace: "a", text: "tea", importance: 0.7 },
      { id: "2", namespace: "a", text: null, status: "superseded" },
      { id: "3", namespace: "a", deleted_at: "2026-03-01T12:00:00Z" },
      { cursor: "x" },
    ];
    await Deno.writeTextFile(
      path,
      lines.map((line) => JSON.stringify(line)).join("\n"),
    );
    const { code, err } = await play(path);
    assertEquals([code, err], [0, "1 texts are imported\n"]);
    const [memory] = mock.memories();
    assertEquals([memory?.text, memory?.importance], ["tea", 0.7]);
  });
});

Deno.test("tercet memory import says why an input cannot be read", async () => {
  await withFolder(async ({ folder, play, mock }) => {
    const write = async (name: string, text: string) => {
      await Deno.writeTextFile(`${folder}/${name}`, text);
      return `${folder}/${name}`;
    };
    const cases: readonly (readonly [string, string])[] = [
      [`${folder}/none.json`, "Cannot read"],
      [await write("a.zip", "PK\u0003\u0004"), "unpack it"],
      [await write("a.csv", "a,b"), "neither JSON nor Markdown"],
      [await write("a.json", '[{"text": "secret"'), "cut off"],
    ];
    for (const [path, told] of cases) {
      const { code, err } = await play(path);
      assertEquals(code, 1, told);
      assertStringIncludes(err, told);
      assertEquals(err.includes("secret"), false);
    }
    const notes = await write("notes", "my notes\n");
    const journal = await play(
      await write("b.json", '[{"text": "x"}]'),
      ...["--journal", notes],
    );
    assertEquals(journal.code, 1);
    assertStringIncludes(journal.err, "it is another file");
    assertEquals(await Deno.readTextFile(notes), "my notes\n");
    assertEquals(mock.memories(), []);
  });
});

Deno.test("toParts() fits a long talk into parts for the extractor, in order", () => {
  const record: ImportedRecord = {
    id: "c",
    texts: Array.from({ length: 30 }, (_, at) => ({
      id: String(at),
      text: `${at} ${"ä ".repeat(4_000)}`,
      role: "user",
    })),
  };
  const options = { format: "x", isExtracting: true, isWhole: false };
  const parts = [...toParts(record, { ...options, target: "t" })];
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  assert(parts.every(({ text }) => bytes(text) <= 48_000));
  assert(parts.length < 12);
  const numbers = parts.flatMap(({ text }) =>
    [...text.matchAll(/User: (\d+)/g)].map(([, number]) => Number(number))
  );
  assertEquals(numbers, record.texts.map((_, at) => at));
  assertEquals(new Set(parts.map(({ hash }) => hash)).size, parts.length);
  const elsewhere = [...toParts(record, { ...options, target: "u" })];
  assert(elsewhere.every(({ hash }, at) => hash !== parts[at]?.hash));
});

Deno.test("cutText() loses nothing but blanks, and cuts no character in two", () => {
  const text = "One two.\n\nThree 🍵🍵🍵 four.\nFive".repeat(50);
  for (const maxBytes of [9, 17, 64, 1_000]) {
    const pieces = [...cutText(text, maxBytes)];
    for (const piece of pieces) {
      assert(new TextEncoder().encode(piece).length <= maxBytes);
      assert(piece.isWellFormed());
    }
    assertEquals(
      pieces.join("").replaceAll(/\s/g, ""),
      text.replaceAll(/\s/g, ""),
    );
  }
});
