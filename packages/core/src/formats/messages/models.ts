import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type { ModelRequest, Nothing, Reasoning } from '../ir.ts'
import { effortOfBudget } from '../shared/model-rules.ts'
import { fieldPointer, loss } from '../shared/report.ts'
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

/** Features of a family of models. Facts about models belong in this file only. */
export interface ModelTraits {
  /** Upper bound of `max_tokens`. Undefined if it is unknown. */
  readonly maxTokens?: number
  /** `max_tokens` of a request whose client set none. It has room for any usual response. */
  readonly defaultTokens: number
  /** How thinking is requested: not at all, by a budget, by `adaptive`, or by either. */
  readonly thinking: 'none' | 'budget' | 'adaptive' | 'either'
  /** True if thinking can be disabled. */
  readonly canDisable: boolean
  /** Accepted values of `output_config.effort`. */
  readonly efforts: readonly EffortWord[]
  /** True if the model accepts `output_config.format` and `strict` tools. */
  readonly structured: boolean
  /** Accepted sampling fields. `any`: temperature, top_p and top_k; `one`: temperature or top_p; `none`: only their default values. */
  readonly sampling: 'any' | 'one' | 'none'
  /** True if a tool call can be forced. */
  readonly forcedTools: boolean
  /** True if `system` messages may follow other messages. */
  readonly systemTurns: boolean
  /** Tokens from which the beginning of a prompt is cached. */
  readonly cacheMinimum: number
}

const allEfforts: readonly EffortWord[] = ['low', 'medium', 'high', 'xhigh', 'max']

const legacy: ModelTraits = {
  maxTokens: 4096,
  defaultTokens: 32_000,
  thinking: 'none',
  canDisable: true,
  efforts: [],
  structured: false,
  sampling: 'any',
  forcedTools: true,
  systemTurns: false,
  cacheMinimum: 1024,
}

const claude4: ModelTraits = { ...legacy, maxTokens: 64_000, thinking: 'budget' }

const claude45: ModelTraits = { ...claude4, structured: true, sampling: 'one' }

/** Models whose cache starts at a longer prompt than that of their family. */
const cached2048 = { cacheMinimum: 2048 } as const
const cached4096 = { cacheMinimum: 4096 } as const

const claude46: ModelTraits = {
  ...claude45,
  maxTokens: 128_000,
  thinking: 'either',
  efforts: ['low', 'medium', 'high', 'max'],
}

const claude47: ModelTraits = { ...claude46, thinking: 'adaptive', efforts: allEfforts, sampling: 'none' }

const claude5: ModelTraits = { ...claude47, systemTurns: true }

const alwaysThinking: ModelTraits = { ...claude5, canDisable: false }

const neverForced: ModelTraits = { ...alwaysThinking, forcedTools: false }

/** The first matching prefix applies. Names are compared from `claude` on, since clouds put a vendor in front, and with `-` for `.`. */
const families: readonly (readonly [prefix: string, traits: ModelTraits])[] = [
  ['claude-instant', legacy],
  ['claude-2', legacy],
  ['claude-3-5-haiku', { ...legacy, ...cached2048, maxTokens: 8192 }],
  ['claude-3-5', { ...legacy, maxTokens: 8192 }],
  ['claude-3-7', claude4],
  ['claude-3-haiku', { ...legacy, ...cached2048 }],
  ['claude-3', legacy],
  ['claude-opus-4-1', { ...claude45, maxTokens: 32_000 }],
  ['claude-opus-4-5', { ...claude45, ...cached4096, efforts: ['low', 'medium', 'high'] }],
  ['claude-sonnet-4-5', claude45],
  ['claude-haiku-4-5', { ...claude45, ...cached4096 }],
  ['claude-opus-4-6', { ...claude46, ...cached4096 }],
  ['claude-sonnet-4-6', { ...claude46, ...cached2048 }],
  ['claude-opus-4-7', claude47],
  ['claude-opus-4-8', claude5],
  ['claude-opus-4', { ...claude4, maxTokens: 32_000 }],
  ['claude-sonnet-4', claude4],
  ['claude-sonnet-5-5', neverForced],
  ['claude-opus-5-5', neverForced],
  ['claude-haiku-5-5', claude5],
  ['claude-opus-5', claude5],
  ['claude-sonnet-5', { ...claude5, systemTurns: false }],
  ['claude-fable-5-1', neverForced],
  ['claude-fable-5', alwaysThinking],
  ['claude-mythos-5-1', neverForced],
  ['claude-mythos', alwaysThinking],
]

/** An unknown Claude name is a newer model. Any other name is a model of another vendor, of which the least is assumed. */
const { maxTokens: _, ...uncapped } = claude5

const unknownClaude: ModelTraits = { ...uncapped, thinking: 'either', sampling: 'any' }

