import { assertEquals } from "@std/assert";
import { vectorFits } from "./memory_index.ts";

Deno.test("vectorFits() takes the embedder's vectors and clients' of its width", () => {
  const vector = Float32Array.of(1, 0);
  const wanted = { width: 2, model: "new" };
  assertEquals(vectorFits({ vector, model: "new" }, wanted), true);
  assertEquals(vectorFits({ vector, model: "old" }, wanted), false);
  assertEquals(vectorFits({ vector, model: "client" }, wanted), true);
  assertEquals(vectorFits({ vector, model: "old" }, { width: 2 }), true);
  for (const model of ["new", "client"]) {
    assertEquals(vectorFits({ vector, model }, { ...wanted, width: 3 }), false);
  }
});
