import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ModelEvent, Part, ReasoningPart, TextPart } from '../ir.ts'
import { append, fieldsExcept, setOwn } from '../shared/json-fields.ts'
import { objectsIn } from '../shared/report.ts'
import { decodeFinish } from './finish.ts'
import { CitationAllowance, decodeSources } from './grounding.ts'
import { joinLogprobs } from './logprobs.ts'
import { decodePart } from './parts-decode.ts'
import { responseScope, takeLogprobs } from './response-decode.ts'
import { readSignaturePart } from './seals.ts'
import { inCamelCase } from './spelling.ts'
import { type PartialCall, startPartialCall } from './stream-decode-arguments.ts'
import { finishReasonName } from './tap.ts'
import { TextOffsets } from './text-offsets.ts'

/** Decodes one candidate of a stream, chunk by chunk. */
export interface CandidateDecoder {
  push(candidate: JsonObject, out: ModelEvent[]): void
  /** Records the text of a chunk that equals the last one except in its text. The caller has written its delta. */
  addText(text: string): void
  /** Returns whether the last chunk held nothing but one text. */
  isPlainText(): boolean
  /** Ends the open part and writes `choice-end`. Called once, at the end of the stream. */
  end(out: ModelEvent[]): void
  isFinished(): boolean
}

const candidateFields: ReadonlySet<string> = new Set(['content', 'finishReason', 'finishMessage', 'index'])
const contentFields: ReadonlySet<string> = new Set(['parts', 'role'])

