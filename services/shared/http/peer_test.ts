import { assertEquals } from "@std/assert";
import { isLoopbackAddress } from "./peer.ts";

Deno.test("isLoopbackAddress() is true for addresses of this machine", () => {
  for (const address of ["127.0.0.1", "127.9.8.7", "::1", "::FFFF:127.0.0.1"]) {
    assertEquals(isLoopbackAddress(address), true, address);
  }
});

Deno.test("isLoopbackAddress() is false for others", () => {
  const others = ["10.0.0.1", "::", "0.0.0.0", "::ffff:10.0.0.1", "1127.0.0.1"];
  for (const address of [...others, "127.0.0.1.example.com", "localhost", ""]) {
    assertEquals(isLoopbackAddress(address), false, address);
  }
});
