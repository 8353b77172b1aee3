import type { JsonObject } from '../../base/json/types.ts'
import type { TargetTraits } from '../codec.ts'
import { SchemaGraph } from '../shared/schema-graph.ts'
import {
  type EnforcedSchema,
  enforceSchema,
  type LoweredSchema,
  lowerSchema,
  type ReportSchemaChange,
  type SchemaDialect,
} from '../shared/schema-lowering.ts'
import type { EffortWord } from './fields.ts'

/** What a family of models takes. Facts about models live in this file only. */
export interface ModelTraits {
  /** Most tokens of an answer; undefined where it is not known. */
  readonly maxTokens?: number
  /** `max_tokens` for clients that named none: room for any usual answer. */
  readonly usualTokens: number
  /** How thinking is asked for: not at all, by a budget, by `adaptive`, or by either. */
  readonly thinking: 'none' | 'budget' | 'adaptive' | 'either'
  /** Whether thinking can be switched off. */
  readonly canDisable: boolean
  /** Words of `output_config.effort` it takes. */
  readonly efforts: readonly EffortWord[]
  /** Whether it takes `output_config.format` and `strict` tools. */
  readonly structured: boolean
  /** `any`: temperature, top_p and top_k; `one`: temperature or top_p; `none`: only their defaults. */
  readonly sampling: 'any' | 'one' | 'none'
  /** Whether a tool call can be forced. */
  readonly forcedTools: boolean
  /** Whether `system` messages may stand in the middle of the conversation. */
  readonly systemTurns: boolean
}

const all: readonly EffortWord[] = ['low', 'medium', 'high', 'xhigh', 'max']

const old: ModelTraits = {
  maxTokens: 4096,
  usualTokens: 32_000,
  thinking: 'none',
  canDisable: true,
  efforts: [],
  structured: false,
  sampling: 'any',
  forcedTools: true,
  systemTurns: false,
}
const four: ModelTraits = { ...old, maxTokens: 64_000, thinking: 'budget' }
const fourFive: ModelTraits = { ...four, structured: true, sampling: 'one' }
const fourSix: ModelTraits = {
  ...fourFive,
  maxTokens: 128_000,
  thinking: 'either',
  efforts: ['low', 'medium', 'high', 'max'],
}
const fourSeven: ModelTraits = { ...fourSix, thinking: 'adaptive', efforts: all, sampling: 'none' }
const five: ModelTraits = { ...fourSeven, systemTurns: true }
const alwaysThinking: ModelTraits = { ...five, canDisable: false }
const neverForced: ModelTraits = { ...alwaysThinking, forcedTools: false }

/** First prefix that fits. Names are compared from `claude` on (clouds put a vendor in front), with `-` for `.`. */
const families: readonly (readonly [prefix: string, traits: ModelTraits])[] = [
  ['claude-instant', old],
  ['claude-2', old],
  ['claude-3-5', { ...old, maxTokens: 8192 }],
  ['claude-3-7', four],
  ['claude-3', old],
  ['claude-opus-4-1', { ...fourFive, maxTokens: 32_000 }],
  ['claude-opus-4-5', { ...fourFive, efforts: ['low', 'medium', 'high'] }],
  ['claude-sonnet-4-5', fourFive],
  ['claude-haiku-4-5', fourFive],
  ['claude-opus-4-6', fourSix],
  ['claude-sonnet-4-6', fourSix],
  ['claude-opus-4-7', fourSeven],
  ['claude-opus-4-8', five],
  ['claude-opus-4', { ...four, maxTokens: 32_000 }],
  ['claude-sonnet-4', four],
  ['claude-sonnet-5-5', neverForced],
  ['claude-opus-5-5', neverForced],
  ['claude-haiku-5-5', five],
  ['claude-opus-5', five],
  ['claude-sonnet-5', { ...five, systemTurns: false }],
  ['claude-fable-5-1', neverForced],
  ['claude-fable-5', alwaysThinking],
  ['claude-mythos-5-1', neverForced],
  ['claude-mythos', alwaysThinking],
]

/** A name of Anthropic's that is not in the table is a newer model; any other is another vendor's, of which least is assumed. */
const { maxTokens: _, ...uncapped } = five
const newer: ModelTraits = { ...uncapped, thinking: 'either', sampling: 'any' }
const foreign: ModelTraits = {
  usualTokens: 8192,
  thinking: 'budget',
  canDisable: true,
  efforts: all,
  structured: true,
  sampling: 'any',
  forcedTools: true,
  systemTurns: false,
}

export function modelTraits({ model, quirks }: TargetTraits): ModelTraits {
  const from = model.indexOf('claude-')
  const name = from < 0 ? '' : model.slice(from).replaceAll('.', '-')
  const known = families.find(([prefix]) => name.startsWith(prefix))?.[1] ?? (name === '' ? foreign : newer)
  return {
    ...known,
    ...(quirks.thinking === undefined ? {} : { thinking: quirks.thinking }),
    ...(quirks.systemTurns === undefined ? {} : { systemTurns: quirks.systemTurns }),
  }
}

/** What is sent as `max_tokens` where the client named none. */
export const defaultMaxTokens = ({ quirks }: TargetTraits, { usualTokens, maxTokens }: ModelTraits): number =>
  quirks.defaultMaxTokens ?? Math.min(usualTokens, maxTokens ?? usualTokens)

/** The nearest word the model takes; undefined if it takes none. */
export function nearestEffort(wanted: EffortWord, words: readonly EffortWord[]): EffortWord | undefined {
  if (words.includes(wanted)) return wanted
  const rank = all.indexOf(wanted)
  let best: EffortWord | undefined
  for (const word of words)
    if (best === undefined || Math.abs(all.indexOf(word) - rank) <= Math.abs(all.indexOf(best) - rank)) best = word
  return best
}

/** Tokens of thinking that an effort stands for where the model wants a number. */
export const budgetOfEffort: Readonly<Record<EffortWord | 'minimal', number>> = {
  minimal: 1024,
  low: 4096,
  medium: 12_288,
  high: 24_576,
  xhigh: 32_768,
  max: 49_152,
}
/** The smallest budget there is. */
export const minBudget = 1024

/** What Anthropic takes of JSON Schema where the model is held to it: `output_config.format` and strict tools. */
const structuredOutput: SchemaDialect = {
  keywords: new Set([
    '$schema',
    '$ref',
    '$defs',
    'definitions',
    'type',
    'title',
    'description',
    'default',
    'enum',
    'const',
    'anyOf',
    'allOf',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'minItems',
    'format',
    'pattern',
  ]),
  formats: new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']),
  closed: true,
  minItems: 1,
  // Looking around, looking back, and the edges of words.
  refusedPattern: /\(\?[=!<]|\\[bB1-9]/,
  unenforced: 'described',
}

/** @param at JSON Pointer to the schema in the client's request */
export const lowerOutputSchema = (schema: JsonObject, at: string): LoweredSchema =>
  lowerSchema(new SchemaGraph(schema, at), structuredOutput)

/** The schema of a strict tool of another format; see `enforceIn`. */
export const enforceTool = (
  schema: JsonObject | undefined,
  strict: boolean | undefined,
  at: string,
  tell: ReportSchemaChange,
): EnforcedSchema => enforceSchema(structuredOutput, schema, strict, at, tell)
