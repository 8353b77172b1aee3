import { errorFromInfo, GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, Citation, ModelRequest, ModelResponse, NativePart, Part, ToolCallPart } from '../ir.ts'
import { drop, leftover, putBack, setOwn, takeString, toText, type Unread, unread } from '../shared/json-fields.ts'
import { restoreToolName } from '../shared/names.ts'
import { objectsIn, reportUnknown, shapeOf } from '../shared/report.ts'
import { customInput, isCustomTool } from '../shared/tools.ts'
import { decodeTier, toolNames, usageOf } from './fields.ts'
import { decodeFinish } from './finish.ts'
import { mediaTypeOf } from './media.ts'
import { tapResponse } from './wire.ts'

/** Decodes a response. It is lenient: unknown fields and blocks are kept. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  const { error } = isObject(body) ? tapResponse(body) : {}
  if (error !== undefined) throw errorFromInfo(error)
  const message = isObject(body) && isObject(body.output) ? body.output.message : undefined
  if (!isObject(body) || !isObject(message) || !Array.isArray(message.content))
    throw new GatewayError('upstream_bad_response', 'The upstream responded with status 200, but without a message.')
  const { report } = context
  reportUnknown(body.output as JsonObject, outputShape, '/output', report)
  if (isObject(body.serviceTier)) reportUnknown(body.serviceTier, tierShape, '/serviceTier', report)
  const parts = objectsIn(message.content, '/output/message/content', report).map((block, index) =>
    decodeBlock(block, blockAt(index), context.request),
  )
  const fields = unread(body)
  const choice: Choice = { parts, finish: decodeFinish(fields.stopReason, fields.additionalModelResponseFields) }
  const response: ModelResponse = { id: '', model: '', created: 0, choices: [choice] }
  put(response, 'usage', usageOf(body))
  put(response, 'serviceTier', decodeTier(fields.serviceTier))
  for (const key of ['output', 'stopReason', 'usage', 'serviceTier']) drop(fields, key)
  const extra = endingExtra(leftover(fields) ?? {})
  if (extra !== undefined) choice.extra = { converse: extra }
  return response
}

const outputShape = shapeOf({ message: { role: true, content: true } })

export const tierShape = shapeOf({ type: true })

/** Returns the fields at the end of a response that have no name in the IR. The stop sequence has one. */
export function endingExtra(fields: JsonObject): JsonObject | undefined {
  const rest: JsonObject = {}
  for (const [key, value] of Object.entries(fields)) {
    // `p` is padding and carries nothing.
    if (value === null || key === 'p') continue
    if (key === 'additionalModelResponseFields' && isObject(value)) {
      const { stop_sequence: _, ...nonText } = value
      if (Object.keys(nonText).length > 0) rest[key] = nonText
    } else setOwn(rest, key, value)
  }
  return leftover(rest)
}

/** Returns the pointer of a block in the response. */
export const blockAt = (index: number): string => pointer('/output/message/content', index)

/** Decodes one block of a response. A block without a meaning in other formats becomes a native part. */
function decodeBlock(block: JsonObject, at: string, request: ModelRequest): Part {
  const part = decodeKnown(block, at, request) ?? nativeBlock(block)
  part.at = at
  return part
}

/** Returns a native part for a block that only Converse has. */
export const nativeBlock = (value: JsonObject): NativePart => ({ type: 'native', format: 'converse', value })

/** Decodes a block, which is a union: its one field names its kind. Returns undefined for a shape without a meaning in other formats. */
function decodeKnown(block: JsonObject, at: string, request: ModelRequest): Part | undefined {
  const [kind, ...more] = Object.keys(block)
  const value = kind === undefined ? undefined : block[kind]
  if (more.length > 0) return undefined
  if (kind === 'text') return typeof value === 'string' ? { type: 'text', text: value, at } : undefined
  if (!isObject(value)) return undefined
  switch (kind) {
    case 'toolUse':
      return decodeCall(value, request)
    case 'reasoningContent':
      return decodeReasoning(value)
    case 'citationsContent':
      return decodeCitedText(value)
    case 'image':
    case 'audio':
    case 'video':
      return decodeMedia(kind, value)
    default:
      return undefined
  }
}

/** Keeps the unread fields of a block under its kind, as in the block. */
function withExtra<T extends Part>(part: T, kind: string, fields: Unread): T {
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { converse: { [kind]: rest } }
  return part
}

/** Returns whether Bedrock itself makes the call. Calls for the client have the type `tool_use` or none. */
export const isServerCall = ({ type }: JsonObject): boolean => type === 'server_tool_use'

