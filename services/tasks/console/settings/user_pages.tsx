/**
 * The pages of users: the list with the form that adds one, and the page of
 * each.
 *
 * @module
 */

import type { VNode } from "preact";
import { Buttons } from "../../../shared/console/form.tsx";
import {
  FactList,
  Live,
  Section,
  Time,
} from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import { ROLES } from "../../access/scope.ts";
import type { User } from "../../domain/records.ts";
import {
  FaultForm,
  fieldsOf,
  type FormFaults,
  formFaults,
  type FormState,
  NO_FAULTS,
  statusOf,
  valuesOf,
} from "../parts/form.tsx";
import { ListPager, listQuestion, StateBadge } from "../parts/list.tsx";
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

const FIELDS = ["email", "name", "role", "status", "payloads"];

/** A user as the API shows it. */
type ShownUser =
  & Pick<User, "id" | "email" | "name" | "role" | "status" | "payloads">
  & Texts<"created_at" | "updated_at", "idp_subject" | "last_seen_at">;

const NEW_USER: FormState = {
  values: new URLSearchParams({ role: "member" }),
  faults: NO_FAULTS,
};

/** Adds a user. */
export async function addUser(page: PageCall): Promise<PageAnswer> {
  const { form, here } = page;
  const answer = await page.ask({
    method: "POST",
    path: "/v1/users",
    body: {
      email: form.get("email")?.trim() ?? "",
      name: form.get("name")?.trim() ?? "",
      role: form.get("role"),
    },
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? goTo(here, "created")
    : await userListPage(page, { values: form, faults });
}

/** Shows a page of the list, and the form of a new user. */
export async function userListPage(
  page: PageCall,
  state: FormState = NEW_USER,
): Promise<PageAnswer> {
  const { here, nowMs } = page;
  const question = listQuestion(page, "/v1/users");
  return await page.show<ShownList<ShownUser>>(question, (list) => ({
    kind: "page",
    title: "Users",
    status: statusOf(state.faults),
    content: (
      <>
        <section>
          {list.data.length === 0
            ? (
              <p class="dim">
                There are no users: the tenant is used with keys alone.
              </p>
            )
            : (
              <Live id="users">
                <Table
                  label="Users"
                  rows={list.data}
                  columns={[
                    {
                      name: "Email",
                      cell: ({ id, email }) => (
                        <a href={`${here}/${id}`}>{email}</a>
                      ),
                    },
                    { name: "Name", cell: ({ name }) => name },
                    { name: "Role", cell: ({ role }) => role },
                    {
                      name: "Status",
                      cell: ({ status }) => <StateBadge status={status} />,
                    },
                    {
                      name: "Last seen",
                      at: ({ last_seen_at: at }) => at,
                      nowMs,
                      absent: "never",
                    },
                  ]}
                />
                <ListPager page={page} list={list} />
              </Live>
            )}
        </section>
        {may(page, "users:write")
          ? <NewUser page={page} state={state} />
          : null}
      </>
    ),
  }));
}

function NewUser(
  { page, state }: { readonly page: PageCall; readonly state: FormState },
): VNode {
  const { text, choice } = fieldsOf(state);
  return (
    <Section id="new" title="Add a user" kind="narrow">
      <FaultForm page={page} faults={state.faults} submit="Add">
        {text("email", "Email", {
          type: "email",
          placeholder: "ada@example.com",
          hint: "Who signs in at the identity provider with this address " +
            "becomes the user.",
          isRequired: true,
        })}
        <div class="grid">
          {text("name", "Name")}
          {choice("role", "Role", { choices: ROLES })}
        </div>
      </FaultForm>
    </Section>
  );
}

/** Changes or removes a user. */
export async function changeUser(page: PageCall): Promise<PageAnswer> {
  const { base, form, here } = page;
  const path = pathOf("users", page);
  if (form.get("action") === "remove") {
    const answer = await page.ask({ method: "DELETE", path });
    return refusalOf(answer) ?? goTo(`${base}/users`, "removed");
  }
  const answer = await page.ask({
    method: "PATCH",
    path,
    body: {
      name: form.get("name")?.trim() ?? "",
      role: form.get("role"),
      payloads: form.get("payloads") === "true",
      // A user who was added and has not signed in stays invited.
      ...(form.get("status") === "" ? {} : { status: form.get("status") }),
    },
  });
  const faults = formFaults(answer, FIELDS);
  return faults === undefined
    ? goTo(here, "saved")
    : await userPage(page, faults);
}

/** Shows a user, and what is wrong with the form that was sent. */
export async function userPage(
  page: PageCall,
  faults: FormFaults = NO_FAULTS,
): Promise<PageAnswer> {
  const question = { path: pathOf("users", page) };
  return await page.show<ShownUser>(question, (user) => ({
    kind: "page",
    title: user.email,
    status: statusOf(faults),
    content: (
      <div class="grid">
        <Section id="facts" title="Facts">
          <FactList
            facts={[
              ["Status", <StateBadge status={user.status} />],
              ["Name", user.name],
              ["Role", user.role],
              ["Sees data", user.payloads ? "yes" : "no"],
              ["Id", <span class="mono">{user.id}</span>],
              ["At the provider", user.idp_subject],
              [
                "Last seen",
                user.last_seen_at && <Time at={user.last_seen_at} />,
              ],
              ["Added", <Time at={user.created_at} />],
              ["Changed", <Time at={user.updated_at} />],
            ]}
          />
        </Section>
        {may(page, "users:write")
          ? <UserForm page={page} user={user} faults={faults} />
          : null}
      </div>
    ),
  }));
}

function UserForm(
  { page, user, faults }: {
    readonly page: PageCall;
    readonly user: ShownUser;
    readonly faults: FormFaults;
  },
): VNode {
  const { form } = page;
  const { name, role, status, payloads, email } = user;
  const isInvited = status === "invited";
  const values = form.size > 0 ? form : valuesOf({
    ...{ name, role, payloads },
    status: isInvited ? "" : status,
  });
  const { text, choice, check } = fieldsOf({ values, faults });
  return (
    <Section id="change" title="Change">
      <FaultForm page={page} faults={faults}>
        {text("name", "Name")}
        {choice("role", "Role", { choices: ROLES })}
        {choice("status", "Status", {
          choices: [
            isInvited ? ["", "invited: active at the next sign-in"] : "active",
            ["disabled", "disabled: is let in no more"],
          ],
        })}
        {check("payloads", "Sees the data and results of tasks")}
        <div class="row">
          <Buttons
            buttons={[
              { text: "Save", kind: "primary" },
              {
                value: "remove",
                text: "Remove",
                question: `Remove ${email} and the keys made by this user?`,
              },
            ]}
          />
        </div>
      </FaultForm>
    </Section>
  );
}
