import { randomBytes } from 'node:crypto'
import { GatewayError } from '@modelgate/core'
import type { StoredSecret, Token, TokenRecord } from '../contract/token.ts'
import { base62Of, digestOf, hintOf } from './secret.ts'
import type { Changes } from './settings.ts'

/** Maximum number of valid older secrets. */
const maxOldSecrets = 20
/** Number of expired secrets that are kept, so that their users get an error that says so. */
const keptExpiredSecrets = 3

/** Creates the record of a new token. */
export const newRecord = (secret: string, changes: Changes, now: number): TokenRecord =>
  withChanges(
    {
      id: `tok_${base62Of(randomBytes(16), 22)}`,
      limits: [],
      budgets: [],
      hint: hintOf(secret),
      createdAt: now,
      secrets: [{ digest: digestOf(secret) }],
      version: 1,
    },
    changes,
  )

/** Applies changes of settings to a record. The store increases its version. */
export function withChanges(record: TokenRecord, changes: Changes): TokenRecord {
  const { limits, budgets, ...others } = changes
  const next: Record<string, unknown> = { ...record }
  for (const [field, value] of Object.entries(others)) {
    if (value === null) delete next[field]
    else next[field] = value
  }
  if (limits !== undefined) next.limits = limits ?? []
  if (budgets !== undefined) next.budgets = budgets ?? []
  return next as unknown as TokenRecord
}

/** Maximum number of earlier owners that a record keeps. */
const maxFormerOwners = 20

/** Adds the owner before a change to the former owners of a record, so that its counters are found in Redis. */
export function withFormerOwner(record: TokenRecord, before: string | null, after: string | null): TokenRecord {
  if (before === after) return record
  // With repetitions: a token that returns to an owner must be distinguishable from one that stayed.
  return { ...record, formerOwners: [...(record.formerOwners ?? []), before].slice(-maxFormerOwners) }
}

/** Marks a record as revoked. A revoked record stays unchanged. */
export const withRevocation = (record: TokenRecord, now: number): TokenRecord =>
  record.revokedAt === undefined ? { ...record, revokedAt: now } : record

/** Adds a new secret to a record. Older secrets stay valid for at most `graceMs` more. */
export function withNewSecret(record: TokenRecord, secret: string, graceMs: number, now: number): TokenRecord {
  if (record.revokedAt !== undefined)
    throw new GatewayError(
      'conflict',
      `The token '${record.id}' is revoked, which cannot be undone. Issue a new token.`,
    )
  const until = now + graceMs
  const old = record.secrets.map(
    ({ digest, validUntil = until }): StoredSecret => ({ digest, validUntil: Math.min(validUntil, until) }),
  )
  const valid = old.filter(({ validUntil = 0 }) => validUntil > now)
  if (valid.length > maxOldSecrets)
    throw new GatewayError(
      'conflict',
      `The token '${record.id}' has ${valid.length} older secrets that are still valid. Wait, or rotate it with graceMs: 0.`,
    )
  const expired = old.filter(({ validUntil = 0 }) => validUntil <= now).slice(0, keptExpiredSecrets)
  return {
    ...record,
    hint: hintOf(secret),
    rotatedAt: now,
    secrets: [{ digest: digestOf(secret) }, ...valid, ...expired],
  }
}

/** Returns the token without the fields that only stores need. */
export function publicToken({
  secrets: _digests,
  version: _version,
  formerOwners: _owners,
  ...token
}: TokenRecord): Token {
  return token
}
