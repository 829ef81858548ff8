/**
 * The view before a key is there.
 *
 * @module
 */

import type { VNode } from "preact";
import { CheckField, TextField } from "../../shared/console/form.tsx";
import { openSession, type Session } from "./session.ts";
import { ActionForm, Outcome, useCall } from "./view.tsx";

/** Asks for a key and an account, and opens the session. */
export function SignInView(
  { onOpen }: { readonly onOpen: (session: Session) => void },
): VNode {
  const call = useCall<void>();
  return (
    <>
      <p class="lead">
        This page acts for you with the key of a delegate. The key stays in this
        browser: it signs requests here and is never sent.
      </p>
      <ActionForm
        label="Open"
        busy={call.state.kind === "busy"}
        onSend={(field) =>
          call.run(async () =>
            onOpen(
              await openSession({
                key: field("key"),
                accountId: field("account"),
                isKept: field("keep") === "true",
              }),
            )
          )}
      >
        <TextField
          name="account"
          label="Account"
          hint="The account's id on the ledger: 0x and 64 digits."
          isRequired
        />
        <TextField
          name="key"
          label="Delegate key"
          type="password"
          hint="The private key: 64 hexadecimal digits, or suiprivkey…"
          isRequired
        />
        <CheckField
          name="keep"
          label="Keep the key in this browser, as one that signs and cannot be read"
        />
      </ActionForm>
      <Outcome call={call} busy="Asking whether the relayer knows the key…">
        {() => null}
      </Outcome>
    </>
  );
}