const otherVendor: ModelTraits = {
  defaultTokens: 8192,
  thinking: 'budget',
  canDisable: true,
  efforts: allEfforts,
  structured: true,
  sampling: 'any',
  forcedTools: true,
  systemTurns: false,
  cacheMinimum: 1024,
}

/** Returns what the model of a target accepts. Quirks of the upstream override the table. */
export function modelTraits({ model, quirks }: TargetTraits): ModelTraits {
  const from = model.indexOf('claude-')
  const name = from < 0 ? '' : model.slice(from).replaceAll('.', '-')
  const known = families.find(([prefix]) => name.startsWith(prefix))?.[1] ?? (name === '' ? otherVendor : unknownClaude)
  return {
    ...known,
    ...(quirks.thinking === undefined ? {} : { thinking: quirks.thinking }),
    ...(quirks.systemTurns === undefined ? {} : { systemTurns: quirks.systemTurns }),
  }
}

/** Returns the `max_tokens` of a request whose client set none. */
export const defaultMaxTokens = ({ quirks }: TargetTraits, { defaultTokens, maxTokens }: ModelTraits): number =>
  quirks.defaultMaxTokens ?? Math.min(defaultTokens, maxTokens ?? defaultTokens)

/** Returns the nearest accepted effort, or undefined if the model accepts none. */
export function nearestEffort(wanted: EffortWord, accepted: readonly EffortWord[]): EffortWord | undefined {
  if (accepted.includes(wanted)) return wanted
  const wantedRank = allEfforts.indexOf(wanted)
  let nearest: EffortWord | undefined
  for (const effort of accepted)
    if (
      nearest === undefined ||
      Math.abs(allEfforts.indexOf(effort) - wantedRank) <= Math.abs(allEfforts.indexOf(nearest) - wantedRank)
    )
      nearest = effort
  return nearest
}

/** Thinking budgets, in tokens, for models that require a number instead of an effort. */
const budgetOfEffort: Readonly<Record<EffortWord | 'minimal', number>> = {
  minimal: 1024,
  low: 4096,
  medium: 12_288,
  high: 24_576,
  xhigh: 32_768,
  max: 49_152,
}

/** The smallest budget that Anthropic accepts, in tokens. */
const minBudget = 1024

/** The part of JSON Schema that Anthropic can enforce: in `output_config.format` and in strict tools. */
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
  // Lookahead, lookbehind, word boundaries and backreferences.
  refusedPattern: /\(\?[=!<]|\\[bB1-9]/,
  unenforced: 'described',
}

/**
 * Lowers an output schema to the enforceable part of JSON Schema.
 * @param at JSON Pointer to the schema in the client's request
 */
export const lowerOutputSchema = (schema: JsonObject, at: string): LoweredSchema =>
  lowerSchema(new SchemaGraph(schema, at), structuredOutput)

/** Lowers the schema of a strict tool of another format. See `enforceIn`. */
export const enforceTool = (
  schema: JsonObject | undefined,
  strict: boolean | undefined,
  at: string,
  tell: ReportSchemaChange,
): EnforcedSchema => enforceSchema(structuredOutput, schema, strict, at, tell)

/** Facts about the rest of the request on which thinking depends. */
export interface ThinkingConditions {
  readonly maxTokens: number
  /** True if the request forces a tool call. */
  readonly isToolForced: boolean
  /** The last response called tools, and its thinking is missing. */
  readonly lacksReasoning: boolean
}

type EncodeContext = CodecContext & { readonly target: TargetTraits }

/** Encodes `thinking` and `output_config.effort`. Returns whether thinking is on. */
export function encodeThinking(
  request: ModelRequest,
  out: JsonObject,
  traits: ModelTraits,
  conditions: ThinkingConditions,
  context: EncodeContext,
): boolean {
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = request.reasoning ?? {}
  rest satisfies Nothing
  const at = (field: string): string => fieldPointer(`reasoning.${field}`, request.at, undefined)
  const { report } = context
  const existing = isObject(out.thinking) ? out.thinking : undefined
  const effortWord = effort === 'minimal' ? 'low' : effort === 'none' ? undefined : effort
  const mode = off || effort === 'none' ? 'off' : isThinkingRequested(effort, budgetTokens, adaptive) ? 'on' : 'unsaid'

  let thinking: JsonObject | undefined
  let sentEffort = effortWord
  if (mode === 'off') {
    if (traits.thinking === 'none') thinking = undefined
    else if (traits.canDisable) thinking = { type: 'disabled' }
    else {
      report.add(
        loss(
          at(off ? 'off' : 'effort'),
          'thinking cannot be disabled for the model: a low effort is sent',
          'approximated',
        ),
      )
      sentEffort = 'low'
    }
  } else if (mode === 'on') {
    const blocked = thinkingObstacle(traits, conditions, isAdaptive(request, traits))
    const field = budgetTokens !== undefined ? 'budgetTokens' : adaptive ? 'adaptive' : 'effort'
    if (blocked !== undefined) report.add(loss(at(field), `thinking is left out: ${blocked}`))
    else thinking = encodeEnabledThinking(request, traits, conditions, at, context)
    if (thinking?.type === 'adaptive' && sentEffort === undefined && budgetTokens !== undefined)
      sentEffort = nearestEffort(effortOfBudget(budgetTokens) as EffortWord, traits.efforts)
    // A budget makes the effort redundant. The effort is sent only if the client sent both.
    if (thinking?.type === 'enabled' && budgetTokens === undefined && adaptive !== true) sentEffort = undefined
    // The loss of thinking covers the loss of the effort: report one of them.
    if (thinking === undefined && field === 'effort' && traits.efforts.length === 0) sentEffort = undefined
  }
  if (thinking !== undefined) out.thinking = { ...existing, ...thinking }
  encodeDisplay(summary, out, thinking, at('summary'), context)
  if (sentEffort !== undefined) encodeEffort(sentEffort, effort, out, traits, at('effort'), context)
  return thinking !== undefined && thinking.type !== 'disabled'
}

