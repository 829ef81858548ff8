/**
 * Every setting of the tasks service.
 *
 * @module
 */

import type { SettingsValues } from "../shared/settings.ts";
import { accountSettings } from "./settings/account_settings.ts";
import { listenerSettings } from "./settings/listener_settings.ts";
import { pushSettings } from "./settings/push_settings.ts";
import { storageSettings } from "./settings/storage_settings.ts";

/** The types of all settings. */
export type TasksSettingsTable =
  & typeof listenerSettings
  & typeof storageSettings
  & typeof accountSettings
  & typeof pushSettings;

/** The settings, by the name the service knows them under. */
export const tasksSettings: TasksSettingsTable = {
  ...listenerSettings,
  ...storageSettings,
  ...accountSettings,
  ...pushSettings,
};

/** The values of {@linkcode tasksSettings}. */
export type TasksSettings = SettingsValues<TasksSettingsTable>;
