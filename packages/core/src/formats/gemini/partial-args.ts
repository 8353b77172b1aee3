import type { Json, JsonObject } from '../ir.ts'
import { isObject } from '../shared/reader.ts'

/**
 * Arguments that come piece by piece (`partialArgs: [{jsonPath: '$.a.b[0]', stringValue, willContinue}]`), put together.
 * Pieces of one text follow each other; the last may be empty.
 */
export interface PartialCall {
  /** The part as it began: the name, the id, the signature. */
  readonly part: JsonObject
  add(pieces: Json | undefined): void
  /** The part with all its arguments. */
  whole(): JsonObject
}

export function startPartialCall(part: JsonObject): PartialCall {
  const args: JsonObject = {}
  return {
    part,
    add(pieces) {
      for (const piece of Array.isArray(pieces) ? pieces : [])
        if (isObject(piece) && typeof piece.jsonPath === 'string')
          place(args, stepsOf(piece.jsonPath), pieceValue(piece))
    },
    whole() {
      const call = isObject(part.functionCall) ? { ...part.functionCall } : {}
      delete call.partialArgs
      delete call.willContinue
      return { ...part, functionCall: { ...call, args } }
    },
  }
}

function pieceValue(piece: JsonObject): Json {
  for (const key of ['stringValue', 'numberValue', 'boolValue'] as const) {
    const value = piece[key]
    if (value !== undefined) return value
  }
  return null
}

type Step = string | number

/** The steps of a path: `$.items[0].name`, `$['odd key']`. */
function stepsOf(path: string): Step[] {
  const steps: Step[] = []
  for (const [, name, index, quoted] of path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\[['"](.*?)['"]\]/g)) {
    if (index !== undefined) steps.push(Number(index))
    else steps.push(name ?? quoted ?? '')
  }
  return steps
}

/** Items beyond this are no arguments that a model wrote one by one. */
const mostItems = 100_000

function place(root: JsonObject, steps: readonly Step[], value: Json): void {
  let node: Json = root
  for (const [position, step] of steps.entries()) {
    const last = position === steps.length - 1
    const next: Json = typeof steps[position + 1] === 'number' ? [] : {}
    if (Array.isArray(node) && typeof step === 'number' && step <= mostItems) {
      while (node.length < step) node.push(null)
      if (last) node[step] = joined(node[step], value)
      else node = node[step] = descend(node[step], next)
    } else if (isObject(node) && typeof step === 'string' && step !== '__proto__') {
      const known: Json | undefined = Object.hasOwn(node, step) ? node[step] : undefined
      if (last) node[step] = joined(known, value)
      else node = node[step] = descend(known, next)
    } else return
  }
}

const descend = (known: Json | undefined, fresh: Json): Json =>
  Array.isArray(known) || isObject(known) ? known : fresh
const joined = (known: Json | undefined, value: Json): Json =>
  typeof known === 'string' && typeof value === 'string' ? known + value : value
