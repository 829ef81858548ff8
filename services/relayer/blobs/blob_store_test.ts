import { assertEquals, assertMatch } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { blobPath, computeBlobId } from "./blob_store.ts";

Deno.test("computeBlobId() is the SHA-256 of the bytes in base64url", () => {
  // The examples of FIPS 180-4: nothing, and "abc".
  assertEquals(
    computeBlobId(new Uint8Array()),
    "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
  );
  assertEquals(
    computeBlobId(new TextEncoder().encode("abc")),
    "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0",
  );
});

Deno.test("blobPath() tells ids apart where upper and lower case are one", () => {
  const random = new SeededRandom(5);
  const places = new Set<string>();
  for (let round = 0; round < 300; round++) {
    const place = blobPath(computeBlobId(random.bytes(8)));
    assertMatch(place?.folder ?? "", /^[0-9a-f]{2}$/);
    assertMatch(place?.name ?? "", /^[0-9a-f]{62}$/);
    places.add(`${place?.folder}/${place?.name}`);
  }
  assertEquals(places.size, 300);
  const [lower, upper] = ["a", "A"].map((first) =>
    blobPath(`${first}${"B".repeat(41)}A`)
  );
  assertEquals(lower?.folder === upper?.folder, false);
});

Deno.test("blobPath() has no path for what is no id", () => {
  const id = computeBlobId(new Uint8Array());
  for (
    const odd of ["", "../x", id.slice(1), `${id}A`, `${id.slice(0, 42)}/`, "é"]
  ) {
    assertEquals(blobPath(odd), undefined);
  }
});
