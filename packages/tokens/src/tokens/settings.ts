import { GatewayError } from '@modelgate/core'
import type { Budget, Limit } from '../contract/token.ts'
import { checkBudgets, checkLimits } from './limit-settings.ts'

/** Settings in the form in which records keep them. */
interface StoredSettings {
  readonly name: string
  readonly owner: string
  readonly models: readonly string[]
  readonly expiresAt: number
  readonly limits: readonly Limit[]
  readonly budgets: readonly Budget[]
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Changes to settings. Null removes a setting. */
export type Changes = { readonly [F in keyof StoredSettings]?: StoredSettings[F] | null }

type Check = (value: unknown, now: number) => Changes

/** Maximum characters of a name, an owner, and a model name. */
const maxTextLength = 200
const maxModels = 100
/** Maximum characters of the metadata's JSON. */
const maxMetadataLength = 16_384

const checks: Readonly<Record<string, { readonly check: Check; readonly removal: Changes }>> = {
  name: { check: (value) => ({ name: textOf(value, 'name') }), removal: { name: null } },
  owner: { check: (value) => ({ owner: textOf(value, 'owner') }), removal: { owner: null } },
  models: { check: (value) => ({ models: modelsOf(value) }), removal: { models: null } },
  expiresAt: { check: (value, now) => ({ expiresAt: expiryOf(value, now) }), removal: { expiresAt: null } },
  limits: { check: (value) => ({ limits: checkLimits(value) }), removal: { limits: null } },
  budget: { check: (value) => ({ budgets: checkBudgets(value) }), removal: { budgets: null } },
  metadata: { check: (value) => ({ metadata: metadataOf(value) }), removal: { metadata: null } },
}

/**
 * Validates settings and returns the changes to a record. Undefined leaves a setting as it is; null removes it.
 *
 * @throws GatewayError `invalid_request` whose `param` is the invalid field.
 */
export function checkSettings(settings: unknown, now: number): Changes {
  if (!isPlainObject(settings))
    throw invalidSetting('The settings of a token must be an object such as { name: "laptop" }.')
  let changes: Changes = {}
  for (const [field, value] of Object.entries(settings)) {
    const known = Object.hasOwn(checks, field) ? checks[field] : undefined
    if (known === undefined)
      throw invalidSetting(
        `Unknown setting '${field.slice(0, 100)}'. Known settings: ${Object.keys(checks).join(', ')}.`,
        field,
      )
    if (value !== undefined) changes = { ...changes, ...(value === null ? known.removal : known.check(value, now)) }
  }
  return changes
}

function textOf(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.trim() === '' || value.length > maxTextLength)
    throw invalidSetting(`'${field}' must be a string of 1 to ${maxTextLength} characters.`, field)
  return value
}

function modelsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxModels)
    throw invalidSetting(
      `'models' must be a list of 1 to ${maxModels} model names, such as ["gpt-*"]. Leave it out to allow all models.`,
      'models',
    )
  return value.map((name, at) => textOf(name, `models[${at}]`))
}

function expiryOf(value: unknown, now: number): number {
  const time =
    typeof value === 'number'
      ? value
      : typeof value === 'string' || value instanceof Date
        ? +new Date(value)
        : Number.NaN
  if (!Number.isFinite(time) || Math.abs(time) > 8.64e15)
    throw invalidSetting(
      "'expiresAt' must be a time: milliseconds since 1970, or an ISO 8601 string such as '2027-01-31'.",
      'expiresAt',
    )
  if (time <= now)
    throw invalidSetting(
      `'expiresAt' is ${new Date(time).toISOString()}, which is in the past. To invalidate a token now, revoke it.`,
      'expiresAt',
    )
  return Math.trunc(time)
}

/** Returns the metadata as JSON restores it, so that `issue` returns the same as later reads. */
function metadataOf(value: unknown): Readonly<Record<string, unknown>> {
  let text: string | undefined
  try {
    text = isPlainObject(value) ? JSON.stringify(value) : undefined
  } catch (cause) {
    throw invalidSetting("'metadata' cannot be serialised as JSON.", 'metadata', cause)
  }
  if (text === undefined) throw invalidSetting("'metadata' must be an object that JSON can represent.", 'metadata')
  if (text.length > maxMetadataLength)
    throw invalidSetting(
      `'metadata' has ${text.length} characters of JSON; the limit is ${maxMetadataLength}. Store larger data elsewhere, under the id of the token.`,
      'metadata',
    )
  return JSON.parse(text) as Record<string, unknown>
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

const invalidSetting = (message: string, param?: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_request', message, {
    ...(param === undefined ? {} : { param }),
    ...(cause === undefined ? {} : { cause }),
  })
