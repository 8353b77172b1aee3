import { isObject, type JsonObject, pointer } from '../../base/json/json.ts'
import { objectIn } from '../../base/json/parse.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, Nothing, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from '../ir.ts'
import { isGeneratedId } from '../shared/call-ids.ts'
import { append } from '../shared/json-fields.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { inputObject } from '../shared/tools.ts'
import { reportCache } from './fields.ts'
import { encodeMedia } from './media.ts'
import { readSignaturePart, type SignedKind, thoughtSignature, writeSignature } from './seals.ts'

/** Settings for encoding parts. Clients get foreign seals in wrapped form; Google's models do not get them. */
export interface EncodeScope {
  readonly context: CodecContext
  readonly towards: 'client' | 'upstream'
  /** The model accepts media within a function response; otherwise they follow it. */
  readonly mediaInResponses: boolean
  /** Returns the name of the function of a call. */
  readonly functionNameOf: (callId: string) => string | undefined
}

/** Encodes all parts of a turn or a response, with each signature on its part. */
export function encodeParts(parts: readonly Part[], scope: EncodeScope): JsonObject[] {
  const out: JsonObject[] = []
  const moved: JsonObject[] = []
  /** Signatures before their part, because other formats put reasoning first. */
  const early: EarlySignature[] = []
  for (const part of parts) {
    reportHints(part, scope)
    if (part.type === 'tool-result') {
      const result = encodeResult(part, scope)
      out.push({ functionResponse: result.response })
      append(moved, result.moved)
      continue
    }
    const mark = part.type === 'reasoning' ? readSignaturePart(part) : undefined
    if (mark === undefined) {
      const encoded = encodePart(part, scope)
      if (encoded !== undefined) out.push(encoded)
      continue
    }
    const before = out.at(-1)
    if (mark.kind === 'empty' && before !== undefined && before.thought !== true)
      out.push({ text: '', thoughtSignature: mark.signature })
    else if (before !== undefined && acceptsSignature(before, mark.kind)) before.thoughtSignature = mark.signature
    else early.push({ ...mark, at: part.at ?? '' })
  }
  return [...(early.length === 0 ? out : placeEarlySignatures(early, out, scope)), ...moved]
}

/** Returns the parts with the signatures that preceded them. */
function placeEarlySignatures(early: readonly EarlySignature[], parts: JsonObject[], scope: EncodeScope): JsonObject[] {
  // A part that accepts no signature never will, so each kind's search continues where it stopped.
  const search = { text: parts.length - 1, empty: parts.length - 1, media: parts.length - 1 }
  const behind = new Map<JsonObject, JsonObject[]>()
  const last: JsonObject[] = []
  for (const { kind, signature, at } of early) {
    let home = parts[search[kind]]
    while (home !== undefined && !acceptsSignature(home, kind)) home = parts[--search[kind]]
    const empty = { text: '', thoughtSignature: signature }
    if (home !== undefined && kind === 'empty') {
      const others = behind.get(home)
      if (others === undefined) behind.set(home, [empty])
      else others.push(empty)
    } else if (home !== undefined) home.thoughtSignature = signature
    else if (kind !== 'media') last.push(empty)
    else scope.context.report.add(loss(at, 'the image of this signature is missing', 'unsupported', 'note'))
  }
  // The last of several signatures stands next to its part.
  const placed = parts.flatMap((part) => [part, ...(behind.get(part)?.reverse() ?? [])])
  return [...placed, ...last]
}

interface EarlySignature {
  readonly kind: SignedKind
  readonly signature: string
  /** JSON Pointer of the part that held it. */
  readonly at: string
}

function acceptsSignature(part: JsonObject, kind: 'text' | 'empty' | 'media'): boolean {
  if (part.thoughtSignature !== undefined) return false
  if (kind === 'media') return part.inlineData !== undefined || part.fileData !== undefined
  return typeof part.text === 'string' && part.text !== '' && part.thought !== true
}

/** Encodes one part. Returns undefined, and reports it, if the format has no form for it. */
export function encodePart(part: Exclude<Part, { type: 'tool-result' }>, scope: EncodeScope): JsonObject | undefined {
  const { context } = scope
  switch (part.type) {
    case 'text':
      return encodeText(part, context)
    case 'refusal': {
      const { type: _, text, cache: _cache, extra, at = '', ...rest } = part
      rest satisfies Nothing
      context.report.add(loss(at, 'a refusal is plain text in generateContent', 'approximated', 'note'))
      return { ...ownExtra(extra, 'gemini', at, context.report), text }
    }
    case 'reasoning':
      return encodeThought(part, scope)
    case 'media':
      return encodeMedia(part, context, scope.towards)
    case 'tool-call':
      return encodeCall(part, scope)
    case 'native': {
      const { type: _, format, value, incidental, cache: _cache, extra, at = '', ...rest } = part
      rest satisfies Nothing
      ownExtra(extra, 'gemini', at, context.report)
      if (format === 'gemini') return value
      context.report.add(
        loss(
          at,
          `${describePart(part)} has no counterpart in generateContent`,
          'unsupported',
          incidental ? 'note' : 'warn',
        ),
      )
      return undefined
    }
    default:
      return part satisfies never
  }
}

