import { assertEquals, assertNotEquals } from "@std/assert";
import { addressGroup } from "./address_group.ts";

Deno.test("addressGroup() counts an IPv4 address alone and an IPv6 address as its /64", () => {
  assertNotEquals(addressGroup("192.0.2.1"), addressGroup("192.0.2.2"));
  assertEquals(addressGroup("::ffff:192.0.2.1"), addressGroup("192.0.2.1"));
  assertEquals(addressGroup("2001:db8::1"), addressGroup("2001:db8::ffff:1"));
  assertNotEquals(
    addressGroup("2001:db8::1"),
    addressGroup("2001:db8:0:1::1"),
  );
});

Deno.test("addressGroup() counts all that are no addresses as one", () => {
  assertEquals([addressGroup(""), addressGroup("somewhere")], ["", ""]);
});
