/**
 * Every route that needs a signature, with bodies that it accepts and many that
 * it refuses.
 *
 * @module
 */

import type { refusal } from "../../auth/refusal.ts";
import { ANN } from "./test_parts.ts";

type RefusalCode = Parameters<typeof refusal>[0];

/** A route, a body that it accepts, and values that it refuses. */
export interface SignedSample {
  /** The method. */
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /**
   * A body that the route accepts.
   * @default no body
   */
  readonly good?: Readonly<Record<string, unknown>>;
  /**
   * Members that make the body invalid when they are added to it.
   * @default none
   */
  readonly bad?: readonly Readonly<Record<string, unknown>>[];
}

const LONE = "half \ud83d pair";
const BAD_TEXTS = [undefined, null, 5, "", " \n\t ", [], LONE];
const BAD_NAMESPACES = [
  "",
  " ",
  "x".repeat(256),
  "ü".repeat(128),
  "a\u0000",
  1,
  LONE,
];
const BAD_LIMITS = [0, -1, 1.5, "x", "5", true, [], {}];
const BAD_VECTORS = [
  undefined,
  null,
  "x",
  [],
  [1, 2, 3],
  [1, 2, 3, 4, 5],
  [0, 0, 0, 0],
  [1, null, 0, 0],
  [1, "2", 0, 0],
];
const BAD_WEIGHTS = [
  5,
  [],
  { semantic: -1 },
  { recency: 101 },
  { importance: "x" },
  { recency: 1, recency_half_life_days: 0 },
  { recency: 1, recency_half_life_days: -3 },
  { recencyHalfLifeDays: 3 },
  { semantics: null },
];
const BAD_METADATA = [
  5,
  [],
  { a: null },
  { a: {} },
  { a: [1] },
  { "": 1 },
  { a: "x".repeat(1_025) },
  { ["n".repeat(65)]: 1 },
  { a: LONE },
  Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`m${n}`, n])),
];

