import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ModelEvent, Part, ReasoningPart, TextPart } from '../ir.ts'
import { append, fieldsExcept, setOwn } from '../shared/json-fields.ts'
import { pointer } from '../shared/pointers.ts'
import { objectsIn } from '../shared/report.ts'
import { decodeFinish } from './finish.ts'
import { CitationAllowance, decodeSources } from './grounding.ts'
import { joinLogprobs } from './logprobs.ts'
import { decodePart } from './parts-decode.ts'
import { answerScope, takeLogprobs } from './response-decode.ts'
import { signed } from './seals.ts'
import { respelled } from './spelling.ts'
import { type PartialCall, startPartialCall } from './stream-decode-arguments.ts'
import { finishWord } from './tap.ts'
import { TextOffsets } from './text-offsets.ts'

/** One candidate of a stream, chunk by chunk. */
export interface CandidateDecoder {
  push(candidate: JsonObject, out: ModelEvent[]): void
  /** The candidate read last again, with other text: what it comes to is told by who knows that. */
  more(text: string): void
  /** Whether the candidate read last held nothing but one text. */
  readonly plain: boolean
  /** Closes what is open and tells how the candidate finished. Called once, at the end of the stream. */
  end(out: ModelEvent[]): void
  readonly finished: boolean
}

const candidateFields: ReadonlySet<string> = new Set(['content', 'finishReason', 'finishMessage', 'index'])
const contentFields: ReadonlySet<string> = new Set(['parts', 'role'])

