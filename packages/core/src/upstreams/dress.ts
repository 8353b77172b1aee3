import { GatewayError } from '../errors.ts'
import type { Json, JsonObject } from '../formats/ir.ts'
import { isObject } from '../formats/shared/reader.ts'
import { editJson } from '../json/edit.ts'
import { scanJson } from '../json/scan.ts'
import type { BodyEdit, Hosting } from './upstream.ts'

/** What a target's configuration says of the body. */
export interface BodyWishes {
  readonly defaults?: JsonObject | undefined
  readonly overrides?: JsonObject | undefined
}

export interface DressCall {
  readonly model: string
  readonly stream: boolean
  header(name: string): string | undefined
  /** Told of each field of the body that is replaced though it said something else. */
  replaced(field: string): void
}

/**
 * A request's body as one particular upstream takes it: with its target's defaults and overrides, and with what a host of
 * other vendors' models wants said differently. Bodies that nobody has a wish for are not even read.
 */
export function dress(
  body: string | Uint8Array,
  wishes: BodyWishes,
  hosting: Hosting | undefined,
  call: DressCall,
): string | Uint8Array {
  const { defaults, overrides } = wishes
  if (defaults === undefined && overrides === undefined && hosting?.edit === undefined) return body
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const value = JSON.parse(text) as Json
  if (!isObject(value)) throw new GatewayError('internal', 'A body that is no object cannot be edited.')
  const set: JsonObject = {}
  const drop: string[] = []
  for (const [field, wish] of Object.entries(defaults ?? {})) {
    const own = value[field]
    if (own === undefined) set[field] = wish
    else if (isObject(own) && isObject(wish)) set[field] = merge(wish, own)
  }
  for (const [field, wish] of Object.entries(overrides ?? {})) {
    const own = value[field]
    if (wish === null) {
      delete set[field]
      drop.push(field)
      if (own !== undefined) call.replaced(field)
      continue
    }
    const base = set[field] ?? own
    set[field] = isObject(base) && isObject(wish) ? merge(base, wish) : wish
    if (own !== undefined && contradicts(own, wish)) call.replaced(field)
  }
  const dressed: JsonObject = { ...value, ...set }
  for (const field of drop) delete dressed[field]
  const edit: BodyEdit = hosting?.edit?.({ body: dressed, ...call }) ?? {}
  for (const field of edit.drop ?? []) delete set[field]
  const wanted: JsonObject = { ...set, ...edit.set }
  const unwanted = [...drop.filter((field) => edit.set?.[field] === undefined), ...(edit.drop ?? [])]
  if (Object.keys(wanted).length === 0 && unwanted.length === 0) return body
  return editJson(text, scanJson(text, Number.POSITIVE_INFINITY).members, wanted, unwanted)
}

/** `over` wins; `null` in it takes a field out. */
function merge(under: JsonObject, over: JsonObject): JsonObject {
  const merged: JsonObject = { ...under }
  for (const [field, value] of Object.entries(over)) {
    const own = merged[field]
    if (value === null) delete merged[field]
    else merged[field] = isObject(own) && isObject(value) ? merge(own, value) : value
  }
  return merged
}

/** Whether a wish leaves something else there than stood there; what it only adds contradicts nothing. */
function contradicts(own: Json, wish: Json): boolean {
  if (isObject(own) && isObject(wish))
    return Object.entries(wish).some(([field, value]) => own[field] !== undefined && contradicts(own[field], value))
  return JSON.stringify(own) !== JSON.stringify(wish)
}
