import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, Citation, MediaPart, ModelResponse, Part, Report, TextPart } from '../ir.ts'
import {
  append,
  drop,
  leftover,
  putBack,
  takeAny,
  takeArray,
  takeNumber,
  takeObject,
  takeString,
  type Unread,
  unread,
} from '../shared/json-fields.ts'
import { restoreToolName } from '../shared/names.ts'
import { loss, objectsIn, reportUnknown, shapeOf } from '../shared/report.ts'
import { checkChoiceCount } from '../shared/stream-parts.ts'
import { decodeError } from './error.ts'
import { toolNames } from './fields.ts'
import { contentOf, decodeFinish } from './finish.ts'
import { audioMediaType, sourceOfUrl } from './media.ts'
import { decodeDetails } from './reasoning.ts'
import { decodeToolCall, isThinkingText, thinkingText } from './turn-decode.ts'
import { usageOf } from './usage.ts'

/** Frame and padding of a response, without meaning for clients. */
export const frameFields: readonly string[] = ['object', 'obfuscation', 'p']

/** Decodes a response leniently. An `error` with status 200 is an error. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  if (isObject(body) && body.error) throw toThrow(body)
  if (!isObject(body) || !Array.isArray(body.choices) || body.choices.length === 0) throw notAnAnswer()
  checkChoiceCount(body.choices.length)
  const fields = unread(body)
  for (const key of frameFields) drop(fields, key)
  drop(fields, 'choices')
  const usage = usageOf(body, body.choices)
  drop(fields, 'usage')
  const found = choicesIn(body.choices, context.report)
  if (found.length === 0) throw notAnAnswer()
  const choices = found
    .map((choice, position) => ({ index: typeof choice.index === 'number' ? choice.index : position, choice }))
    .sort((a, b) => a.index - b.index)
    .map(({ choice, index }) => decodeChoice(choice, index, context))
  const response: ModelResponse = {
    id: takeString(fields, 'id') ?? '',
    model: takeString(fields, 'model') ?? '',
    created: takeNumber(fields, 'created') ?? 0,
    choices,
  }
  put(response, 'usage', usage)
  const tier = takeString(fields, 'service_tier')
  if (tier) response.serviceTier = tier
  const extra = substance(fields)
  if (extra !== undefined) response.extra = { chat: extra }
  return response
}

const choiceFields: readonly string[] = ['index', 'message', 'delta', 'finish_reason', 'logprobs', 'text']

/** Returns the valid entries of `choices` and reports the others. Throws if there are only others. */
export function choicesIn(list: readonly Json[], report: Report): JsonObject[] {
  const objects = objectsIn(list, '/choices', report)
  const isChoice = (entry: JsonObject): boolean => choiceFields.some((key) => entry[key] !== undefined)
  if (objects.every(isChoice)) return objects
  for (const [index, entry] of objects.entries())
    if (!isChoice(entry)) report.add(loss(pointer('/choices', index), 'an entry that is not a choice is left out'))
  return objects.filter(isChoice)
}

const notAnAnswer = (): GatewayError =>
  new GatewayError(
    'upstream_bad_response',
    'The upstream returned status 200 with a body that is not a chat completion.',
  )

function toThrow(body: JsonObject): GatewayError {
  const { kind, message, ...details } = decodeError(200, body)
  return new GatewayError(kind, message, details)
}

function decodeChoice(choice: JsonObject, index: number, context: ExchangeContext): Choice {
  const fields = unread(choice)
  for (const key of ['index', 'usage']) drop(fields, key)
  const message = takeObject(fields, 'message') ?? takeObject(fields, 'delta') ?? {}
  drop(fields, 'delta')
  const inner = unread(message)
  drop(inner, 'role')
  const parts = decodeMessage(inner, `/choices/${index}/message`, context)
  const stopReason = takeAny(fields, 'stop_reason')
  const finish = decodeFinish(takeAny(fields, 'finish_reason'), stopReason, contentOf(parts))
  if (finish.reason === 'error')
    throw toThrow({ error: fields.error ?? 'The upstream ended its response with an error.' })
  const decoded: Choice = { parts, finish }
  const logprobs = takeAny(fields, 'logprobs')
  if (hasLogprobs(logprobs)) decoded.logprobs = logprobs
  const rest = substance(inner)
  const extra = substance(fields)
  if (rest !== undefined || extra !== undefined)
    decoded.extra = { chat: { ...extra, ...(rest === undefined ? {} : { message: rest }) } }
  return decoded
}

/** Snowflake writes `{content: null, refusal: null}` for none. */
export const hasLogprobs = (value: Json | undefined): value is Json =>
  isObject(value) ? Object.values(value).some((item) => item !== null) : value !== undefined && value !== null

/** Returns the fields without nulls, empty texts and empty lists. */
export function substance(fields: Unread): JsonObject | undefined {
  for (const key in fields) {
    const value = fields[key]
    if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) drop(fields, key)
  }
  return leftover(fields)
}

