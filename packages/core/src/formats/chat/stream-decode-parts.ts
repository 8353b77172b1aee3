import { isObject, type Json, type JsonObject, pointer, stringifyExact } from '../../base/json/json.ts'
import { parseObject } from '../../base/json/parse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Delta, Part, Report, Sealed, ToolCallPart } from '../ir.ts'
import { drop, unread } from '../shared/json-fields.ts'
import { restoreToolName } from '../shared/names.ts'
import { loss, reportField, reportUnknown, shapeOf } from '../shared/report.ts'
import { toolNames } from './fields.ts'
import { decodeCallSeal, decodeDetails } from './reasoning.ts'
import { substance } from './response-decode.ts'

/** Decodes the tool calls of one choice from fragments. */
export interface CallReader {
  push(fragment: JsonObject): void
  /** Adds text of a chunk that matched the template. The caller emits its event. */
  more(text: string): void
  close(): void
  hasCalls(): boolean
}

interface Call {
  /** The part's number; undefined until the name arrives. */
  part: number | undefined
  id: string
  name: string
  custom: boolean
  /** The input so far, and the number of its pieces that `scan` has read. */
  readonly pieces: string[]
  scanned: number
  readonly scan: ObjectScan
  /** JSON Pointer in the whole response. */
  readonly at: string
  /** Input that arrived before the name. */
  seal?: Sealed
  open: boolean
}

/** Index for the only call of `function_call`. */
export const legacyIndex = -1

/**
 * Creates the decoder. `index` assigns fragments to calls. Some providers omit it or always write 0: then a new id begins a new call, and a
 * fragment without id continues the last one.
 *
 * @param message JSON Pointer of the choice's message in the whole response
 */
export function createCallReader(writer: PartWriter, context: ExchangeContext, message: string): CallReader {
  const byIndex = new Map<number, Call>()
  const byId = new Map<string, Call>()
  const all: Call[] = []
  /** Calls that may be complete since the last one began. */
  const grown = new Set<Call>()
  let last: Call | undefined
  const legacyAt = pointer(message, 'function_call')

  function callOf(fragment: JsonObject): Call {
    const id = typeof fragment.id === 'string' ? fragment.id : ''
    const index = typeof fragment.index === 'number' ? fragment.index : undefined
    const known =
      index === undefined
        ? id === ''
          ? beginsCall(fragment)
            ? undefined
            : all[all.length - 1]
          : byId.get(id)
        : byIndex.get(index)
    if (known !== undefined && (id === '' || known.id === '' || known.id === id || !beginsCall(fragment))) return known
    const call: Call = {
      part: undefined,
      id,
      name: '',
      custom: false,
      pieces: [],
      scanned: 0,
      scan: new ObjectScan(),
      at: index === legacyIndex ? legacyAt : `${message}/tool_calls/${all.length}`,
      open: true,
    }
    closeComplete()
    all.push(call)
    nameCall(call, id)
    if (index !== undefined) byIndex.set(index, call)
    return call
  }

  /** Ends calls with complete arguments when the next one begins. */
  function closeComplete(): void {
    for (const call of grown) if (call.open && call.part !== undefined && !call.custom && isWhole(call)) end(call)
    grown.clear()
  }

  function nameCall(call: Call, id: string): void {
    call.id = id
    if (id !== '' && !byId.has(id)) byId.set(id, call)
  }

  function grow(call: Call, text: string): void {
    call.pieces.push(text)
    grown.add(call)
  }

  function start(call: Call, extra: JsonObject | undefined): void {
    const part: ToolCallPart = {
      type: 'tool-call',
      id: call.id === '' ? context.newId('call_') : call.id,
      name: restoreToolName(call.name, context.request, toolNames),
      input: '',
      at: call.at,
    }
    if (call.custom) part.custom = true
    if (call.seal !== undefined) part.seal = call.seal
    if (extra !== undefined) part.extra = { chat: extra }
    call.part = writer.start(part)
    if (call.pieces.length > 0) writer.delta(call.part, { type: 'input', text: call.pieces.join('') })
  }

  function end(call: Call): void {
    if (call.part === undefined) start(call, undefined)
    if (call.open && call.part !== undefined) writer.end(call.part)
    call.open = false
  }

  return {
    push(fragment) {
      const call = callOf(fragment)
      last = call
      const custom =
        isObject(fragment.custom) && (fragment.type === 'custom' || call.custom || !isObject(fragment.function))
      const inner = custom ? fragment.custom : fragment.function
      const isLegacy = call.at === legacyAt
      if (isObject(inner))
        reportUnknown(
          inner,
          inputShape,
          isLegacy ? call.at : pointer(call.at, custom ? 'custom' : 'function'),
          context.report,
        )
      if (custom) call.custom = true
      if (call.id === '' && typeof fragment.id === 'string') nameCall(call, fragment.id)
      const name = isObject(inner) && typeof inner.name === 'string' ? inner.name : ''
      if (call.name === '') call.name = name
      const text = isObject(inner) ? inputText(custom ? inner.input : inner.arguments) : ''
      if (!call.open) {
        if (text.trim() !== '')
          context.report.add(
            loss(call.at, `arguments that arrived after the end of the call '${call.name}' were left out`),
          )
        reportUnknown(fragment, fragmentShape, call.at, context.report)
        return
      }
      if (text !== '') grow(call, text)
      const seal = isObject(fragment.extra_content) ? decodeCallSeal(fragment.extra_content) : undefined
      if (call.part === undefined) {
        if (seal !== undefined) call.seal = seal
        if (call.name !== '') start(call, extraOf(fragment))
        else reportUnknown(fragment, fragmentShape, call.at, context.report)
        return
      }
      // Other fields of the first fragment belong to the part, which was already emitted.
      reportUnknown(fragment, fragmentShape, call.at, context.report)
      if (text !== '') writer.delta(call.part, { type: 'input', text })
      if (seal !== undefined) writer.delta(call.part, { type: 'seal', seal })
    },
    more(text) {
      if (last !== undefined) grow(last, text)
    },
    close() {
      for (const call of all) if (call.open) end(call)
    },
    hasCalls: () => all.length > 0,
  }
}