function decodeCall(value: JsonObject, request: ModelRequest): ToolCallPart | undefined {
  const fields = unread(value)
  const id = takeString(fields, 'toolUseId')
  const name = takeString(fields, 'name')
  if (id === undefined || name === undefined || isServerCall(value)) return undefined
  const { input = {} } = fields
  drop(fields, 'input')
  if (fields.type === 'tool_use') drop(fields, 'type')
  const call = restoreCall({ type: 'tool-call', id, name, input: toText(input) }, request)
  return withExtra(call.custom === true ? { ...call, input: customInput(call.input) } : call, 'toolUse', fields)
}

/** Restores the client's name of the tool. `custom` is set where a function replaced a custom tool. */
export function restoreCall(call: ToolCallPart, request: ModelRequest): ToolCallPart {
  const name = restoreToolName(call.name, request, toolNames)
  const renamed = name === call.name ? call : { ...call, name }
  return isCustomTool(name, request) ? { ...renamed, custom: true } : renamed
}

function decodeReasoning(value: JsonObject): Part | undefined {
  const fields = unread(value)
  const redacted = takeString(fields, 'redactedContent')
  if (redacted !== undefined)
    return withExtra(
      { type: 'reasoning', text: '', redacted: true, seal: { issuer: 'converse', data: redacted } },
      'reasoningContent',
      fields,
    )
  if (!isObject(fields.reasoningText)) return undefined
  const inner = unread(fields.reasoningText)
  drop(fields, 'reasoningText')
  const text = takeString(inner, 'text') ?? ''
  const signature = takeString(inner, 'signature')
  const seal = signature === undefined ? {} : { seal: { issuer: 'converse' as const, data: signature } }
  return withExtra({ type: 'reasoning', text, ...seal }, 'reasoningContent', {
    ...leftover(fields),
    ...leftover(inner),
  })
}

/** Decodes text with its sources. */
function decodeCitedText(value: JsonObject): Part | undefined {
  const fields = unread(value)
  if (!Array.isArray(fields.content)) return undefined
  const text = textsIn(fields.content)
  const citations = Array.isArray(fields.citations) ? fields.citations.filter(isObject).map(decodeCitation) : []
  const nonText = fields.content.filter((item) => !isText(item))
  drop(fields, 'content')
  drop(fields, 'citations')
  if (nonText.length > 0) putBack(fields, 'content', nonText)
  return withExtra({ type: 'text', text, ...(citations.length > 0 ? { citations } : {}) }, 'citationsContent', fields)
}

const textsIn = (list: readonly JsonObject[string][]): string =>
  list.map((item) => (isObject(item) && typeof item.text === 'string' ? item.text : '')).join('')

/** Decodes one source. The location within it stays in Bedrock's form. */
export function decodeCitation(source: JsonObject): Citation {
  const { title, source: origin, sourceContent, location, ...rest } = source
  const citation: Citation = {}
  const web = isObject(location) && isObject(location.web) ? location.web : undefined
  const url = typeof web?.url === 'string' ? web.url : origin
  if (typeof url === 'string' && /^https?:/i.test(url)) citation.url = url
  if (typeof title === 'string') citation.title = title
  if (Array.isArray(sourceContent) && sourceContent.length > 0) citation.text = textsIn(sourceContent)
  const extraFields: JsonObject = { ...rest }
  const place = web === undefined ? location : webFieldsBesideUrl(location, web)
  if (place !== undefined) extraFields.location = place
  if (origin !== undefined && origin !== citation.url) extraFields.source = origin
  const nonText = Array.isArray(sourceContent) ? sourceContent.filter((item) => !isText(item)) : []
  if (nonText.length > 0) extraFields.sourceContent = nonText
  if (Object.keys(extraFields).length > 0) citation.extra = { converse: extraFields }
  return citation
}

/** Returns the fields of a web location besides its URL. The domain is a part of the URL. */
function webFieldsBesideUrl(location: Json | undefined, web: JsonObject): JsonObject | undefined {
  const { web: _, ...rest } = isObject(location) ? location : {}
  const { url: _url, domain: _domain, ...otherFields } = web
  return leftover(Object.keys(otherFields).length === 0 ? rest : { ...rest, web: otherFields })
}

const isText = (item: Json): boolean =>
  isObject(item) && typeof item.text === 'string' && Object.keys(item).length === 1

/** Decodes media that a response contains as bytes. Returns undefined for any other source. */
export function decodeMedia(kind: 'image' | 'audio' | 'video', value: JsonObject): Part | undefined {
  const fields = unread(value)
  const format = takeString(fields, 'format')
  const source = isObject(fields.source) ? fields.source : {}
  const { bytes, ...otherFields } = source
  if (typeof bytes !== 'string') return undefined
  drop(fields, 'source')
  if (Object.keys(otherFields).length > 0) putBack(fields, 'source', otherFields)
  const mediaType = format === undefined ? undefined : mediaTypeOf(kind, format)
  return withExtra(
    {
      type: 'media',
      kind,
      source: { type: 'base64', data: bytes },
      ...(mediaType === undefined ? {} : { mediaType }),
    },
    kind,
    fields,
  )
}