/** Every route that needs a signature. */
export const SAMPLES: readonly SignedSample[] = [
  {
    method: "POST",
    target: "/api/remember",
    good: { text: "tea" },
    bad: [
      ...members("text", [...BAD_TEXTS, "x".repeat(1_048_577)]),
      ...members("namespace", BAD_NAMESPACES),
      ...members("importance", [-0.1, 1.1, "x", []]),
      ...members("metadata", BAD_METADATA),
      ...members("supersedes", ["", "a b", "x".repeat(65), 5]),
      ...members("idempotency_key", ["", "x".repeat(256), 5, "a\nb"]),
    ],
  },
  {
    method: "POST",
    target: "/api/remember/bulk",
    good: { items: [{ text: "tea" }] },
    bad: [
      ...members("items", [
        undefined,
        null,
        {},
        [],
        [5],
        [null],
        Array.from({ length: 21 }, () => ({ text: "tea" })),
        ...BAD_TEXTS.map((text) => [{ text: "tea" }, { text }]),
        ...BAD_NAMESPACES.map((namespace) => [{ text: "tea", namespace }]),
        ...BAD_METADATA.map((metadata) => [{ text: "tea", metadata }]),
      ]),
      ...members("idempotency_key", ["", "x".repeat(256), 5]),
    ],
  },
  {
    method: "POST",
    target: "/api/remember/bulk/status",
    good: { job_ids: ["a"] },
    bad: members("job_ids", [
      undefined,
      "a",
      [],
      [5],
      [LONE],
      Array.from({ length: 21 }, () => "a"),
    ]),
  },
  {
    method: "POST",
    target: "/api/recall",
    good: { query: "tea" },
    bad: [
      ...members("query", [...BAD_TEXTS, "x".repeat(65_537)]),
      ...members("limit", BAD_LIMITS),
      ...members("namespace", BAD_NAMESPACES),
      ...members("scoring_weights", BAD_WEIGHTS),
      ...members("sort", ["newest", 5, ""]),
      ...members("filter", BAD_METADATA),
      ...members("deadline_ms", [0, -1, "x"]),
    ],
  },
  {
    method: "POST",
    target: "/api/recall/manual",
    good: { vector: [1, 0, 0, 0] },
    bad: [
      ...members("vector", BAD_VECTORS),
      ...members("limit", BAD_LIMITS),
      ...members("namespace", BAD_NAMESPACES),
      ...members("scoring_weights", BAD_WEIGHTS),
      ...members("include_data", [1, "true", [], {}]),
    ],
  },
  {
    method: "POST",
    target: "/api/remember/manual",
    good: { encrypted_data: "AAAA", vector: [1, 0, 0, 0] },
    bad: [
      ...members("encrypted_data", [
        undefined,
        5,
        "",
        "A",
        "AAA",
        "AA=A",
        "====",
        "AA-_",
        "AAAA\n",
      ]),
      ...members("vector", BAD_VECTORS),
      ...members("namespace", BAD_NAMESPACES),
    ],
  },
  {
    method: "POST",
    target: "/api/embed",
    good: { text: "tea" },
    bad: members("text", [...BAD_TEXTS, "x".repeat(65_537)]),
  },
  {
    method: "POST",
    target: "/api/analyze",
    good: { text: "tea" },
    bad: [
      ...members("text", [...BAD_TEXTS, "x".repeat(65_537)]),
      ...members("namespace", BAD_NAMESPACES),
      ...members("keep", ["some", 1]),
      ...members("occurred_at", [
        "yesterday",
        "2030-02-30",
        "2030-02-30T00:00:00Z",
        5,
        "",
        {},
      ]),
    ],
  },
  {
    method: "POST",
    target: "/api/ask",
    good: { question: "tea?" },
    bad: [
      ...members("question", BAD_TEXTS),
      ...members("limit", BAD_LIMITS),
      ...members("namespace", BAD_NAMESPACES),
      ...members("scoring_weights", BAD_WEIGHTS),
    ],
  },
  {
    method: "POST",
    target: "/api/restore",
    good: { namespace: "default" },
    bad: [
      ...members("namespace", BAD_NAMESPACES),
      ...members("limit", [1.5, "x", "5", true, [], {}]),
    ],
  },
  {
    method: "POST",
    target: "/api/forget",
    good: { namespace: "default" },
    bad: members("namespace", BAD_NAMESPACES),
  },
  {
    method: "POST",
    target: "/api/stats",
    good: { namespace: "default" },
    bad: members("namespace", BAD_NAMESPACES),
  },
  { method: "GET", target: "/api/whoami" },
  {
    method: "POST",
    target: "/api/memories/m1/vector",
    good: { vector: [1, 0, 0, 0] },
    bad: members("vector", BAD_VECTORS),
  },
  { method: "GET", target: "/api/remember/m1" },
  { method: "DELETE", target: "/api/memories/m1" },
  { method: "GET", target: "/api/memories/m1/blob" },
  { method: "GET", target: `/v1/owners/${ANN.owner}/namespaces` },
  { method: "GET", target: `/v1/owners/${ANN.owner}/memories` },
  { method: "GET", target: `/v1/owners/${ANN.owner}/agents` },
];

/**
 * Bodies that cannot be written as members, because the bytes themselves are
 * invalid.
 */
export const BAD_BODIES: readonly (string | Uint8Array)[] = [
  "",
  "{",
  "null",
  "[]",
  "5",
  '"text"',
  "{} {}",
  "NaN",
  '{"text": NaN}',
  `{"deep":${"[".repeat(30)}${"]".repeat(30)}}`,
  Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d),
  // Half a surrogate pair, written as if it were UTF-8.
  Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22),
];

/** Reasons why a signature is refused. */
export const REFUSALS = [
  "ERR_MISSING_HEADERS",
  "ERR_SIGNATURE",
  "ERR_TIMESTAMP_OUT_OF_BOUNDS",
  "ERR_REPLAY",
] as const satisfies readonly RefusalCode[];

function members(
  name: string,
  values: readonly unknown[],
): readonly Readonly<Record<string, unknown>>[] {
  return values.map((value) => ({ [name]: value }));
}
