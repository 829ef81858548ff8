/**
 * Demands that no instance of the service uses a store.
 *
 * @module
 */

import type { InstanceStore } from "../instance_store.ts";

/**
 * Demands that no instance of the service uses a store, before rows are copied
 * to it.
 *
 * @throws {Error} when one does
 */
export async function demandAlone(
  store: Pick<InstanceStore<unknown>, "beat" | "leave">,
): Promise<void> {
  const id = `transfer-${crypto.randomUUID()}`;
  const answer = await store.beat({
    id,
    version: "",
    address: "",
    wants: [],
    sinceLastMs: undefined,
  });
  await store.leave(id);
  const others = answer.kind === "member"
    ? answer.members.filter((member) => member.id !== id)
    : [];
  if (others.length === 0) return;
  throw new Error(
    `Cannot copy to the store: ${others.length} instances of the service use ` +
      "it; stop them first",
  );
}
