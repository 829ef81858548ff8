/**
 * The secrets of a worker: their names and dates, and the forms that set, make
 * and remove them. Values are never shown, new ones once.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import {
  type FormButton,
  PostForm,
  TextField,
} from "../../../shared/console/form.tsx";
import { Section, Time } from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import { textOf } from "../parts/form.tsx";
import {
  goTo,
  may,
  type PageAnswer,
  type PageCall,
  pathOf,
  refusalOf,
  type ShownList,
  type Texts,
} from "../parts/page.ts";
import { shownOncePage } from "../parts/shown_once.tsx";
import type { WorkerProps } from "./worker_parts.tsx";

/** A secret as the API shows it: what it is, and never its value. */
export type ShownSecret =
  | Texts<"name" | "updated_at"> & {
    readonly type: "value";
    readonly version: number;
  }
  | Texts<"id", "name" | "expires_at" | "last_used_at"> & {
    readonly type: "credential";
  }
  | Texts<never, "expires_at"> & {
    readonly type: "signing";
    readonly number: number;
  };

/** The secrets of a worker; undefined where the reader does not see them. */
export async function askSecrets(
  { page, worker }: WorkerProps,
): Promise<readonly ShownSecret[] | undefined> {
  if (!may(page, "secrets:read")) return undefined;
  const path = `/v1/workers/${worker.id}/secrets`;
  const { status, body } = await page.ask({ path });
  return status < 400 ? (body as ShownList<ShownSecret>).data : [];
}

/** Shows the secrets of a worker, and the forms that change them. */
export function WorkerSecrets(
  { page, worker, secrets }: WorkerProps & {
    readonly secrets: readonly ShownSecret[];
  },
): VNode {
  const isWriter = may(page, "secrets:write");
  const action = `${page.base}/workers/${worker.id}/secrets`;
  return (
    <Section id="secrets" title="Secrets">
      {secrets.length === 0 ? <p class="dim">There are none.</p> : (
        <Table
          label="Secrets"
          rows={secrets}
          columns={[
            {
              name: "Name",
              cell: (secret) => <span class="mono">{nameOf(secret)}</span>,
            },
            { name: "What", cell: (secret) => <About secret={secret} /> },
            ...(isWriter
              ? [{
                name: "Remove",
                cell: (secret: ShownSecret) =>
                  secret.type === "signing" ? null : (
                    <RemoveButton
                      page={page}
                      action={action}
                      secret={secret}
                    />
                  ),
              }]
              : []),
          ]}
        />
      )}
      {isWriter ? <Forms page={page} action={action} worker={worker} /> : null}
    </Section>
  );
}

function nameOf(secret: ShownSecret): string {
  switch (secret.type) {
    case "value":
      return secret.name;
    case "credential":
      return secret.name === null ? secret.id : `${secret.name} ${secret.id}`;
    case "signing":
      return `signing secret ${secret.number}`;
  }
}

function About({ secret }: { readonly secret: ShownSecret }): VNode {
  switch (secret.type) {
    case "value":
      return (
        <span>
          value, version {secret.version}, set <Time at={secret.updated_at} />
        </span>
      );
    case "credential":
      return (
        <span>
          credential, {secret.last_used_at === null ? "never used" : (
            <>
              used <Time at={secret.last_used_at} />
            </>
          )}
          {secret.expires_at === null ? null : (
            <>
              , ends <Time at={secret.expires_at} />
            </>
          )}
        </span>
      );
    case "signing":
      return secret.expires_at === null ? <span>signs the calls</span> : (
        <span>
          signs beside a newer one until <Time at={secret.expires_at} />
        </span>
      );
  }
}

function RemoveButton(
  { page, action, secret }: {
    readonly page: PageCall;
    readonly action: string;
    readonly secret: Exclude<ShownSecret, { type: "signing" }>;
  },
): VNode {
  const name = secret.type === "value" ? secret.name : secret.id;
  return (
    <PostForm
      page={page}
      to={action}
      buttons={[{
        value: "remove",
        text: (
          <>
            {secret.type === "value" ? "Remove" : "Revoke"}
            <span class="hidden">{` ${name}`}</span>
          </>
        ),
        kind: "plain danger",
        question: secret.type === "value"
          ? `Remove ${name}? Calls that need it fail.`
          : `Revoke ${name}? Who uses it is refused at once.`,
      }]}
    >
      <input type="hidden" name="name" value={name} />
    </PostForm>
  );
}

function Forms(
  { page, worker, action }: WorkerProps & { readonly action: string },
): VNode {
  const form = (
    title: string,
    button: FormButton,
    fields: ComponentChildren,
  ): VNode => (
    <details class="more">
      <summary>{title}</summary>
      <PostForm page={page} to={action} buttons={[button]}>{fields}</PostForm>
    </details>
  );
  return (
    <>
      {form(
        "Set a value",
        { value: "set", text: "Set" },
        (
          <>
            <TextField
              name="name"
              label="Name of the value"
              placeholder="MAILER_KEY"
              hint={
                <>
                  Calls carry it as <code>{"{{secrets.NAME}}"}</code>.
                </>
              }
              isRequired
            />
            <TextField
              name="value"
              label="Value"
              type="password"
              autocomplete="new-password"
              hint="It is not shown again. A name that is there gets a new version."
              isRequired
            />
          </>
        ),
      )}
      {form(
        "Make a credential",
        { value: "credential", text: "Make" },
        (
          <TextField
            name="label"
            label="Name of the credential"
            hint="A worker logs in with it and may take this worker's tasks alone."
          />
        ),
      )}
      {worker.kind !== "push" ? null : form(
        "Replace the signing secret",
        { value: "signing", text: "Replace" },
        <p class="dim">
          The one that is replaced signs beside the new one for 24 hours.
        </p>,
      )}
    </>
  );
}

/** Sets, makes or removes a secret, as a form of the worker's page says. */
export async function changeSecrets(page: PageCall): Promise<PageAnswer> {
  const { form } = page;
  const path = `${pathOf("workers", page)}/secrets`;
  const here = page.here.slice(0, page.here.lastIndexOf("/"));
  const action = form.get("action");
  if (action === "remove") {
    const name = encodeURIComponent(form.get("name") ?? "");
    const answer = await page.ask({
      method: "DELETE",
      path: `${path}/${name}`,
    });
    return refusalOf(answer) ?? goTo(here, "removed");
  }
  const body = action === "set"
    ? { name: form.get("name")?.trim() ?? "", value: form.get("value") ?? "" }
    : action === "signing"
    ? { type: "signing" }
    : { type: "credential", name: textOf(form, "label") };
  return await page.show<Texts<"secret"> & Partial<Texts<"key">>>(
    { method: "POST", path, body },
    ({ key, secret }) =>
      action === "set" ? goTo(here, "saved") : shownOncePage({
        title: action === "signing" ? "New signing secret" : "New credential",
        about: action === "signing"
          ? "Calls are signed with this secret from now on."
          : "A worker logs in with this pair, or with the password as bearer token.",
        secrets: [
          ...(key === undefined ? [] : [["User name", key] as const]),
          [key === undefined ? "Secret" : "Password", secret],
        ],
        back: [here, "To the worker"],
      }),
  );
}
