/**
 * The listening socket under a gRPC server.
 *
 * @module
 */

import type { GrpcAddress } from "./method.ts";

/** A listening socket of either kind. */
type GrpcListener = Deno.Listener<Deno.TcpConn | Deno.UnixConn>;

/**
 * Listens on `address`. The file of a Unix socket on which no server answers
 * any longer is removed first.
 *
 * @throws {Deno.errors.AddrInUse} When the address is taken, or the path of a
 * Unix socket holds something that is not a socket.
 */
export async function listen(address: GrpcAddress): Promise<GrpcListener> {
  if (address.kind === "unix") await removeStaleSocket(address.path);
  try {
    return address.kind === "unix"
      ? Deno.listen({ transport: "unix", path: address.path })
      : Deno.listen({ hostname: address.host, port: address.port });
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) throw addressInUse(address);
    throw error;
  }
}

/** Where a listener listens, with the real port where 0 was asked. */
export function addressOf({ addr }: GrpcListener): GrpcAddress {
  return addr.transport === "tcp"
    ? { kind: "tcp", host: addr.hostname, port: addr.port }
    : { kind: "unix", path: "path" in addr ? addr.path : "" };
}

/** Removes a file, unless it is gone already. */
export async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function removeStaleSocket(path: string): Promise<void> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.lstat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  if (info.isSocket !== true) {
    throw new Deno.errors.AddrInUse(
      `Cannot listen on "${path}": the path holds something that is not a socket`,
    );
  }
  if (await answers(path)) throw addressInUse({ kind: "unix", path });
  await removeIfThere(path);
}

/** Only a refused connection proves that no server is there. */
async function answers(path: string): Promise<boolean> {
  try {
    (await Deno.connect({ transport: "unix", path })).close();
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.ConnectionRefused ||
      error instanceof Deno.errors.NotFound);
  }
}

function addressInUse(address: GrpcAddress): Error {
  const name = address.kind === "unix"
    ? address.path
    : `${address.host}:${address.port}`;
  return new Deno.errors.AddrInUse(
    `Cannot listen on "${name}": another program listens there`,
  );
}
