/**
 * Tests of the readers of all formats by the same cases: a talk or a memory
 * each, as the format has it, and values that are cut or odd.
 */

import { assertEquals } from "@std/assert";
import { isJsonObject } from "../../../shared/schema/schema.ts";
import { readMarkdown } from "./markdown.ts";
import { JSON_FORMATS } from "./sources.ts";

const AT = "2026-03-01T12:00:00.000Z";
const AT_MS = Date.parse(AT);
const AT_S = AT_MS / 1_000;

/** A value of a format, and what is read of it. */
interface Sample {
  readonly format: string;
  readonly value: Readonly<Record<string, unknown>>;
  readonly id: string;
  readonly texts: readonly (readonly [
    role: string,
    text: string,
    atMs: number | undefined,
  ])[];
}

const node = (
  id: string,
  parent: string | null,
  message: unknown,
) => [id, { id, parent, message, children: [] }] as const;

const said = (role: string, text: unknown, type = "text") => ({
  id: `m-${role}`,
  author: { role },
  create_time: AT_S,
  content: { content_type: type, parts: [text] },
});

const SAMPLES: readonly Sample[] = [
  {
    format: "claude",
    value: {
      uuid: "c1",
      name: "Tea",
      created_at: AT,
      chat_messages: [
        { uuid: "m1", sender: "human", text: " I drink tea. ", created_at: AT },
        {
          uuid: "m2",
          sender: "assistant",
          text: "Noted. [tool]",
          content: [
            { type: "text", text: "Noted." },
            { type: "tool_use", name: "search" },
          ],
          created_at: AT,
        },
        { uuid: "m3", sender: "human", text: "", content: [] },
      ],
    },
    id: "c1",
    texts: [
      ["user", "I drink tea.", AT_MS],
      ["assistant", "Noted.", AT_MS],
      ["user", "", undefined],
    ],
  },
  {
    format: "chatgpt",
    value: {
      id: "c2",
      title: "Tea",
      current_node: "n5",
      mapping: Object.fromEntries([
        node("n1", null, null),
        node("n2", "n1", said("system", "You are helpful.")),
        node("n3", "n2", said("user", "I drink tea.")),
        node("n4", "n3", said("assistant", "An answer that was made again.")),
        node("n5", "n3", said("assistant", "Noted.")),
        node("n6", "n3", said("tool", "output")),
      ]),
    },
    id: "c2",
    texts: [
      ["user", "I drink tea.", AT_MS],
      ["assistant", "Noted.", AT_MS],
    ],
  },
  {
    format: "mem0",
    value: {
      id: "m1",
      memory: "Drinks tea",
      user_id: "ada",
      metadata: { category: "habits", nested: { a: 1 } },
      created_at: AT,
    },
    id: "m1",
    texts: [["note", "Drinks tea", AT_MS]],
  },
  {
    format: "memories",
    value: { blob_id: "b1", text: "Drinks tea", distance: 0.2, created_at: AT },
    id: "b1",
    texts: [["note", "Drinks tea", AT_MS]],
  },
  {
    format: "memories",
    value: { id: "m1", namespace: "a", text: null, status: "superseded" },
    id: "m1",
    texts: [["note", "", undefined]],
  },
];

for (const { format, value, id, texts } of SAMPLES) {
  Deno.test(`${format} reads ids, speakers, texts and times`, () => {
    const found = JSON_FORMATS.find(({ fits }) => fits(value));
    assertEquals(found?.name, format);
    const record = found?.read(value);
    assertEquals(record?.id, id);
    assertEquals(
      record?.texts.map(({ role, text, atMs }) => [role, text, atMs]),
      texts.map((text) => [...text]),
    );
  });

  Deno.test(`${format} reads something of values with odd members`, () => {
    const odd = [null, 5, "x", [], {}, [null], { a: [1] }, "\ud800", NaN];
    const change = (
      object: Readonly<Record<string, unknown>>,
    ): readonly Readonly<Record<string, unknown>>[] =>
      Object.entries(object).flatMap(([name, member]) => [
        ...odd.map((other) => ({ ...object, [name]: other })),
        ...isJsonObject(member)
          ? change(member).map((other) => ({ ...object, [name]: other }))
          : [],
        ...Array.isArray(member)
          ? member.flatMap((one: unknown, at) =>
            isJsonObject(one)
              ? change(one).map((other) => ({
                ...object,
                [name]: member.with(at, other),
              }))
              : []
          )
          : [],
      ]);
    for (const other of change(value)) {
      for (const { fits, read } of JSON_FORMATS) {
        if (!fits(other)) continue;
        for (const { text, atMs, role } of read(other).texts) {
          assertEquals(text.isWellFormed(), true);
          assertEquals(["user", "assistant", "note"].includes(role), true);
          assertEquals(atMs === undefined || Number.isInteger(atMs), true);
        }
      }
    }
  });
}

Deno.test("chatgpt ends with a tree that is a circle", () => {
  const [, chatgpt] = JSON_FORMATS;
  const mapping = Object.fromEntries([
    node("a", "b", said("user", "one")),
    node("b", "a", said("assistant", "two")),
  ]);
  const record = chatgpt?.read({ id: "x", mapping, current_node: "a" });
  assertEquals(record?.texts.map(({ text }) => text), ["two", "one"]);
});

Deno.test("mem0 keeps plain metadata and for whom a memory is", () => {
  const [, , mem0] = JSON_FORMATS;
  const [text] = mem0?.read(SAMPLES[2]!.value).texts ?? [];
  assertEquals(text?.metadata, { category: "habits", user_id: "ada" });
});

Deno.test("readMarkdown() makes a text of each section, with its headings", () => {
  const content = "---\ntitle: x\ndate: 2026-03-01T12:00:00Z\n---\n" +
    "Intro\n\n# Tea\n\nGreen.\n\n## Pots\n\n```\n# no heading\n```\n\n" +
    "# Empty\n\n# Coffee ##\r\nNever.\n";
  const { id, texts } = readMarkdown({
    ...{ path: "notes/tea.md", content, changedAtMs: 5 },
  });
  assertEquals(id, "notes/tea.md");
  assertEquals(texts.map(({ text }) => text), [
    "Intro",
    "Tea\n\nGreen.",
    "Tea > Pots\n\n```\n# no heading\n```",
    "Coffee\n\nNever.",
  ]);
  assertEquals(texts.map(({ atMs }) => atMs), Array(4).fill(AT_MS));
  const plain = readMarkdown({ path: "a.md", content: "x", changedAtMs: 5 });
  assertEquals(plain.texts.map(({ atMs }) => atMs), [5]);
});
