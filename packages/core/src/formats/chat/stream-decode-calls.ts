import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Sealed, ToolCallPart } from '../ir.ts'
import { parseObject } from '../shared/json-text.ts'
import { ObjectScan } from '../shared/object-scan.ts'
import { pointer } from '../shared/pointer.ts'
import { drop, unread } from '../shared/reader.ts'
import { loss } from '../shared/report.ts'
import { reportUnknown, shapeOf } from '../shared/shape.ts'
import { raiseToolName } from '../shared/tool-names.ts'
import { toolNames } from './fields.ts'
import { decodeCallSeal } from './reasoning.ts'
import { substance } from './response-decode.ts'
import type { PartWriter } from './stream-part-writer.ts'

/** Reads the tool calls of one choice from their fragments. */
export interface CallReader {
  push(fragment: JsonObject): void
  /** The last fragment again, with other text: what it comes to is told by who knows that. */
  more(text: string): void
  close(): void
  readonly any: boolean
}

interface Call {
  /** The part's number; undefined while the name has not come. */
  part: number | undefined
  id: string
  name: string
  custom: boolean
  /** Its input so far, and how many pieces of it `scan` has seen. */
  readonly pieces: string[]
  scanned: number
  readonly scan: ObjectScan
  /** Where it stands in the whole answer. */
  readonly at: string
  /** Came before the name. */
  seal?: Sealed
  open: boolean
}

/** The index under which the one call of `function_call` is read. */
export const legacyIndex = -1

/**
 * `index` says which call a fragment belongs to. Some vendors leave it out, or write 0 for each: then a new id begins a
 * new call, and a fragment without id continues the last one.
 *
 * @param message where the choice's message stands in the whole answer
 */
export function createCallReader(writer: PartWriter, context: ExchangeContext, message: string): CallReader {
  const byIndex = new Map<number, Call>()
  const byId = new Map<string, Call>()
  const all: Call[] = []
  /** Calls that may have become whole since the last one began. */
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

  /** Calls mostly come one after another. One whose arguments are whole needs not stay open until the end. */
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
      name: raiseToolName(call.name, context.request, toolNames),
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
            loss(call.at, `arguments that came after the end of the call '${call.name}' were left out`),
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
      // What the first fragment says beside its input goes with the part; the part has left since.
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
    get any() {
      return all.length > 0
    },
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

/** Arguments as text; a few servers send them as an object, whole. */
const inputText = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : stringifyExact(value)

/** Whether the arguments are a JSON object. The text as a whole is parsed once, when its last brace has come. */
function isWhole(call: Call): boolean {
  for (; call.scanned < call.pieces.length; call.scanned++) call.scan.push(call.pieces[call.scanned] as string)
  return call.scan.isClosed && parseObject(call.pieces.join('')) !== undefined
}