/** Creates the decoder of one candidate. */
export function createCandidateDecoder(index: number, context: ExchangeContext): CandidateDecoder {
  const scope = responseScope(context)
  const content = `/candidates/${index}/content`
  /** Returns the JSON Pointer of the next part in the folded response. */
  const at = (): string => pointer(`${content}/parts`, next)
  let out: ModelEvent[] = []
  let next = 0
  /** The text or thought that is still growing. */
  let open: { type: 'text' | 'reasoning'; part: number } | undefined
  /** The whole last text, into which sources hold offsets. */
  let text = new TextOffsets()
  let partial: PartialCall | undefined
  let heldSignatures: ReasoningPart[] = []
  let reason: Json | undefined
  let message: Json | undefined
  let calls = false
  let plain = false
  /** Log probabilities of chunks without text. */
  let looseLogprobs: JsonObject | undefined
  const extra: JsonObject = {}
  /** Lists and objects within `extra` that were copied here, so that they can grow in place. */
  let merged: WeakSet<object> | undefined
  let allowance: CitationAllowance | undefined

  function start(value: Part): number {
    out.push({ type: 'part-start', choice: index, part: next, value })
    return next++
  }
  const end = (part: number): void => {
    out.push({ type: 'part-end', choice: index, part })
  }
  function close(): void {
    if (open !== undefined) end(open.part)
    open = undefined
  }
  function begin(type: 'text' | 'reasoning', value: Part): number {
    if (open?.type !== type) {
      close()
      open = { type, part: start(value) }
      if (type === 'text') text = new TextOffsets()
    }
    return open.part
  }

  function readText(part: TextPart, logprobs: JsonObject | undefined): void {
    if (part.text === '' && part.extra === undefined) {
      looseLogprobs = joinLogprobs(looseLogprobs, logprobs)
      return
    }
    writeHeldSignatures()
    // A text with other fields is a separate part.
    if (part.extra !== undefined) close()
    const number = begin('text', { ...part, text: '' })
    text.add(part.text)
    out.push({
      type: 'part-delta',
      choice: index,
      part: number,
      delta: logprobs === undefined ? { type: 'text', text: part.text } : { type: 'text', text: part.text, logprobs },
    })
  }

  function readThought(part: ReasoningPart): void {
    if (readSignaturePart(part) !== undefined) {
      heldSignatures.push(part)
      return
    }
    const { seal, ...unsealed } = part
    if (part.text === '' && seal === undefined) return
    writeHeldSignatures()
    if (part.redacted) {
      close()
      end(start(part))
      return
    }
    const number = begin('reasoning', { ...unsealed, text: '' })
    if (part.text !== '')
      out.push({ type: 'part-delta', choice: index, part: number, delta: { type: 'reasoning', text: part.text } })
    if (seal === undefined) return
    out.push({ type: 'part-delta', choice: index, part: number, delta: { type: 'seal', seal } })
    close()
  }

  /** Writes signatures of earlier parts. They wait, because sources of the text may arrive in a later chunk. */
  function writeHeldSignatures(): void {
    if (heldSignatures.length > 0) close()
    for (const signature of heldSignatures) end(start(signature))
    heldSignatures = []
  }

  /** Decodes a part with a text and nothing else, as most are. */
  function readPlain(type: 'text' | 'reasoning', value: string, logprobs: JsonObject | undefined): void {
    if (value === '') {
      if (type === 'text') looseLogprobs = joinLogprobs(looseLogprobs, logprobs)
      return
    }
    if (heldSignatures.length > 0) writeHeldSignatures()
    const part = open?.type === type ? open.part : begin(type, { type, text: '', at: at() })
    if (type === 'text') text.add(value)
    out.push({
      type: 'part-delta',
      choice: index,
      part,
      delta: logprobs === undefined ? { type, text: value } : { type, text: value, logprobs },
    })
  }

  function readPart(source: JsonObject, logprobs: JsonObject | undefined): void {
    if (isPlain(source)) {
      readPlain(source.thought === true ? 'reasoning' : 'text', source.text, logprobs)
      return
    }
    const whole = collectCall(source)
    if (whole === undefined) return
    for (const part of decodePart(whole, at(), next, scope)) {
      if (part.type === 'text') readText(part, logprobs)
      else if (part.type === 'reasoning') readThought(part)
      else if (part.type === 'tool-call') {
        calls = true
        writeHeldSignatures()
        close()
        const number = start({ ...part, input: '' })
        if (part.input !== '')
          out.push({ type: 'part-delta', choice: index, part: number, delta: { type: 'input', text: part.input } })
        end(number)
      } else {
        writeHeldSignatures()
        close()
        end(start(part))
      }
    }
  }

  /** Returns a part once it is complete: a call with partial arguments is held until its last piece. */
  function collectCall(source: JsonObject): JsonObject | undefined {
    const part = inCamelCase(source)
    const call = isObject(part.functionCall) ? inCamelCase(part.functionCall) : undefined
    if (call === undefined) return part
    const more = call.willContinue === true
    if (partial === undefined) {
      if (!more && call.partialArgs === undefined) return part
      partial = startPartialCall(part)
    }
    partial.add(call.partialArgs)
    if (more) return undefined
    const whole = partial.whole()
    partial = undefined
    return whole
  }

  function writeCitations(fields: JsonObject): void {
    if (fields.groundingMetadata === undefined && fields.citationMetadata === undefined) return
    const current = open?.type === 'text' ? open.part : undefined
    allowance ??= new CitationAllowance()
    // In a stream all text so far is one part.
    const { byPart } = decodeSources(fields, () => (current === undefined ? undefined : text), allowance)
    for (const citations of byPart.values())
      for (const citation of citations)
        if (current !== undefined)
          out.push({ type: 'part-delta', choice: index, part: current, delta: { type: 'citation', citation } })
  }

  return {
    push(candidate, into) {
      out = into
      const fields = inCamelCase(candidate)
      const logprobs = takeLogprobs(fields, index, context.report)
      const body = isObject(fields.content) ? inCamelCase(fields.content) : undefined
      const inner = body?.parts
      const parts = Array.isArray(inner) ? inner : inner === undefined ? [] : [inner]
      // They belong to the chunk's text, or to the choice if the chunk has none.
      const speaking = logprobs === undefined ? undefined : parts.find(hasText)
      if (speaking === undefined) looseLogprobs = joinLogprobs(looseLogprobs, logprobs)
      for (const part of objectsIn(parts, `${content}/parts`, context.report))
        readPart(part, part === speaking ? logprobs : undefined)
      if (finishReasonName(fields.finishReason) !== undefined) reason = fields.finishReason
      if (typeof fields.finishMessage === 'string') message = fields.finishMessage
      writeCitations(fields)
      const inContent = body === undefined ? undefined : fieldsExcept(body, contentFields)
      const otherFields = fieldsExcept(fields, candidateFields)
      const rest = inContent === undefined ? otherFields : { ...otherFields, content: inContent }
      if (rest !== undefined) {
        merged ??= new WeakSet()
        merge(extra, rest, merged)
      }
      const [only] = parts
      plain = logprobs === undefined && rest === undefined && parts.length === 1 && isObject(only) && isPlain(only)
    },
    addText(value) {
      if (open?.type === 'text') text.add(value)
    },
    isPlainText: () => plain,
    end(into) {
      out = into
      if (partial !== undefined) {
        const left = partial.whole()
        partial = undefined
        readPart(left, undefined)
      }
      writeHeldSignatures()
      close()
      out.push({
        type: 'choice-end',
        choice: index,
        finish: decodeFinish(reason, message, calls),
        ...(looseLogprobs === undefined ? {} : { logprobs: looseLogprobs }),
        ...(Object.keys(extra).length === 0 ? {} : { extra: { gemini: extra } }),
      })
    },
    isFinished: () => reason !== undefined,
  }
}

function isPlain(part: JsonObject): part is { text: string; thought?: boolean } {
  for (const key in part) if (key !== 'text' && key !== 'thought') return false
  const { text, thought } = part
  return typeof text === 'string' && (thought === undefined || typeof thought === 'boolean')
}

const hasText = (part: Json): boolean =>
  isObject(part) && typeof part.text === 'string' && part.text !== '' && part.thought !== true

/**
 * Merges fields of a later chunk: lists grow, texts and numbers are replaced.
 *
 * @param merged lists and objects that were copied here and grow in place: a copy for each chunk would take quadratic time
 */
function merge(into: JsonObject, later: JsonObject, merged: WeakSet<object>): void {
  for (const key of Object.keys(later)) {
    const before = Object.hasOwn(into, key) ? into[key] : undefined
    const value = later[key] ?? null
    if (isObject(before) && isObject(value)) {
      const both = mutableCopy(before, merged, () => ({ ...before }))
      merge(both, value, merged)
      setOwn(into, key, both)
    } else if (Array.isArray(before) && Array.isArray(value) && key.startsWith('grounding')) {
      const both = mutableCopy(before, merged, () => [...before])
      append(both, value)
      setOwn(into, key, both)
    } else setOwn(into, key, value)
  }
}

function mutableCopy<T extends object>(value: T, merged: WeakSet<object>, copy: () => T): T {
  if (merged.has(value)) return value
  const made = copy()
  merged.add(made)
  return made
}
