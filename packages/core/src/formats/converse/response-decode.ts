import { errorOf, GatewayError } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Choice, Citation, ModelRequest, ModelResponse, NativePart, Part, ToolCallPart } from '../ir.ts'
import { drop, leftover, putBack, setOwn, takeString, toText, type Unread, unread } from '../shared/json-fields.ts'
import { restoreToolName } from '../shared/names.ts'
import { pointer } from '../shared/pointers.ts'
import { objectsIn, reportUnknown, shapeOf } from '../shared/report.ts'
import { customInput, isCustomTool } from '../shared/tools.ts'
import { decodeUsage, toolNames } from './fields.ts'
import { decodeFinish } from './finish.ts'
import { mediaTypeOf } from './media.ts'
import { tapResponse } from './wire.ts'

/** Takes whatever Bedrock sends, as far as it goes. */
export function decodeResponse(body: Json, context: ExchangeContext): ModelResponse {
  const { error } = isObject(body) ? tapResponse(body) : {}
  if (error !== undefined) throw errorOf(error)
  const message = isObject(body) && isObject(body.output) ? body.output.message : undefined
  if (!isObject(body) || !isObject(message) || !Array.isArray(message.content))
    throw new GatewayError('upstream_bad_response', 'The upstream answered 200 with something that is no message.')
  const { report } = context
  reportUnknown(body.output as JsonObject, outputShape, '/output', report)
  if (isObject(body.serviceTier)) reportUnknown(body.serviceTier, tierShape, '/serviceTier', report)
  const parts = objectsIn(message.content, '/output/message/content', report).map((block, index) =>
    decodeBlock(block, blockAt(index), context.request),
  )
  const fields = unread(body)
  const choice: Choice = { parts, finish: decodeFinish(fields.stopReason, fields.additionalModelResponseFields) }
  const response: ModelResponse = { id: '', model: '', created: 0, choices: [choice] }
  put(response, 'usage', decodeUsage(fields.usage))
  put(response, 'serviceTier', decodeTier(fields.serviceTier))
  for (const key of ['output', 'stopReason', 'usage', 'serviceTier']) drop(fields, key)
  const extra = endingExtra(leftover(fields) ?? {})
  if (extra !== undefined) choice.extra = { converse: extra }
  return response
}

const outputShape = shapeOf({ message: { role: true, content: true } })

export const tierShape = shapeOf({ type: true })

/** The tier that served the call. */
export const decodeTier = (tier: Json | undefined): string | undefined =>
  isObject(tier) && typeof tier.type === 'string' ? tier.type : undefined

/** What an answer says at its end beyond what has a name in other formats; the sequence that ended it has one. */
export function endingExtra(fields: JsonObject): JsonObject | undefined {
  const rest: JsonObject = {}
  for (const [key, value] of Object.entries(fields)) {
    // Of padding nothing is lost.
    if (value === null || key === 'p') continue
    if (key === 'additionalModelResponseFields' && isObject(value)) {
      const { stop_sequence: _, ...others } = value
      if (Object.keys(others).length > 0) rest[key] = others
    } else setOwn(rest, key, value)
  }
  return leftover(rest)
}

/** Where the blocks of an answer stand. */
export const blockAt = (index: number): string => pointer('/output/message/content', index)

/** One block of an answer. What has no meaning in other formats is kept whole. */
export function decodeBlock(block: JsonObject, at: string, request: ModelRequest): Part {
  const part = decodeKnown(block, at, request) ?? nativeBlock(block)
  part.at = at
  return part
}

export const nativeBlock = (value: JsonObject): NativePart => ({ type: 'native', format: 'converse', value })

/** A block is a union: one field, which names its kind. Undefined: not in a shape that has a meaning elsewhere. */
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
      return decodeCited(value)
    case 'image':
    case 'audio':
    case 'video':
      return decodeMedia(kind, value)
    default:
      return undefined
  }
}

/** What nobody read of a block stands under its kind, as in the block. */
function withExtra<T extends Part>(part: T, kind: string, fields: Unread): T {
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { converse: { [kind]: rest } }
  return part
}

/** Whether a call is one that Bedrock makes itself. Those of the client may say `tool_use`, or nothing. */
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

/** A call under the client's own name of the tool; `custom` where a function stood for a custom tool. */
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

/** Text with its sources. */
function decodeCited(value: JsonObject): Part | undefined {
  const fields = unread(value)
  if (!Array.isArray(fields.content)) return undefined
  const text = textsIn(fields.content)
  const citations = Array.isArray(fields.citations) ? fields.citations.filter(isObject).map(decodeCitation) : []
  const others = fields.content.filter((item) => !isText(item))
  drop(fields, 'content')
  drop(fields, 'citations')
  if (others.length > 0) putBack(fields, 'content', others)
  return withExtra({ type: 'text', text, ...(citations.length > 0 ? { citations } : {}) }, 'citationsContent', fields)
}

const textsIn = (list: readonly JsonObject[string][]): string =>
  list.map((item) => (isObject(item) && typeof item.text === 'string' ? item.text : '')).join('')

/** One source. Where in it stands in Bedrock's own words. */
export function decodeCitation(source: JsonObject): Citation {
  const { title, source: origin, sourceContent, location, ...rest } = source
  const citation: Citation = {}
  const web = isObject(location) && isObject(location.web) ? location.web : undefined
  const url = typeof web?.url === 'string' ? web.url : origin
  if (typeof url === 'string' && /^https?:/i.test(url)) citation.url = url
  if (typeof title === 'string') citation.title = title
  if (Array.isArray(sourceContent) && sourceContent.length > 0) citation.text = textsIn(sourceContent)
  const own: JsonObject = { ...rest }
  const place = web === undefined ? location : besideAddress(location, web)
  if (place !== undefined) own.location = place
  if (origin !== undefined && origin !== citation.url) own.source = origin
  const others = Array.isArray(sourceContent) ? sourceContent.filter((item) => !isText(item)) : []
  if (others.length > 0) own.sourceContent = others
  if (Object.keys(own).length > 0) citation.extra = { converse: own }
  return citation
}

/** What the location of a web page says beside its address, of which the domain is a part. */
function besideAddress(location: Json | undefined, web: JsonObject): JsonObject | undefined {
  const { web: _, ...rest } = isObject(location) ? location : {}
  const { url: _url, domain: _domain, ...beside } = web
  return leftover(Object.keys(beside).length === 0 ? rest : { ...rest, web: beside })
}

const isText = (item: Json): boolean =>
  isObject(item) && typeof item.text === 'string' && Object.keys(item).length === 1

export function decodeMedia(kind: 'image' | 'audio' | 'video', value: JsonObject): Part | undefined {
  const fields = unread(value)
  const format = takeString(fields, 'format')
  const source = isObject(fields.source) ? fields.source : {}
  const { bytes, ...beside } = source
  if (typeof bytes !== 'string') return undefined
  drop(fields, 'source')
  if (Object.keys(beside).length > 0) putBack(fields, 'source', beside)
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