export function createCandidateDecoder(index: number, context: ExchangeContext): CandidateDecoder {
  const scope = answerScope(context)
  const content = `/candidates/${index}/content`
  /** Where the next part stands, to who adds up the stream. */
  const at = (): string => pointer(`${content}/parts`, next)
  let out: ModelEvent[] = []
  let next = 0
  /** The text or the thought that still grows. */
  let open: { type: 'text' | 'reasoning'; part: number } | undefined
  /** The text said last, all of it: sources name their place in it. */
  let text = new TextOffsets()
  let partial: PartialCall | undefined
  let held: ReasoningPart[] = []
  let reason: Json | undefined
  let message: Json | undefined
  let calls = false
  let plain = false
  /** Log probabilities of chunks without text. */
  let loose: JsonObject | undefined
  const extra: JsonObject = {}
  /** Lists and objects in it that were made here. */
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
      loose = joinLogprobs(loose, logprobs)
      return
    }
    release()
    // What else stands on a part makes it a part of its own.
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
    if (signed(part) !== undefined) {
      held.push(part)
      return
    }
    const { seal, ...unsealed } = part
    if (part.text === '' && seal === undefined) return
    release()
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

  /** Signatures of what came before. They wait, because sources that belong to the text too may come in a later chunk. */
  function release(): void {
    if (held.length > 0) close()
    for (const signature of held) end(start(signature))
    held = []
  }

  /** A part that is text and nothing else, as most are. */
  function readPlain(type: 'text' | 'reasoning', value: string, logprobs: JsonObject | undefined): void {
    if (value === '') {
      if (type === 'text') loose = joinLogprobs(loose, logprobs)
      return
    }
    if (held.length > 0) release()
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
    const whole = gather(source)
    if (whole === undefined) return
    for (const part of decodePart(whole, at(), next, scope)) {
      if (part.type === 'text') readText(part, logprobs)
      else if (part.type === 'reasoning') readThought(part)
      else if (part.type === 'tool-call') {
        calls = true
        release()
        close()
        const number = start({ ...part, input: '' })
        if (part.input !== '')
          out.push({ type: 'part-delta', choice: index, part: number, delta: { type: 'input', text: part.input } })
        end(number)
      } else {
        release()
        close()
        end(start(part))
      }
    }
  }

  /** A call whose arguments come in pieces is told when it is whole; every other part at once. */
  function gather(source: JsonObject): JsonObject | undefined {
    const part = respelled(source)
    const call = isObject(part.functionCall) ? respelled(part.functionCall) : undefined
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

  function cite(fields: JsonObject): void {
    if (fields.groundingMetadata === undefined && fields.citationMetadata === undefined) return
    const current = open?.type === 'text' ? open.part : undefined
    allowance ??= new CitationAllowance()
    // In a stream all of the text so far is one part.
    const { of } = decodeSources(fields, () => (current === undefined ? undefined : text), allowance)
    for (const citations of of.values())
      for (const citation of citations)
        if (current !== undefined)
          out.push({ type: 'part-delta', choice: index, part: current, delta: { type: 'citation', citation } })
  }

  return {
    push(candidate, into) {
      out = into
      const fields = respelled(candidate)
      const logprobs = takeLogprobs(fields, index, context.report)
      const said = isObject(fields.content) ? respelled(fields.content) : undefined
      const inner = said?.parts
      const parts = Array.isArray(inner) ? inner : inner === undefined ? [] : [inner]
      // They belong to the chunk's text; where it has none, to the answer.
      const speaking = logprobs === undefined ? undefined : parts.find(speaks)
      if (speaking === undefined) loose = joinLogprobs(loose, logprobs)
      for (const part of objectsIn(parts, `${content}/parts`, context.report))
        readPart(part, part === speaking ? logprobs : undefined)
      if (finishWord(fields.finishReason) !== undefined) reason = fields.finishReason
      if (typeof fields.finishMessage === 'string') message = fields.finishMessage
      cite(fields)
      const inContent = said === undefined ? undefined : fieldsExcept(said, contentFields)
      const beside = fieldsExcept(fields, candidateFields)
      const rest = inContent === undefined ? beside : { ...beside, content: inContent }
      if (rest !== undefined) {
        merged ??= new WeakSet()
        merge(extra, rest, merged)
      }
      const [only] = parts
      plain = logprobs === undefined && rest === undefined && parts.length === 1 && isObject(only) && isPlain(only)
    },
    more(value) {
      if (open?.type === 'text') text.add(value)
    },
    get plain() {
      return plain
    },
    end(into) {
      out = into
      if (partial !== undefined) {
        const left = partial.whole()
        partial = undefined
        readPart(left, undefined)
      }
      release()
      close()
      out.push({
        type: 'choice-end',
        choice: index,
        finish: decodeFinish(reason, message, calls),
        ...(loose === undefined ? {} : { logprobs: loose }),
        ...(Object.keys(extra).length === 0 ? {} : { extra: { gemini: extra } }),
      })
    },
    get finished() {
      return reason !== undefined
    },
  }
}

function isPlain(part: JsonObject): part is { text: string; thought?: boolean } {
  for (const key in part) if (key !== 'text' && key !== 'thought') return false
  const { text, thought } = part
  return typeof text === 'string' && (thought === undefined || typeof thought === 'boolean')
}

const speaks = (part: Json): boolean =>
  isObject(part) && typeof part.text === 'string' && part.text !== '' && part.thought !== true

/**
 * Later chunks add to what earlier ones said: lists grow, texts and numbers are replaced.
 *
 * @param merged lists and objects made here, which grow in place: a copy for each chunk would take quadratic time
 */
function merge(into: JsonObject, later: JsonObject, merged: WeakSet<object>): void {
  for (const key of Object.keys(later)) {
    const before = Object.hasOwn(into, key) ? into[key] : undefined
    const value = later[key] ?? null
    if (isObject(before) && isObject(value)) {
      const both = ownCopy(before, merged, () => ({ ...before }))
      merge(both, value, merged)
      setOwn(into, key, both)
    } else if (Array.isArray(before) && Array.isArray(value) && key.startsWith('grounding')) {
      const both = ownCopy(before, merged, () => [...before])
      append(both, value)
      setOwn(into, key, both)
    } else setOwn(into, key, value)
  }
}

function ownCopy<T extends object>(value: T, merged: WeakSet<object>, copy: () => T): T {
  if (merged.has(value)) return value
  const made = copy()
  merged.add(made)
  return made
}
