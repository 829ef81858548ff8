/**
 * The keys that may act for the account. Their owner adds and removes them with
 * transactions that are signed here.
 *
 * @module
 */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { AccountChangeOptions } from "../../../sdk/account.ts";
import { TextField } from "../../shared/console/form.tsx";
import { Badge, Code, Empty, Note } from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import {
  type DelegateEntry,
  readConfig,
  readDelegates,
  type RelayerConfig,
} from "./relayer_config.ts";
import {
  ActionForm,
  type Fields,
  Instant,
  Outcome,
  useCall,
  useLoaded,
  type ViewProps,
} from "./view.tsx";

/** The functions that change accounts; loaded when one is called. */
const account = () => import("../../../sdk/account.ts");

interface Known {
  readonly config: RelayerConfig;
  readonly delegates: readonly DelegateEntry[];
}

/** Lists the keys, and adds and removes them. */
export function KeysView({ session }: ViewProps): VNode {
  const [changes, setChanges] = useState(0);
  const call = useLoaded(String(changes), async (): Promise<Known> => {
    const config = await readConfig();
    return {
      config,
      delegates: await readDelegates(config, session.accountId),
    };
  });
  return (
    <>
      <Outcome call={call} busy="Asking the ledger…">
        {({ delegates }) => (
          <DelegateTable delegates={delegates} own={session.publicKey} />
        )}
      </Outcome>
      <section class="section" aria-labelledby="change">
        <h2 id="change">Add or remove a key</h2>
        <p>
          Only the owner of the account may do so. The owner's key signs one
          transaction here; it is neither kept nor sent. An account that the
          operator made has no owner's key: there the operator changes keys.
        </p>
        <ChangePart
          accountId={session.accountId}
          onChanged={() => setChanges(changes + 1)}
        />
      </section>
      <section class="section" aria-labelledby="make">
        <h2 id="make">Make a key pair</h2>
        <MakePart />
      </section>
    </>
  );
}

function DelegateTable(
  { delegates, own }: {
    readonly delegates: readonly DelegateEntry[];
    readonly own: string;
  },
): VNode {
  if (delegates.length === 0) {
    return <Empty>No key may act for this account.</Empty>;
  }
  return (
    <Table
      label="Delegate keys"
      rows={delegates}
      columns={[
        {
          name: "Label",
          cell: ({ label, publicKey }) => (
            <>
              {label || "no label"}{" "}
              {publicKey === own ? <Badge tone="busy">this key</Badge> : null}
            </>
          ),
        },
        {
          name: "Public key",
          cell: ({ publicKey }) => <span class="mono">{publicKey}</span>,
        },
        {
          name: "Added",
          cell: ({ createdMs }) =>
            createdMs === undefined ? null : <Instant at={createdMs} />,
        },
      ]}
    />
  );
}

function ChangePart(
  { accountId, onChanged }: {
    readonly accountId: string;
    readonly onChanged: () => void;
  },
): VNode {
  const call = useCall<string>();
  const change = async (field: Fields): Promise<string> => {
    const config = await readConfig();
    if (config.network !== "localnet") {
      throw new Error(
        `Cannot change keys here: the ledger is ${config.network}, where a ` +
          "transaction may cost money; use a wallet with the SDK",
      );
    }
    const options: AccountChangeOptions = {
      accountId,
      key: field("owner"),
      serverUrl: location.origin,
      ledgerNetwork: config.network,
    };
    const publicKey = field("publicKey");
    const { addDelegateKey, removeDelegateKey } = await account();
    const label = field("label");
    if (field("action") === "remove") {
      await removeDelegateKey({ ...options, publicKey });
      onChanged();
      return "The key is removed: from now on it is refused.";
    }
    await addDelegateKey({ ...options, publicKey, label });
    onChanged();
    return "The key is added.";
  };
  return (
    <>
      <ActionForm
        label="Sign and send"
        busy={call.state.kind === "busy"}
        onSend={(field) => call.run(() => change(field))}
      >
        <fieldset class="row">
          <legend>What to do</legend>
          <label class="check">
            <input type="radio" name="action" value="add" checked /> Add
          </label>
          <label class="check">
            <input type="radio" name="action" value="remove" /> Remove
          </label>
        </fieldset>
        <TextField
          name="publicKey"
          label="Public key"
          hint="64 hexadecimal digits."
          isRequired
        />
        <TextField
          name="label"
          label="Label"
          hint="For a key that is added, such as the machine that has it."
        />
        <TextField
          name="owner"
          label="Owner's private key"
          type="password"
          isRequired
        />
      </ActionForm>
      <Outcome call={call} busy="The ledger takes the transaction…">
        {(text) => <Note tone="good">{text}</Note>}
      </Outcome>
    </>
  );
}

function MakePart(): VNode {
  const call = useCall<
    { readonly privateKey: string; readonly publicKey: string }
  >();
  return (
    <>
      <ActionForm
        label="Make"
        onSend={() =>
          call.run(async () => {
            const { generateDelegateKey } = await account();
            const { privateKey, publicKey } = await generateDelegateKey();
            const digits = Array.from(
              publicKey,
              (byte) => byte.toString(16).padStart(2, "0"),
            );
            return { privateKey, publicKey: digits.join("") };
          })}
      />
      <Outcome call={call}>
        {({ privateKey, publicKey }) => (
          <>
            <Note tone="warn">
              The private key is shown here only: keep it where the application
              reads it, and add the public key above.
            </Note>
            <Code id="made-public" name="public key" text={publicKey} wraps />
            <Code
              id="made-private"
              name="private key"
              text={privateKey}
              wraps
            />
          </>
        )}
      </Outcome>
    </>
  );
}
