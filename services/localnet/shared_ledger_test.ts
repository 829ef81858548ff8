import { assert, assertEquals } from "@std/assert";
import { serviceTest } from "../../tests/support/services.ts";
import type { AnswerRpc } from "../relayer/ledger/embedded_rpc.ts";
import {
  type SharedSubject,
  withSharedLedger,
} from "../relayer/ledger/testing/open_shared_ledger.ts";
import { TransactionSigner } from "../shared/ledger/testing/transaction_signer.ts";
import { openRpc } from "./json_rpc.ts";
import { member } from "./testing/embedded_ledger.ts";

serviceTest(["postgres"], {
  name:
    "openRpc() shows what another relayer has executed, from the next body on",
  fn: () =>
    withSharedLedger(async ({ subject }) => {
      const [one, other] = [subject, await subject.another()].map(rpcOf) as [
        AnswerRpc,
        AnswerRpc,
      ];
      const { packageId } = subject.ledger;
      const owner = new TransactionSigner({ seed: 1, packageId });
      const { data, signature } = await owner.createAccount();
      const sent = [data.toBase64(), [signature.toBase64()], {}];
      const executed = await call(one, "sui_executeTransactionBlock", sent);
      const { digest } = executed as { readonly digest: string };
      const shown = await call(other, "sui_getObject", [owner.accountId, {}]);
      assertEquals(member(member(shown, "data"), "objectId"), owner.accountId);
      // Sent to the other one, it is the same transaction.
      const again = await call(other, "sui_executeTransactionBlock", sent);
      assertEquals(again, executed);
      // The other one goes on where the first one was.
      const next = await owner.setActive(false);
      const nextSent = [next.data.toBase64(), [next.signature.toBase64()], {}];
      await call(other, "sui_executeTransactionBlock", nextSent);
      const listed = await call(one, "suix_queryTransactionBlocks", [{}]);
      const digests = (member(listed, "data") as readonly unknown[]).map((
        one,
      ) => member(one, "digest"));
      assertEquals(digests, [digest, next.digest]);
    }),
});

function rpcOf({ ledger, executor }: SharedSubject): AnswerRpc {
  return openRpc({
    ledger: ledger.replica,
    executor,
    catchUp: () => ledger.catchUp(),
    onFault: (error) => {
      throw error;
    },
  });
}

async function call(
  rpc: AnswerRpc,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  const body = { jsonrpc: "2.0", id: 1, method, params };
  const answer = await rpc(body, { from: "192.0.2.1" });
  const result = member(answer, "result");
  assert(result !== undefined, JSON.stringify(answer));
  return result;
}
