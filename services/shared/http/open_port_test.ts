import { assertEquals, assertRejects } from "@std/assert";
import { openPort } from "./open_port.ts";

const PLACE = { service: "tasks", host: "127.0.0.1", port: 8070 };

Deno.test("openPort() names address, reason and setting when the port is taken", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;
  const place = { ...PLACE, port };
  await assertRejects(
    () => openPort(() => listen(place), place),
    Error,
    `Cannot open the port of tasks, 127.0.0.1:${port}: it is taken; free it, ` +
      "or set PORT to another one",
  );
});

Deno.test("openPort() says which setting to change for every reason", async () => {
  const { AddrInUse, AddrNotAvailable, AlreadyExists, PermissionDenied } =
    Deno.errors;
  const cases = [
    [
      new AddrNotAvailable("os error 99"),
      { ...PLACE, host: "1.2.3.4", port: 80 },
      "Cannot open the port of tasks, 1.2.3.4:80: this machine does not have the address " +
      '"1.2.3.4"; set HOST to one that it has',
    ],
    [
      new AddrInUse("os error 98"),
      { ...PLACE, what: "metrics", host: "::1", port: 80 },
      "Cannot open the metrics port of tasks, [::1]:80: it is taken; free it",
    ],
    [
      new AddrInUse("os error 98"),
      {
        service: "ratelimit",
        what: "gRPC",
        path: "/run/a.sock",
        pathSetting: "GRPC_UDS",
      },
      "Cannot open the gRPC socket of ratelimit, /run/a.sock: it is taken; " +
      "free it, or set GRPC_UDS to another one",
    ],
    [
      new AlreadyExists("it is a file"),
      { service: "ratelimit", path: "/run/a.sock", pathSetting: "GRPC_UDS" },
      "Cannot open the socket of ratelimit, /run/a.sock: it is a file; " +
      "GRPC_UDS says where",
    ],
    [
      new PermissionDenied("Permission denied (os error 13)"),
      PLACE,
      "Cannot open the port of tasks, 127.0.0.1:8070: Permission denied (os error 13); " +
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
