import { didYouMean } from '../near.ts'
import { kindOf } from './data-upstreams.ts'
import type { ModelgateConfig } from './define-config.ts'
import { isRecord } from './is-record.ts'
import { type ReportProblem, throwProblem } from './problem-list.ts'

/** Every field of a configuration, with what it holds; `code` cannot be written in JSON, `any` is looked at elsewhere. */
const fields = {
  port: 'any',
  host: 'text',
  auth: 'any',
  token: 'text',
  data: 'text',
  redis: 'address',
  tokens: 'code',
  prices: 'place',
  ledger: 'place',
  upstreams: 'object',
  models: 'object',
  listedModels: 'any',
  console: 'switch',
  otel: 'switch',
  onLoss: 'any',
  explain: 'any',
  tokenizer: 'code',
  responses: 'object',
  references: 'object',
  plugins: 'any',
  limits: 'object',
  retry: 'any',
  breaker: 'any',
  health: 'code',
  spool: 'code',
  media: 'code',
  basePath: 'text',
  fetch: 'code',
  transport: 'code',
  logger: 'any',
} as const satisfies Record<keyof ModelgateConfig, string>

const kinds: Readonly<Record<(typeof fields)[keyof typeof fields], { fits(value: unknown): boolean; wish: string }>> = {
  any: { fits: () => true, wish: '' },
  text: { fits: (value) => typeof value === 'string', wish: 'a text' },
  object: { fits: isRecord, wish: 'an object' },
  address: {
    fits: (value) => typeof value === 'string' || isRecord(value),
    wish: 'an address in quotes, or an object',
  },
  place: { fits: (value) => typeof value === 'string' || isRecord(value), wish: 'a path in quotes, or an object' },
  switch: { fits: (value) => typeof value === 'boolean' || isRecord(value), wish: 'true, false or an object' },
  code: {
    fits: (value) => typeof value === 'function' || isRecord(value),
    wish: 'it in code, in modelgate.config.ts or .js',
  },
}

/** Reports names of settings that do not exist, and values of the wrong kind: a misspelled setting would silently have no effect. */
export function checkNames(config: Readonly<Record<string, unknown>>, report: ReportProblem = throwProblem): void {
  for (const name of Object.keys(config))
    if (!Object.hasOwn(fields, name)) report(`${name} is no setting${didYouMean(name, Object.keys(fields))}`)
  for (const [name, kind] of Object.entries(fields)) {
    const value = config[name]
    if (value === undefined) continue
    const { fits, wish } = kinds[kind]
    if (!fits(value)) report(`${name} is ${kindOf(value)}: write ${wish}`)
  }
}
