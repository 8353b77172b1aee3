import { didYouMean } from '../near.ts'
import type { ModelgateConfig } from './define-config.ts'

/** Every field of a configuration, with what it holds; `code` cannot be written in JSON. */
const fields = {
  port: 'number',
  host: 'text',
  auth: 'code',
  token: 'text',
  data: 'text',
  redis: 'text',
  tokens: 'code',
  prices: 'any',
  ledger: 'any',
  upstreams: 'object',
  models: 'object',
  console: 'any',
  otel: 'any',
  onLoss: 'any',
  explain: 'any',
  tokenizer: 'code',
  responses: 'object',
  plugins: 'any',
  limits: 'object',
  retry: 'any',
  breaker: 'any',
  health: 'code',
  spool: 'code',
  media: 'code',
  basePath: 'text',
  fetch: 'code',
  logger: 'any',
} as const satisfies Record<keyof ModelgateConfig, string>

/** A misspelled setting would silently be none. Throws an Error that says what there is. */
export function checkNames(config: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(config))
    if (!Object.hasOwn(fields, name)) throw new Error(`${name} is no setting${didYouMean(name, Object.keys(fields))}`)
  for (const [name, kind] of Object.entries(fields)) {
    const value = config[name]
    if (value === undefined) continue
    if (kind === 'text' && typeof value !== 'string') throw new Error(`${name} is a ${typeof value}: write a text`)
    if (kind === 'object' && (typeof value !== 'object' || value === null || Array.isArray(value)))
      throw new Error(`${name} is ${Array.isArray(value) ? 'a list' : `a ${typeof value}`}: write an object`)
  }
}
