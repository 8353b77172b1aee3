import type { Json, JsonObject } from '../../base/json.ts'
import { asList, asObject, asString } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import { fieldError, quoted } from './check-fields.ts'

/** Restrictions of a family of OpenAI's models, as documented and as recorded from its API (November 2026). */
interface ModelFamily {
  readonly efforts: readonly string[]
  readonly defaultEffort?: string
  /** True if sampling settings are accepted with the effort `none`. Default: never. */
  readonly samplingWithoutReasoning?: true
  /** Tools on Chat Completions need the effort `none`. */
  readonly chatTools?: 'without reasoning'
  /** Efforts of Chat Completions, if they are fewer. */
  readonly chatEfforts?: readonly string[]
  readonly responsesOnly?: true
  readonly acceptsStop?: true
  readonly refusesParallel?: true
}

const upToXhigh = ['low', 'medium', 'high', 'xhigh']
const upToMax = [...upToXhigh, 'max']
const upToHigh = ['low', 'medium', 'high']
const chatWithout = { chatTools: 'without reasoning' } as const
const five: ModelFamily = { efforts: ['minimal', ...upToHigh], defaultEffort: 'medium' }
const six: ModelFamily = {
  efforts: ['none', ...upToMax],
  chatEfforts: ['none', ...upToXhigh],
  samplingWithoutReasoning: true,
  ...chatWithout,
}
const astra: ModelFamily = { efforts: upToMax, chatEfforts: upToXhigh, ...chatWithout }
const codex = (efforts: readonly string[]): ModelFamily => ({ efforts, responsesOnly: true })
const o: ModelFamily = { efforts: upToHigh, refusesParallel: true }

/** Longest first: the first matching prefix counts. */
const families: readonly (readonly [prefix: string, family: ModelFamily])[] = [
  ['gpt-6-astra', astra],
  ['gpt-6.1-sol', astra],
  ['gpt-6', six],
  ['gpt-5.6', { efforts: ['none', ...upToMax], samplingWithoutReasoning: true, ...chatWithout }],
  ['gpt-5.5-pro', { efforts: ['medium', 'high', 'xhigh'], responsesOnly: true }],
  ['gpt-5.5', { efforts: ['none', ...upToXhigh], samplingWithoutReasoning: true, ...chatWithout }],
  ['gpt-5.4-pro', { efforts: ['medium', 'high', 'xhigh'], responsesOnly: true }],
  [
    'gpt-5.4',
    { efforts: ['none', ...upToXhigh], defaultEffort: 'none', samplingWithoutReasoning: true, ...chatWithout },
  ],
  ['gpt-5.3-codex', codex(upToXhigh)],
  ['gpt-5.2-codex', codex(upToXhigh)],
  ['gpt-5.2-pro', { efforts: ['medium', 'high', 'xhigh'], responsesOnly: true }],
  ['gpt-5.2', { efforts: ['none', ...upToXhigh], defaultEffort: 'none', samplingWithoutReasoning: true }],
  ['gpt-5.1-codex-max', codex(upToXhigh)],
  ['gpt-5.1-codex', codex(upToHigh)],
  ['gpt-5.1', { efforts: ['none', ...upToHigh], defaultEffort: 'none', samplingWithoutReasoning: true }],
  ['gpt-5-pro', { efforts: ['high'], responsesOnly: true }],
  ['gpt-5-codex', codex(upToHigh)],
  ['gpt-5-chat', { efforts: [] }],
  ['gpt-5', five],
  ['gpt-4', { efforts: [] }],
  ['gpt-3', { efforts: [] }],
  ['o1-pro', { ...o, responsesOnly: true }],
  ['o1', { ...o, acceptsStop: true }],
  ['o3-pro', { ...o, responsesOnly: true }],
  ['o3-mini', { ...o, acceptsStop: true }],
  ['o3', o],
  ['o4-mini', o],
]

