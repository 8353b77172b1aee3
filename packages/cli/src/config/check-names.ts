import { didYouMean } from '../terminal/did-you-mean.ts'
import { kindOf } from './data-upstreams.ts'
import type { ModelgateConfig } from './define-config.ts'
import { isRecord } from './expand.ts'
import { type ReportProblem, throwProblem } from './problem-list.ts'

/** Every setting of a configuration with its type. `code` cannot be written in JSON; `any` is checked elsewhere. */
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
  modelCards: 'object',
  console: 'switch',
  otel: 'switch',
  onLoss: 'any',
  explain: 'any',
  tokenizer: 'code',
  responses: 'object',
  references: 'object',
  plugins: 'any',
  limits: 'object',
  objects: 'object',
  compaction: 'any',
  retry: 'any',
  breaker: 'any',
  health: 'code',
  spool: 'code',
  media: 'code',
  basePath: 'text',
  fetch: 'code',
  transport: 'code',
  logger: 'any',
  log: 'any',
  logLevel: 'any',
  workers: 'any',
  capture: 'any',
} as const satisfies Record<keyof ModelgateConfig, string>

const kinds: Readonly<
  Record<(typeof fields)[keyof typeof fields], { fits(value: unknown): boolean; expected: string }>
> = {
  any: { fits: () => true, expected: '' },
  text: { fits: (value) => typeof value === 'string', expected: 'a string' },
  object: { fits: isRecord, expected: 'an object' },
  address: {
    fits: (value) => typeof value === 'string' || isRecord(value),
    expected: 'an address or an object',
  },
  place: { fits: (value) => typeof value === 'string' || isRecord(value), expected: 'a path or an object' },
  switch: { fits: (value) => typeof value === 'boolean' || isRecord(value), expected: 'true, false or an object' },
  code: {
    fits: (value) => typeof value === 'function' || isRecord(value),
    expected: 'code, in modelgate.config.ts or .js',
  },
}

/** Reports names of settings that do not exist, and values of the wrong kind: a misspelled setting would silently have no effect. */
export function checkNames(config: Readonly<Record<string, unknown>>, report: ReportProblem = throwProblem): void {
  for (const name of Object.keys(config))
    if (!Object.hasOwn(fields, name)) report(`Unknown setting '${name}'. ${didYouMean(name, Object.keys(fields))}`)
  for (const [name, kind] of Object.entries(fields)) {
    const value = config[name]
    if (value === undefined) continue
    const { fits, expected } = kinds[kind]
    if (!fits(value)) report(`${name} is ${kindOf(value)}: expected ${expected}`)
  }
}
