import { assertEquals, assertThrows } from "@std/assert";
import { ModelFileError } from "./model_json.ts";
import { PrecompiledMap } from "./precompiled_map.ts";

/**
 * Writes a map in the form of SentencePiece. Nodes lie 1024 units apart, so
 * that none lies over another, however wasteful that is.
 */
function writeMap(replacements: Readonly<Record<string, string>>): string {
  const encoder = new TextEncoder();
  const root: Node = { children: new Map() };
  const values: number[] = [];
  for (const [from, to] of Object.entries(replacements)) {
    let node = root;
    for (const byte of encoder.encode(from)) {
      const next = node.children.get(byte) ?? { children: new Map() };
      node.children.set(byte, next);
      node = next;
    }
    node.value = values.length;
    values.push(...encoder.encode(to), 0);
  }
  const nodes = [root];
  for (const node of nodes) nodes.push(...node.children.values());
  const units = new Uint32Array(1_024 * (nodes.length + 2));
  const baseOf = (node: Node): number => 1_024 * (nodes.indexOf(node) + 1);
  // An offset of 21 bits at most fits above bit 10.
  units[0] = baseOf(root) << 10;
  for (const node of nodes) {
    const base = baseOf(node);
    if (node.value !== undefined) units[base] = 0x80000000 + node.value;
    for (const [byte, child] of node.children) {
      const place = base ^ byte;
      const leaf = child.value === undefined ? 0 : 1 << 8;
      units[place] = ((place ^ baseOf(child)) << 10) | leaf | byte;
    }
  }
  const bytes = new Uint8Array(4 + units.byteLength + values.length);
  new DataView(bytes.buffer).setUint32(0, units.byteLength, true);
  bytes.set(new Uint8Array(units.buffer), 4);
  bytes.set(values, 4 + units.byteLength);
  return bytes.toBase64();
}

interface Node {
  readonly children: Map<number, Node>;
  value?: number;
}

Deno.test("apply() replaces characters and groups when the map has them", () => {
  const map = new PrecompiledMap(writeMap({
    ...{ "\t": " ", "ﬁ": "fi", "①": "1", "\u200b": "", "㌔": "キロ" },
    "e\u0301": "é",
    "\r\n": "\n",
  }));
  assertEquals(map.apply("a\tﬁn ①㌔\u200b!"), "a fin 1キロ!");
  assertEquals(map.apply("cafe\u0301 e x\r\ny"), "café e x\ny");
  assertEquals(map.apply("plain 中国 👍🏽 \ud83d"), "plain 中国 👍🏽 \ud83d");
  assertEquals(map.apply(""), "");
});

Deno.test("apply() replaces a group by what its shortest beginning has, as the library does", () => {
  const map = new PrecompiledMap(writeMap({ e: "E", "e\u0301": "é" }));
  assertEquals(map.apply("e\u0301e"), "EE");
});

Deno.test("PrecompiledMap says what is wrong when its text is of another form", () => {
  for (
    const [text, told] of [
      [undefined, "precompiled_charsmap is not a text"],
      ["§", "is not base64"],
      ["", "has 0 bytes"],
      [new Uint8Array(8).toBase64(), "its tree is said to have 0"],
      [Uint8Array.of(5, 0, 0, 0, 1, 2, 3, 4, 5).toBase64(), "to have 5"],
      [Uint8Array.of(255, 255, 255, 255, 0).toBase64(), "to have 4294967295"],
    ] as const
  ) {
    assertThrows(() => new PrecompiledMap(text), ModelFileError, told);
  }
});

Deno.test("apply() ends when the tree points at itself or outside", () => {
  for (const unit of [0, 0xffffffff, 0x80000000, 0x0000ff61]) {
    const bytes = new Uint8Array(4 + 2_048);
    bytes.set(new Uint8Array(Uint32Array.of(2_048, unit).buffer));
    new Uint32Array(bytes.buffer).fill(unit, 1);
    const map = new PrecompiledMap(bytes.toBase64());
    assertEquals(typeof map.apply("aé中\u0301"), "string");
  }
});