const familyOf = (model: Json | undefined): ModelFamily | undefined =>
  families.find(([prefix]) => asString(model).startsWith(prefix))?.[1]

const unsupported = (param: string, hint = ''): WireError =>
  fieldError(
    `Unsupported parameter: '${param}' is not supported with this model.${hint}`,
    param,
    'unsupported_parameter',
  )

const given = (value: Json | undefined): boolean => value !== undefined && value !== null

/** Returns OpenAI's error about model restrictions on Chat Completions; undefined for valid requests and unknown models. */
export function checkChatModel(body: JsonObject): WireError | undefined {
  const family = familyOf(body.model)
  if (family === undefined) return undefined
  if (family.responsesOnly) {
    const words = 'This model is only supported in v1/responses and not in v1/chat/completions.'
    return { ...fieldError(words, 'model'), status: 404 }
  }
  const { reasoning_effort: effort } = body
  if (family.efforts.length === 0)
    return given(effort)
      ? fieldError('Unrecognized request argument supplied: reasoning_effort', 'reasoning_effort')
      : undefined
  if (given(body.max_tokens)) return unsupported('max_tokens', " Use 'max_completion_tokens' instead.")
  const efforts = family.chatEfforts ?? family.efforts
  if (given(effort) && !efforts.includes(asString(effort)))
    return fieldError(
      `Unsupported value: 'reasoning_effort' does not support '${asString(effort)}' with this model. Supported values are: ${quoted(efforts)}.`,
      'reasoning_effort',
      'unsupported_value',
    )
  const inForce = given(effort) ? asString(effort) : (family.defaultEffort ?? 'medium')
  if (family.chatTools !== undefined && asList(body.tools).length > 0 && inForce !== 'none') {
    const hint = efforts.includes('none') ? " or set reasoning_effort to 'none'" : ''
    return fieldError(
      `Function tools with reasoning_effort are not supported for ${asString(body.model)} in /v1/chat/completions. To use function tools, use /v1/responses${hint}.`,
      'reasoning_effort',
    )
  }
  if (!family.samplingWithoutReasoning || inForce !== 'none') {
    const { temperature } = body
    if (given(temperature) && temperature !== 1)
      return fieldError(
        `Unsupported value: 'temperature' does not support ${String(temperature)} with this model. Only the default (1) value is supported.`,
        'temperature',
        'unsupported_value',
      )
    for (const param of ['top_p', 'logprobs', 'top_logprobs']) if (given(body[param])) return unsupported(param)
  }
  for (const param of ['presence_penalty', 'frequency_penalty', 'logit_bias'])
    if (given(body[param]) && body[param] !== 0) return unsupported(param)
  if (given(body.stop) && !family.acceptsStop) return unsupported('stop')
  return given(body.parallel_tool_calls) && family.refusesParallel ? unsupported('parallel_tool_calls') : undefined
}

/** Does the same for Responses. */
export function checkResponsesModel(body: JsonObject): WireError | undefined {
  const family = familyOf(body.model)
  if (family === undefined) return undefined
  const { effort } = asObject(body.reasoning)
  if (family.efforts.length === 0) {
    if (given(effort)) return unsupported('reasoning.effort')
    return asList(body.include).includes('reasoning.encrypted_content')
      ? fieldError('Encrypted content is not supported with this model.', 'include')
      : undefined
  }
  if (given(effort) && !family.efforts.includes(asString(effort)))
    return fieldError(
      `Unsupported value: '${asString(effort)}' is not supported with the '${asString(body.model)}' model. Supported values are: ${quoted(family.efforts)}.`,
      'reasoning.effort',
      'unsupported_value',
    )
  const inForce = given(effort) ? asString(effort) : (family.defaultEffort ?? 'medium')
  if (!family.samplingWithoutReasoning || inForce !== 'none')
    for (const param of ['temperature', 'top_p', 'top_logprobs']) if (given(body[param])) return unsupported(param)
  return undefined
}
