import { assertEquals, assertRejects } from "@std/assert";
import { openPort } from "./open_port.ts";

const PLACE = { host: "127.0.0.1", port: 8070 };

Deno.test("openPort() names address, reason and setting when the port is taken", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;
  const place = { host: "127.0.0.1", port };
  await assertRejects(
    () => openPort(() => listen(place), place),
    Error,
    `Cannot listen on 127.0.0.1:${port}: port ${port} is taken; free it, or ` +
      "set PORT to another one",
  );
});

Deno.test("openPort() says which setting to change for every reason", async () => {
  const { AddrInUse, AddrNotAvailable, PermissionDenied } = Deno.errors;
  const cases = [
    [
      new AddrNotAvailable("os error 99"),
      { host: "1.2.3.4", port: 80 },
      "Cannot listen on 1.2.3.4:80: this machine does not have the address " +
      '"1.2.3.4"; set HOST to one that it has',
    ],
    [
      new AddrInUse("os error 98"),
      { host: "::1", port: 80 },
      "Cannot listen on [::1]:80: port 80 is taken",
    ],
    [
      new PermissionDenied("Permission denied (os error 13)"),
      PLACE,
      "Cannot listen on 127.0.0.1:8070: Permission denied (os error 13); " +
      "HOST and PORT say where",
    ],
    [
      new PermissionDenied("Permission denied (os error 13)"),
      { ...PLACE, hostSetting: "ADDR", portSetting: "ADDR" },
      "Permission denied (os error 13); ADDR says where",
    ],
  ] as const;
  for (const [error, place, message] of cases) {
    await assertRejects(
      () => openPort(() => Promise.reject(error), place),
      Error,
      message,
    );
  }
});

Deno.test("openPort() leaves faults of the certificate and what works as they are", async () => {
  const fault = new TypeError("Cannot use certificate: it is none");
  await assertRejects(
    () => openPort(() => Promise.reject(fault), PLACE),
    TypeError,
    fault.message,
  );
  assertEquals(await openPort(() => Promise.resolve(5), PLACE), 5);
});

// deno-lint-ignore require-await -- as a server does
async function listen(
  { host, port }: typeof PLACE,
): Promise<void> {
  Deno.listen({ hostname: host, port }).close();
}