function decodeMessage(fields: Unread, at: string, context: ExchangeContext): Part[] {
  const parts: Part[] = []
  const details = takeArray(fields, 'reasoning_details')
  if (details !== undefined) append(parts, decodeDetails(details, `${at}/reasoning_details`))
  const content = takeString(fields, 'reasoning_content')
  const reasoning = takeString(fields, 'reasoning')
  const plain = content || reasoning
  if (plain && !parts.some((part) => part.type === 'reasoning' && part.text !== ''))
    parts.unshift({ type: 'reasoning', text: plain, at: `${at}/reasoning_content` })
  append(parts, decodeAnswerContent(takeAny(fields, 'content'), `${at}/content`))
  const citations = decodeAnnotations(takeArray(fields, 'annotations'))
  const cited = parts.findLast((part): part is TextPart => part.type === 'text')
  if (citations.length > 0 && cited !== undefined) cited.citations = citations
  const refusal = takeString(fields, 'refusal')
  if (refusal) parts.push({ type: 'refusal', text: refusal, at: `${at}/refusal` })
  const audio = decodeAudio(takeObject(fields, 'audio'), context)
  if (audio !== undefined) parts.push({ ...audio, at: `${at}/audio` })
  append(parts, decodeImages(takeArray(fields, 'images'), `${at}/images`, context.report))
  for (const [position, call] of (takeArray(fields, 'tool_calls') ?? []).entries()) {
    const part = decodeToolCall(call, `${at}/tool_calls/${position}`)
    if (part === undefined) continue
    if (part.id === '') part.id = context.newId('call_')
    part.name = restoreToolName(part.name, context.request, toolNames)
    parts.push(part)
  }
  const legacy = takeObject(fields, 'function_call')
  if (legacy !== undefined && typeof legacy.name === 'string' && legacy.name !== '') {
    reportUnknown(legacy, legacyShape, `${at}/function_call`, context.report)
    parts.push({
      type: 'tool-call',
      id: context.newId('call_'),
      name: restoreToolName(legacy.name, context.request, toolNames),
      input: typeof legacy.arguments === 'string' ? legacy.arguments : '',
      at: `${at}/function_call`,
    })
  }
  return parts
}

const legacyShape = shapeOf({ name: true, arguments: true })

/** Decodes content: a string, or Mistral's list of text, thinking and reference parts. */
export function decodeAnswerContent(content: Json | undefined, at: string): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }]
  if (!Array.isArray(content)) return []
  const parts: Part[] = []
  for (const [index, item] of content.entries()) {
    const place = `${at}/${index}`
    if (typeof item === 'string') parts.push({ type: 'text', text: item, at: place })
    if (!isObject(item)) continue
    const fields = unread(item)
    drop(fields, 'type')
    if (item.type === 'text' && typeof item.text === 'string') {
      drop(fields, 'text')
      parts.push(withRest({ type: 'text', text: item.text, at: place }, fields))
    } else if (item.type === 'thinking' && Array.isArray(item.thinking)) {
      const others = item.thinking.filter((entry) => !isThinkingText(entry))
      drop(fields, 'thinking')
      drop(fields, 'closed')
      if (others.length > 0) putBack(fields, 'thinking', others)
      parts.push(withRest({ type: 'reasoning', text: thinkingText(item.thinking), at: place }, fields))
    } else parts.push({ type: 'native', format: 'chat', value: item, at: place })
  }
  return parts
}

function withRest<P extends Part>(part: P, fields: Unread): P {
  const rest = substance(fields)
  if (rest !== undefined) part.extra = { chat: rest }
  return part
}

export function decodeAnnotations(annotations: readonly Json[] | undefined): Citation[] {
  return (annotations ?? []).filter(isObject).map((annotation) => {
    const fields = unread(annotation)
    const type = takeString(fields, 'type')
    const source = takeObject(fields, 'url_citation')
    if (type !== 'url_citation' || source === undefined) return { extra: { chat: annotation } }
    const inner = unread(source)
    const citation: Citation = {}
    put(citation, 'url', takeString(inner, 'url'))
    put(citation, 'title', takeString(inner, 'title'))
    put(citation, 'text', takeString(inner, 'content'))
    put(citation, 'start', takeNumber(inner, 'start_index'))
    put(citation, 'end', takeNumber(inner, 'end_index'))
    const rest = leftover(inner)
    if (rest !== undefined) putBack(fields, 'url_citation', rest)
    const extra = leftover(fields)
    if (extra !== undefined) citation.extra = { chat: extra }
    return citation
  })
}

function decodeAudio(audio: JsonObject | undefined, context: ExchangeContext): MediaPart | undefined {
  if (audio === undefined || (!audio.id && !audio.data)) return undefined
  const { data, ...rest } = audio
  return {
    ...soundPart(leftover(rest), context),
    source: { type: 'base64', data: typeof data === 'string' ? data : '' },
  }
}

/** Decodes the fields of an audio response other than its data: id and transcript. Its format is the requested one. */
export function soundPart(rest: JsonObject | undefined, context: ExchangeContext): Omit<MediaPart, 'source'> {
  const part: Omit<MediaPart, 'source'> = { type: 'media', kind: 'audio' }
  const format = context.request.output?.audio?.format
  if (typeof format === 'string') part.mediaType = audioMediaType(format)
  if (rest !== undefined) part.extra = { chat: rest }
  return part
}

/** Decodes OpenRouter's `images`: `[{type: 'image_url', image_url: {url}}]`. */
export function decodeImages(images: readonly Json[] | undefined, at: string, report: Report): MediaPart[] {
  return objectsIn(images ?? [], at, report).flatMap((image, index) => {
    const place = pointer(at, index)
    const fields = unread(image)
    const payload = isObject(image.image_url) ? unread(image.image_url) : undefined
    const url = payload === undefined ? image.image_url : takeString(payload, 'url')
    if (typeof url !== 'string') {
      report.add(loss(place, 'an entry that is not an image is left out'))
      return []
    }
    for (const key of ['type', 'index', 'image_url']) drop(fields, key)
    const rest = payload === undefined ? undefined : leftover(payload)
    if (rest !== undefined) putBack(fields, 'image_url', rest)
    return [withRest({ type: 'media', kind: 'image', ...sourceOfUrl(url), at: place }, fields)]
  })
}
