import { assert, assertEquals } from "@std/assert";
import { HeaderTexts } from "../../../tests/support/h2_peer.ts";
import { eachRound } from "../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { DynamicTable, STATIC_FIELDS } from "./hpack.ts";

type Entry = Parameters<DynamicTable<number>["add"]>[0];

Deno.test("STATIC_FIELDS has 61 entries with the indexes of RFC 7541", () => {
  assertEquals(STATIC_FIELDS.length, 61);
  for (
    const [index, name] of [
      [1, ":authority"],
      [8, ":status"],
      [16, "accept-encoding"],
      [31, "content-type"],
      [38, "host"],
      [51, "referer"],
      [58, "user-agent"],
      [61, "www-authenticate"],
    ] as const
  ) assertEquals(STATIC_FIELDS[index - 1]?.[0], name);
});

Deno.test("DynamicTable does what a list would do", () => {
  const random = new SeededRandom(4);
  for (let round = 0; round < 100; round++) {
    const table = new DynamicTable<number>();
    let list: Entry[] = [];
    let maxBytes = 4_096;
    for (let step = 0; step < 200; step++) {
      if (random.chance(0.05)) {
        maxBytes = random.below(4_097);
        assert(table.resize(maxBytes));
      } else {
        const nameBytes = random.below(random.chance(0.1) ? 5_000 : 40);
        const sizeBytes = nameBytes + 32;
        const entry = { nameKind: 0, nameBytes, meaning: step, sizeBytes };
        table.add(entry);
        list = [entry, ...list];
      }
      while (measureSize(list) > maxBytes) list.pop();
      assertEquals(table.count, list.length);
      assertEquals(table.sizeBytes, measureSize(list));
      const at = random.below(list.length + 1);
      assertEquals(table.at(at)?.meaning, list[at]?.meaning);
    }
  }
});

Deno.test("DynamicTable tells each change by its generation", () => {
  const table = new DynamicTable<number>();
  const seen = new Set([table.generation]);
  table.add({ nameKind: 0, nameBytes: 1, meaning: 0, sizeBytes: 33 });
  seen.add(table.generation);
  table.resize(100);
  seen.add(table.generation);
  assertEquals(seen.size, 3);
  assertEquals(table.resize(4_097), false);
});

function measureSize(list: readonly Entry[]): number {
  return list.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

const GET = [":method: GET", ":scheme: http", ":path: /"];

Deno.test("HpackDecoder decodes single fields (RFC 7541, C.2)", () => {
  for (
    const [hex, field, entries] of [
      [
        "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
        "custom-key: custom-header",
        ["custom-key: custom-header"],
      ],
      ["040c2f73616d706c652f70617468", ":path: /sample/path", []],
      ["100870617373776f726406736563726574", "password: secret", []],
      ["82", ":method: GET", []],
    ] as const
  ) {
    const decoder = new HeaderTexts();
    assertEquals(decoder.decode(Uint8Array.fromHex(hex)), [field]);
    assertEquals(decoder.tableEntries, [...entries]);
  }
});

Deno.test("HpackDecoder decodes requests in a row (RFC 7541, C.3 and C.4)", () => {
  for (
    const [first, second, third] of [
      [
        "828684410f7777772e6578616d706c652e636f6d",
        "828684be58086e6f2d6361636865",
        "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
      ],
      [
        "828684418cf1e3c2e5f23a6ba0ab90f4ff",
        "828684be5886a8eb10649cbf",
        "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
      ],
    ] as const
  ) {
    const decoder = new HeaderTexts();
    const host = ":authority: www.example.com";
    assertEquals(decode(decoder, first), [...GET, host]);
    assertEquals(decoder.tableBytes, 57);
    assertEquals(decode(decoder, second), [
      ...GET,
      host,
      "cache-control: no-cache",
    ]);
    assertEquals(decoder.tableBytes, 110);
    assertEquals(decode(decoder, third), [
      ":method: GET",
      ":scheme: https",
      ":path: /index.html",
      host,
      "custom-key: custom-value",
    ]);
    assertEquals(decoder.tableBytes, 164);
    assertEquals(decoder.tableEntries, [
      "custom-key: custom-value",
      "cache-control: no-cache",
      host,
    ]);
  }
});

Deno.test("HpackDecoder lets old entries go (RFC 7541, C.5 and C.6)", () => {
  for (
    const [first, second, third] of [
      [
        "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
        "4803333037c1c0bf",
        "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
      ],
      [
        "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
        "4883640effc1c0bf",
        "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
      ],
    ] as const
  ) {
    const decoder = new HeaderTexts();
    decoder.resize(256);
    assertEquals(decode(decoder, first), [
      ":status: 302",
      "cache-control: private",
      "date: Mon, 21 Oct 2013 20:13:21 GMT",
      "location: https://www.example.com",
    ]);
    assertEquals(decoder.tableBytes, 222);
    assertEquals(decode(decoder, second)?.[0], ":status: 307");
    assertEquals(decoder.tableBytes, 222);
    assertEquals(decoder.tableEntries.at(-1), "cache-control: private");
    assertEquals(decode(decoder, third), [
      ":status: 200",
      "cache-control: private",
      "date: Mon, 21 Oct 2013 20:13:22 GMT",
      "location: https://www.example.com",
      "content-encoding: gzip",
      "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    ]);
    assertEquals(decoder.tableBytes, 215);
    assertEquals(decoder.tableEntries.length, 3);
  }
});

Deno.test("HpackDecoder refuses blocks that break the rules", () => {
  for (
    const [hex, why] of [
      ["80", "index 0"],
      ["be", "an index beyond both tables"],
      ["ffffffffff7f", "an index without end"],
      ["ff", "an index cut off"],
      ["7f80808080808000", "a long form of a small number"],
      ["00", "no name"],
      ["000161", "no value"],
      ["000561", "a name longer than the block"],
      ["00016105", "a value longer than the block"],
      ["0081ff0161", "bad padding in a name"],
      ["00016181ff", "bad padding in a value"],
      ["3fe21f", "a table larger than agreed"],
      ["8220", "a change of size after a field"],
    ] as const
  ) {
    assertEquals(decode(new HeaderTexts(), hex), undefined, why);
  }
});

Deno.test("HpackDecoder empties its table when it is told to", () => {
  const decoder = new HeaderTexts();
  decode(decoder, "40016101624001630164");
  assertEquals(decoder.tableEntries, ["c: d", "a: b"]);
  // Down to nothing, and up again, in one block.
  assertEquals(decode(decoder, "203fe11f82"), [":method: GET"]);
  assertEquals(decoder.tableEntries, []);
  // An entry larger than the table empties it (RFC 7541, section 4.4).
  decode(decoder, "4001610162");
  assertEquals(decode(decoder, `3f1140016120${"61".repeat(32)}`)?.length, 1);
  assertEquals(decoder.tableEntries, []);
});

Deno.test("HpackDecoder never throws, whatever it is given", async () => {
  let decoded = 0;
  await eachRound({ rounds: 300, seed: 3 }, ({ random }) => {
    const decoder = new HeaderTexts();
    for (let block = 0; block < 3; block++) {
      if (decoder.decode(random.bytes(random.below(40))) !== undefined) {
        decoded++;
      }
      assert(decoder.tableBytes <= 4_096);
    }
  });
  assert(decoded > 0);
});

function decode(decoder: HeaderTexts, hex: string): string[] | undefined {
  return decoder.decode(Uint8Array.fromHex(hex));
}