const fragmentShape = shapeOf({
  index: true,
  id: true,
  type: true,
  function: true,
  custom: true,
  extra_content: true,
})
const inputShape = shapeOf({ name: true, arguments: true, input: true })

function extraOf(fragment: JsonObject): JsonObject | undefined {
  const fields = unread(fragment)
  for (const key of ['index', 'id', 'type', 'function', 'custom', 'extra_content']) drop(fields, key)
  return substance(fields)
}

function beginsCall(fragment: JsonObject): boolean {
  const inner = fragment.function ?? fragment.custom
  return isObject(inner) && typeof inner.name === 'string' && inner.name !== ''
}

/** Returns the arguments as text. A few servers send a whole object. */
const inputText = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : stringifyExact(value)

/** Returns whether the arguments are a JSON object. The text is parsed once, after its last brace. */
function isWhole(call: Call): boolean {
  for (; call.scanned < call.pieces.length; call.scanned++) call.scan.push(call.pieces[call.scanned] as string)
  return call.scan.isClosed && parseObject(call.pieces.join('')) !== undefined
}

/** Decodes the reasoning of one choice: plain text, `reasoning_details`, or both. */
export interface ReasoningReader {
  text(text: string): void
  /** Adds text of a chunk that matched the template. The caller emits its event. */
  more(text: string): void
  /** `plain`: the same reasoning as plain text of the same chunk. */
  details(details: readonly Json[], plain: string): void
  close(): void
}

/** @param at JSON Pointer of the reasoning in the whole response */
export function createReasoningReader(writer: PartWriter, at: string, report: Report): ReasoningReader {
  let open: { part: number; text: string; sealed: boolean; key: string } | undefined
  /** Seals that were already emitted: lists may be cumulative. */
  const seen = new Set<string>()
  /** Texts of ended parts, for the same reason. */
  const emitted = new Set<string>()

  function close(): void {
    if (open === undefined) return
    emitted.add(open.text)
    writer.end(open.part)
    open = undefined
  }

  function begin(key: string, summary: boolean): NonNullable<typeof open> {
    close()
    const part = writer.start({ type: 'reasoning', text: '', ...(summary ? { summary: true } : {}), at })
    open = { part, text: '', sealed: false, key }
    return open
  }

  function text(value: string, key = 'text', summary = false): void {
    if (value === '') return
    const current = open === undefined || open.sealed || open.key !== key ? begin(key, summary) : open
    current.text += value
    writer.delta(current.part, { type: 'reasoning', text: value })
  }

  return {
    text,
    more(text) {
      if (open !== undefined) open.text += text
    },
    details(details, plain) {
      let hasText = false
      for (const part of decodeDetails(details, at.replace(/[^/]*$/, 'reasoning_details'))) {
        reportOwn(part, report)
        if (part.seal !== undefined && seen.has(part.seal.data)) continue
        // The text was already emitted, as plain text or from a cumulative list: only the seal is new.
        const repeated =
          part.text !== '' &&
          (plain === '' ? open?.text === part.text || (open === undefined && emitted.has(part.text)) : false)
        if (part.redacted) {
          close()
          if (part.seal !== undefined) seen.add(part.seal.data)
          writer.end(writer.start(part))
          continue
        }
        if (part.text !== '' && !repeated) {
          hasText = true
          text(part.text, part.summary ? 'summary' : 'text', part.summary === true)
        }
        if (part.seal === undefined) continue
        seen.add(part.seal.data)
        const current = open === undefined || open.sealed ? begin('text', part.summary === true) : open
        current.sealed = true
        writer.delta(current.part, { type: 'seal', seal: part.seal })
      }
      if (!hasText) text(plain)
    },
    close,
  }
}

/** Reports other fields of an entry: its part may have been emitted long before. */
export function reportOwn(part: Part, report: Report): void {
  for (const key of Object.keys(part.extra?.chat ?? {}))
    reportField(key, part.at ?? '', report, part.extra?.chat?.[key])
}

/** Numbers the parts of a choice and emits their events. */
export interface PartWriter {
  start(value: Part): number
  delta(part: number, delta: Delta): void
  end(part: number): void
}

const quote = 34
const backslash = 92

/** Tracks the brackets of a JSON object over its pieces, to find its end. Linear: parsing the text for each piece would take quadratic time. */
class ObjectScan {
  #depth = 0
  #inString = false
  #isEscaped = false
  #isClosed = false
  #isBroken = false

  /** Returns whether the object is complete, with only white space around it. */
  get isClosed(): boolean {
    return this.#isClosed && !this.#isBroken
  }

  push(text: string): void {
    for (let at = 0; at < text.length && !this.#isBroken; at++) {
      const code = text.charCodeAt(at)
      if (this.#inString) this.#inText(code)
      else if (code > 32) this.#outsideText(code)
    }
  }

  #inText(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === backslash) this.#isEscaped = true
    else if (code === quote) this.#inString = false
  }

  #outsideText(code: number): void {
    if (this.#isClosed) this.#isBroken = true
    else if (code === 123 || code === 91) this.#depth++
    else if (this.#depth === 0) this.#isBroken = true
    else if (code === quote) this.#inString = true
    else if (code === 125 || code === 93) this.#isClosed = --this.#depth === 0
  }
}
