import type { Json, JsonObject } from '../base/json.ts'
import { asList, asObject, asString, isObject } from '../base/json.ts'
import { hashText } from '../base/random.ts'
import { chat } from '../formats/chat/dialect.ts'
import { badType, badValue, fieldError, missingField } from '../formats/openai/check-fields.ts'
import type { WireError } from '../wire/errors.ts'
import { noEvents } from '../wire/piece.ts'
import { readJson, type Service, type ServiceRequest } from './service.ts'

/** Categories, each with the words that the demo flags. */
const categories: Readonly<Record<string, RegExp | undefined>> = {
  harassment: /\b(idiot|stupid|loser)s?\b/i,
  'harassment/threatening': /\bI will (hurt|find|kill) you\b/i,
  hate: /\bI hate (all|those|them|you people)\b/i,
  'hate/threatening': undefined,
  illicit: /\b(shoplift|counterfeit|launder money)/i,
  'illicit/violent': /\bbuild a bomb\b/i,
  'self-harm': /\b(suicide|hurt myself)\b/i,
  'self-harm/intent': /\bI (want|am going) to (hurt|kill) myself\b/i,
  'self-harm/instructions': undefined,
  sexual: /\b(porn|nude)/i,
  'sexual/minors': undefined,
  violence: /\b(kill|murder|stab|shoot)/i,
  'violence/graphic': /\b(gore|bloodbath)\b/i,
}

/** Splits the input: one result for each text, or one for all the parts of a mixed input. */
function subjectsOf(input: Json | undefined): { readonly text: string; readonly kinds: readonly string[] }[] {
  if (typeof input === 'string') return [{ text: input, kinds: ['text'] }]
  const list = asList(input)
  if (!list.some(isObject)) return list.map((text) => ({ text: asString(text), kinds: ['text'] }))
  const parts = list.map(asObject)
  const kinds = new Set(parts.map(({ type }) => (type === 'image_url' ? 'image' : 'text')))
  return [{ text: parts.map(({ text }) => asString(text)).join('\n'), kinds: [...kinds] }]
}

function check({ body }: ServiceRequest): WireError | undefined {
  const stranger = Object.keys(body).find((key) => key !== 'model' && key !== 'input')
  if (stranger !== undefined) return fieldError(`Unknown parameter: '${stranger}'.`, stranger, 'unknown_parameter')
  const { input, model } = body
  if (model !== undefined && model !== null && typeof model !== 'string') return badType('model', 'string', model)
  if (input === undefined || input === null) return missingField('input')
  if (typeof input === 'string') return undefined
  if (!Array.isArray(input)) return badType('input', 'string or array', input)
  if (input.length === 0) {
    const words =
      "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return fieldError(words, 'input', 'empty_array')
  }
  for (const [index, item] of input.entries()) {
    const at = `input[${index}]`
    if (typeof item === 'string') continue
    if (!isObject(item)) return badType(at, 'string', item)
    if (item.type === undefined) return missingField(`${at}.type`)
    if (item.type !== 'text' && item.type !== 'image_url')
      return badValue(item.type, ['text', 'image_url'], `${at}.type`)
    if (item.type === 'text' && typeof item.text !== 'string') return missingField(`${at}.text`)
    if (item.type === 'image_url' && typeof asObject(item.image_url).url !== 'string')
      return missingField(`${at}.image_url.url`)
  }
  return undefined
}

function resultOf({ text, kinds }: ReturnType<typeof subjectsOf>[number]): JsonObject {
  const flags = Object.entries(categories).map(([name, words]) => [name, words?.test(text) ?? false] as const)
  const table = <T extends Json>(value: (name: string, flag: boolean) => T): JsonObject =>
    Object.fromEntries(flags.map(([name, flag]) => [name, value(name, flag)]))
  // Small for unflagged categories, as the real ones are, and repeatable.
  const noise = (name: string): number => (Number.parseInt(hashText(name + text).slice(-4), 16) + 1) / 1e8
  return {
    flagged: flags.some(([, flag]) => flag),
    categories: table((_, flag) => flag),
    category_scores: table((name, flag) => (flag ? 0.95 : 0) + noise(name)),
    category_applied_input_types: table((name) => [
      ...kinds.filter((kind) => kind === 'text' || /^(self-harm|sexual$|violence)/.test(name)),
    ]),
  }
}

/** OpenAI's Moderations: a few plain words stand for each category. */
export const moderations: Service = {
  operation: 'moderations',
  conventions: chat,
  defaultModel: 'omni-moderation-latest',
  contentTypes: ['application/json'],
  read: readJson,
  wantsStream: () => false,
  check,
  directiveText: ({ body }) => subjectsOf(body.input)[0]?.text ?? '',
  render: ({ body, model, script, ids }) => ({
    body: () => ({
      id: `modr-${ids.lower(24)}`,
      model: script.model ?? model,
      results: subjectsOf(body.input).map(resultOf),
    }),
    events: noEvents,
  }),
}
