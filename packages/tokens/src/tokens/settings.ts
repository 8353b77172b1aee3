import { GatewayError } from '@modelgate/core'
import type { Budget, Limit } from '../contract/token.ts'
import { checkBudgets, checkLimits } from './limit-settings.ts'

/** What can be set, in the form in which it is kept. */
interface StoredSettings {
  readonly name: string
  readonly owner: string
  readonly models: readonly string[]
  readonly expiresAt: number
  readonly limits: readonly Limit[]
  readonly budgets: readonly Budget[]
  readonly metadata: Readonly<Record<string, unknown>>
}

/** What is to be changed; null takes a setting out. */
export type Changes = { readonly [F in keyof StoredSettings]?: StoredSettings[F] | null }

type Check = (value: unknown, now: number) => Changes

/** Longest name and owner, and longest name of a model, in characters. */
const longestText = 200
const mostModels = 100
/** Characters of JSON. */
const longestMetadata = 16_384

const checks: Readonly<Record<string, { readonly check: Check; readonly none: Changes }>> = {
  name: { check: (value) => ({ name: textOf(value, 'name') }), none: { name: null } },
  owner: { check: (value) => ({ owner: textOf(value, 'owner') }), none: { owner: null } },
  models: { check: (value) => ({ models: modelsOf(value) }), none: { models: null } },
  expiresAt: { check: (value, now) => ({ expiresAt: expiryOf(value, now) }), none: { expiresAt: null } },
  limits: { check: (value) => ({ limits: checkLimits(value) }), none: { limits: null } },
  budget: { check: (value) => ({ budgets: checkBudgets(value) }), none: { budgets: null } },
  metadata: { check: (value) => ({ metadata: metadataOf(value) }), none: { metadata: null } },
}

/**
 * Settings as they are kept. What is undefined is not said; null takes a setting out.
 * Throws a GatewayError `invalid_request` whose `param` is the field at fault.
 */
export function checkSettings(settings: unknown, now: number): Changes {
  if (!isPlain(settings)) throw refused('The settings of a token are an object such as { name: "laptop" }.')
  let changes: Changes = {}
  for (const [field, value] of Object.entries(settings)) {
    const known = Object.hasOwn(checks, field) ? checks[field] : undefined
    if (known === undefined)
      throw refused(
        `A token has no setting '${field.slice(0, 100)}': ${Object.keys(checks).join(', ')} are known.`,
        field,
      )
    if (value !== undefined) changes = { ...changes, ...(value === null ? known.none : known.check(value, now)) }
  }
  return changes
}

function textOf(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.trim() === '' || value.length > longestText)
    throw refused(`'${field}' is a text of 1 to ${longestText} characters.`, field)
  return value
}

function modelsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > mostModels)
    throw refused(
      `'models' is a list of 1 to ${mostModels} model names, such as ["gpt-*"]. Leave it out to allow all models.`,
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
    throw refused(
      "'expiresAt' is a time: milliseconds since 1970, or an ISO 8601 text such as '2027-01-31'.",
      'expiresAt',
    )
  if (time <= now)
    throw refused(
      `'expiresAt' is ${new Date(time).toISOString()}, which is over. To end a token now, revoke it.`,
      'expiresAt',
    )
  return Math.trunc(time)
}

/** As it comes back from JSON, so that what is told now is what is told later. */
function metadataOf(value: unknown): Readonly<Record<string, unknown>> {
  let text: string | undefined
  try {
    text = isPlain(value) ? JSON.stringify(value) : undefined
  } catch (cause) {
    throw refused("'metadata' cannot be written as JSON.", 'metadata', cause)
  }
  if (text === undefined) throw refused("'metadata' is an object that JSON can hold.", 'metadata')
  if (text.length > longestMetadata)
    throw refused(
      `'metadata' is ${text.length} characters of JSON: at most ${longestMetadata} are kept. Keep what is larger elsewhere, by the token's id.`,
      'metadata',
    )
  return JSON.parse(text) as Record<string, unknown>
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

const refused = (message: string, param?: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_request', message, {
    ...(param === undefined ? {} : { param }),
    ...(cause === undefined ? {} : { cause }),
  })