const isThinkingRequested = (effort: unknown, budget: number | undefined, adaptive: boolean | undefined): boolean =>
  budget !== undefined || adaptive === true || (effort !== undefined && adaptive !== false)

/** Returns whether the model decides how much it thinks: the client asked for it, or the model accepts nothing else. */
const isAdaptive = ({ reasoning }: ModelRequest, { thinking }: ModelTraits): boolean =>
  thinking === 'adaptive' ||
  (thinking === 'either' && (reasoning?.adaptive === true || reasoning?.budgetTokens === undefined))

/** Returns why this request cannot think although the client asked for it, or undefined if it can. */
function thinkingObstacle(traits: ModelTraits, conditions: ThinkingConditions, adaptive: boolean): string | undefined {
  if (traits.thinking === 'none') return 'the model cannot think'
  if (adaptive) return undefined
  if (conditions.isToolForced) return 'a budget cannot be combined with a forced tool call'
  if (conditions.lacksReasoning) return 'the signed reasoning before the last tool call was not sent back'
  if (conditions.maxTokens <= minBudget) return `it needs more than ${minBudget} max_tokens`
  return undefined
}

function encodeEnabledThinking(
  request: ModelRequest,
  traits: ModelTraits,
  conditions: ThinkingConditions,
  at: (field: string) => string,
  { report }: EncodeContext,
): JsonObject {
  const { effort, budgetTokens } = request.reasoning ?? {}
  if (isAdaptive(request, traits)) {
    if (budgetTokens !== undefined)
      report.add(loss(at('budgetTokens'), 'the model accepts no budget and decides how much it thinks', 'approximated'))
    return { type: 'adaptive' }
  }
  const room = conditions.maxTokens - 1
  if (budgetTokens !== undefined) {
    const budget = Math.min(Math.max(budgetTokens, minBudget), room)
    if (budget !== budgetTokens)
      report.add(
        loss(
          at('budgetTokens'),
          `the budget must be at least ${minBudget} and below max_tokens; ${budget} is sent`,
          'clamped',
        ),
      )
    return { type: 'enabled', budget_tokens: budget }
  }
  const key = effort === undefined || effort === 'none' ? 'high' : effort
  const budget = Math.min(budgetOfEffort[key], room)
  const field = effort === undefined ? 'adaptive' : 'effort'
  report.add(
    loss(at(field), `the model accepts a thinking budget only: ${budget} tokens are sent`, 'approximated', 'note'),
  )
  return { type: 'enabled', budget_tokens: budget }
}

function encodeDisplay(
  summary: Reasoning['summary'],
  out: JsonObject,
  thinking: JsonObject | undefined,
  at: string,
  { report }: EncodeContext,
): void {
  if (summary === undefined) return
  if (thinking === undefined || thinking.type === 'disabled') {
    report.add(loss(at, 'thinking is off, so there is no reasoning to show', 'unsupported', 'note'))
    return
  }
  if (summary === 'concise' || summary === 'detailed')
    report.add(loss(at, `'${summary}' is sent as 'summarized'`, 'approximated', 'note'))
  out.thinking = {
    ...thinking,
    ...(isObject(out.thinking) ? out.thinking : undefined),
    display: summary === 'none' ? 'omitted' : 'summarized',
  }
}

function encodeEffort(
  effortWord: EffortWord,
  requested: Reasoning['effort'],
  out: JsonObject,
  traits: ModelTraits,
  at: string,
  { report }: EncodeContext,
): void {
  const nearest = nearestEffort(effortWord, traits.efforts)
  if (nearest === undefined) {
    report.add(loss(at, 'the model accepts no effort'))
    return
  }
  if (requested !== undefined && requested !== 'none' && nearest !== requested)
    report.add(loss(at, `the effort '${requested}' is sent as '${nearest}'`, 'approximated', 'note'))
  out.output_config = { ...(isObject(out.output_config) ? out.output_config : undefined), effort: nearest }
}
