import { assert, assertEquals } from "@std/assert";
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import { Secp256k1Keypair } from "@mysten/sui/keypairs/secp256k1";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  addressOfKey,
  checkTransactionSignature,
  isSmallOrderKey,
} from "./ed25519.ts";

const P = 2n ** 255n - 19n;

Deno.test("isSmallOrderKey() knows every point whose order divides 8", () => {
  // Multiples of any point by the order of the large subgroup are those points.
  const large = 2n ** 252n + 27742317777372353535851937790883648493n;
  const found = new Set<string>();
  for (let y = 2n; found.size < 8 && y < 200n; y++) {
    const x = computeX(y);
    if (x === undefined) continue;
    const point = multiply({ x, y }, large);
    found.add(`${point.x},${point.y}`);
    for (let n = 2n; n <= 8n; n++) {
      const multiple = multiply(point, n);
      found.add(`${multiple.x},${multiple.y}`);
    }
  }
  assertEquals(found.size, 8);
  for (const point of found) {
    const [x, y] = point.split(",").map(BigInt);
    assert(x !== undefined && y !== undefined);
    assert(isSmallOrderKey(encode(y, Number(x & 1n))), point);
  }
});

Deno.test("isSmallOrderKey() knows them in their other spellings", () => {
  for (const y of [0n, 1n, P, P + 1n, P - 1n]) {
    for (const sign of [0, 1]) assert(isSmallOrderKey(encode(y, sign)));
  }
});

Deno.test("isSmallOrderKey() lets all other keys pass", () => {
  const random = new SeededRandom(3);
  for (let round = 0; round < 1_000; round++) {
    assertEquals(isSmallOrderKey(random.bytes(32)), false);
  }
  assertEquals(isSmallOrderKey(encode(2n, 0)), false);
  assertEquals(isSmallOrderKey(encode(P - 2n, 1)), false);
});

interface Point {
  readonly x: bigint;
  readonly y: bigint;
}

function mod(value: bigint): bigint {
  return ((value % P) + P) % P;
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, factor, left] = [1n, mod(base), exponent];
  for (; left > 0n; left >>= 1n) {
    if (left & 1n) result = mod(result * factor);
    factor = mod(factor * factor);
  }
  return result;
}

const inverse = (value: bigint): bigint => power(value, P - 2n);
const D = mod(-121665n * inverse(121666n));

/** The curve's law, −x² + y² = 1 + d x² y² (RFC 8032, 5.1.4). */
function add(a: Point, b: Point): Point {
  const product = mod(D * a.x * b.x * a.y * b.y);
  return {
    x: mod((a.x * b.y + b.x * a.y) * inverse(1n + product)),
    y: mod((a.y * b.y + a.x * b.x) * inverse(1n - product)),
  };
}

function multiply(point: Point, factor: bigint): Point {
  let [result, power, left] = [{ x: 0n, y: 1n }, point, factor];
  for (; left > 0n; left >>= 1n) {
    if (left & 1n) result = add(result, power);
    power = add(power, power);
  }
  return result;
}

function computeX(y: bigint): bigint | undefined {
  const square = mod((y * y - 1n) * inverse(D * y * y + 1n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x) !== square) x = mod(x * power(2n, (P - 1n) / 4n));
  return mod(x * x) === square ? x : undefined;
}

function encode(y: bigint, sign: number): Uint8Array {
  const bytes = Uint8Array.from(
    { length: 32 },
    (_, index) => Number((y >> BigInt(8 * index)) & 255n),
  );
  bytes[31] = (bytes[31] ?? 0) | (sign << 7);
  return bytes;
}

Deno.test("addressOfKey() makes the address that the public client makes", () => {
  const known = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(7));
  assertEquals(
    addressOfKey(known.getPublicKey().toRawBytes()),
    "0xa0ccc8bcc83f6c628340134f8546a21e0618fd1aaa02432bba454c4a2c2233da",
  );
  const random = new SeededRandom(5);
  for (let round = 0; round < 20; round++) {
    const pair = Ed25519Keypair.fromSecretKey(random.bytes(32));
    const key = pair.getPublicKey();
    assertEquals(addressOfKey(key.toRawBytes()), key.toSuiAddress());
  }
});

Deno.test("checkTransactionSignature() takes what the public client signs", async () => {
  const random = new SeededRandom(6);
  for (let round = 0; round < 20; round++) {
    const pair = Ed25519Keypair.fromSecretKey(random.bytes(32));
    const data = random.bytes(1 + round * 31);
    const signed = await pair.signTransaction(data);
    const signature = Uint8Array.fromBase64(signed.signature);
    const sender = pair.toSuiAddress();
    const check = { data, signature, sender };
    assertEquals(checkTransactionSignature(check), { kind: "ok" });
    for (const part of [data, signature]) {
      const at = random.below(part.length);
      const bit = 1 << random.below(8);
      part[at] = (part[at] ?? 0) ^ bit;
      assertEquals(checkTransactionSignature(check).kind, "invalid");
      part[at] = (part[at] ?? 0) ^ bit;
    }
    assertEquals(checkTransactionSignature(check), { kind: "ok" });
    const other = Ed25519Keypair.fromSecretKey(random.bytes(32));
    assertEquals(
      checkTransactionSignature({ ...check, sender: other.toSuiAddress() })
        .kind,
      "invalid",
    );
  }
});

Deno.test("checkTransactionSignature() refuses other schemes, lengths and intents", async () => {
  const pair = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(1));
  const data = new Uint8Array(40).fill(9);
  const sender = pair.toSuiAddress();
  const personal = await pair.signPersonalMessage(data);
  const foreign = Secp256k1Keypair.fromSecretKey(new Uint8Array(32).fill(1));
  const own = await pair.signTransaction(data);
  const good = Uint8Array.fromBase64(own.signature);
  const refused: readonly (readonly [Uint8Array, string])[] = [
    [Uint8Array.fromBase64(personal.signature), sender],
    [
      Uint8Array.fromBase64((await foreign.signTransaction(data)).signature),
      foreign.toSuiAddress(),
    ],
    [good.subarray(0, 96), sender],
    [Uint8Array.of(...good, 0), sender],
    [new Uint8Array(0), sender],
    [new Uint8Array(97), addressOfKey(new Uint8Array(32))],
  ];
  for (const [signature, of] of refused) {
    const checked = checkTransactionSignature({ data, signature, sender: of });
    assertEquals(checked.kind, "invalid");
  }
});