/** Encodes a text without its citations, which stand outside the content; see grounding.ts. */
function encodeText(part: TextPart, context: CodecContext): JsonObject {
  const { type: _, text, citations: _citations, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  return { ...ownExtra(extra, 'gemini', at, context.report), text }
}

function encodeThought(part: ReasoningPart, scope: EncodeScope): JsonObject | undefined {
  const { type: _, text, summary: _summary, redacted, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = scope.context
  const mark = readSignaturePart(part)
  if (mark !== undefined) return { text: '', thoughtSignature: mark.signature }
  const own = ownExtra(extra, 'gemini', at, report)
  const foreign = seal !== undefined && seal.issuer !== 'gemini'
  const withheld = foreign && scope.towards === 'upstream'
  if (withheld) reportWithheld(at, redacted ? 'redacted reasoning' : 'the signature of reasoning', scope)
  if (text === '' && (seal === undefined || withheld) && own === undefined) return undefined
  const out: JsonObject = { ...own }
  if (text !== '' || scope.towards === 'client') out.text = text
  out.thought = true
  const signature = withheld ? undefined : thoughtSignature(part)
  if (signature !== undefined) out.thoughtSignature = signature
  return out
}

function encodeCall(part: ToolCallPart, scope: EncodeScope): JsonObject {
  const { type: _, id, name, input, custom: _custom, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { context, towards } = scope
  const own = ownExtra(extra, 'gemini', at, context.report)
  const call: JsonObject = { ...(isObject(own?.functionCall) ? own.functionCall : undefined) }
  if (id !== '' && !isGeneratedId(id)) call.id = id
  call.name = name
  // Clients read `args` without checking that it exists.
  if (input !== '' || towards === 'client') call.args = inputObject(part, context.report)
  const out: JsonObject = { ...own, functionCall: call }
  if (seal === undefined) return out
  if (seal.issuer === 'gemini' || towards === 'client') out.thoughtSignature = writeSignature(seal)
  else reportWithheld(at, 'the signature of a tool call', scope)
  return out
}

function reportWithheld(at: string, what: string, { context }: EncodeScope): void {
  context.report.add(loss(at, `${what} can be read only by its issuer and was withheld`, 'unsupported', 'note'))
}

/** Reports cache hints and citations, which parts of this format cannot hold. */
function reportHints(part: Part, { context, towards }: EncodeScope): void {
  if (part.cache !== undefined) reportCache(part, context)
  if (towards === 'upstream' && part.type === 'text' && part.citations !== undefined && part.citations.length > 0) {
    const detail = 'citations of an earlier response cannot be sent in a request'
    context.report.add(loss(pointer(part.at ?? '', 'citations'), detail, 'unsupported', 'note'))
  }
}

/** Encodes a function response, and returns the media that must follow it. */
export function encodeResult(part: ToolResultPart, scope: EncodeScope): { response: JsonObject; moved: JsonObject[] } {
  const { type: _, callId, name, parts, isError, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = scope.context
  const texts: string[] = []
  const inside: JsonObject[] = []
  const moved: JsonObject[] = []
  for (const inner of parts) {
    if (inner.type === 'text') texts.push(inner.text)
    else if (inner.type === 'media') {
      const encoded = encodeMedia(inner, scope.context, scope.towards)
      if (encoded === undefined) continue
      if (scope.mediaInResponses) inside.push(encoded)
      else {
        moved.push(encoded)
        report.add(
          loss(
            inner.at ?? at,
            `the model accepts no media in a function response: the ${inner.kind} follows it`,
            'moved',
          ),
        )
      }
    } else if (inner.type === 'native' && inner.format === 'gemini') inside.push(inner.value)
    else report.add(loss(inner.at ?? at, `a function response cannot hold ${describePart(inner)}; it was left out`))
    reportInnerPart(inner, at, scope.context)
  }
  if (texts.length > 1)
    report.add(loss(at, 'the texts of a tool result are joined with line breaks', 'approximated', 'note'))
  const called = name ?? scope.functionNameOf(callId)
  if (called === undefined)
    report.add(
      loss(at, 'the conversation has no call with this id: the response gets the id as its name', 'approximated'),
    )
  const response: JsonObject = { ...ownExtra(extra, 'gemini', at, report) }
  if (callId !== '' && !isGeneratedId(callId)) response.id = callId
  response.name = called ?? (callId === '' ? 'unknown' : callId)
  response.response = wrapText(texts.join('\n'), isError === true)
  if (inside.length > 0) response.parts = inside
  return { response, moved }
}

function wrapText(text: string, isError: boolean): JsonObject {
  const object = objectIn(text)
  if (isError) return { error: object ?? text }
  return object ?? { output: text }
}

function reportInnerPart(part: Part, at: string, context: CodecContext): void {
  if (part.cache !== undefined) reportCache({ at, ...part }, context)
  if (part.type === 'media') return
  ownExtra(part.extra, 'gemini', part.at ?? at, context.report)
  if (part.type === 'text' && part.citations !== undefined && part.citations.length > 0)
    context.report.add(loss(part.at ?? at, 'a function response cannot hold citations', 'unsupported', 'note'))
}

/** Describes a part for a loss report. */
function describePart(part: Part | MediaPart): string {
  if (part.type === 'media') return `a part of ${part.kind}`
  if (part.type !== 'native') return `a ${part.type}`
  const type = part.value.type
  return typeof type === 'string' ? `a ${type} block` : 'a block of another format'
}
