import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { setOwn } from '../shared/json-fields.ts'

/**
 * Joins the arguments of a call that arrive in pieces (`partialArgs: [{jsonPath: '$.a.b[0]', stringValue, willContinue}]`).
 * Pieces of one text are adjacent; the last may be empty.
 */
export interface PartialCall {
  /** The first part, with name, id and signature. */
  readonly part: JsonObject
  add(pieces: Json | undefined): void
  /** Returns the part with all arguments. */
  whole(): JsonObject
}

/** Starts a call with its first part. `add` throws `upstream_bad_response` for paths beyond the limits. */
export function startPartialCall(part: JsonObject): PartialCall {
  const args: JsonObject = {}
  const gaps: Gaps = { left: maxGaps }
  return {
    part,
    add(pieces) {
      for (const piece of Array.isArray(pieces) ? pieces : [])
        if (isObject(piece) && typeof piece.jsonPath === 'string')
          setAt(args, stepsOf(piece.jsonPath), pieceValue(piece), gaps)
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

/** Nesting that every recursive function over the arguments survives. */
const maxLevels = 1000

/** Parses a path: `$.items[0].name`, `$['odd key']`. Each character is read once. */
function stepsOf(path: string): Step[] {
  const steps: Step[] = []
  let at = 0
  while (at < path.length && steps.length <= maxLevels) {
    const end = path[at] === '.' ? readName(path, at, steps) : path[at] === '[' ? readIndex(path, at, steps) : at
    // Other characters are skipped.
    at = end > at ? end : at + 1
  }
  return steps
}

/** Reads `.name`. Returns its end, or `at` if there is no name. */
function readName(path: string, at: number, steps: Step[]): number {
  let end = at + 1
  while (end < path.length && path[end] !== '.' && path[end] !== '[' && path[end] !== ']') end++
  if (end === at + 1) return at
  steps.push(path.slice(at + 1, end))
  return end
}

/** Reads `[0]` or `['odd key']`. Returns its end: the path's end if the bracket never closes, `at` for anything else. */
function readIndex(path: string, at: number, steps: Step[]): number {
  const first = path[at + 1]
  if (first === "'" || first === '"') {
    for (let end = at + 2; end + 1 < path.length; end++)
      if ((path[end] === "'" || path[end] === '"') && path[end + 1] === ']') {
        steps.push(path.slice(at + 2, end))
        return end + 2
      }
    return path.length
  }
  let end = at + 1
  while (path.charCodeAt(end) >= 48 && path.charCodeAt(end) <= 57) end++
  if (end === at + 1 || path[end] !== ']') return at
  steps.push(Number(path.slice(at + 1, end)))
  return end + 1
}

/** List items that the arguments of one call may skip in total. Models write items in order. */
const maxGaps = 100_000
interface Gaps {
  left: number
}

function setAt(root: JsonObject, steps: readonly Step[], value: Json, gaps: Gaps): void {
  let node: Json = root
  if (steps.length > maxLevels) throw invalidArguments('nest too deep')
  for (const [position, step] of steps.entries()) {
    const last = position === steps.length - 1
    const next: Json = typeof steps[position + 1] === 'number' ? [] : {}
    if (Array.isArray(node) && typeof step === 'number') {
      if (step - node.length > gaps.left) throw invalidArguments('skip too many items of a list')
      for (; node.length < step; gaps.left--) node.push(null)
      if (last) node[step] = joinTexts(node[step], value)
      else node = node[step] = descend(node[step], next)
    } else if (isObject(node) && typeof step === 'string') {
      const known: Json | undefined = Object.hasOwn(node, step) ? node[step] : undefined
      const own: Json = last ? joinTexts(known, value) : descend(known, next)
      setOwn(node, step, own)
      node = own
    } else return
  }
}

const invalidArguments = (why: string): GatewayError =>
  new GatewayError('upstream_bad_response', `The upstream sent a call with arguments that ${why}.`)

const descend = (known: Json | undefined, fresh: Json): Json =>
  Array.isArray(known) || isObject(known) ? known : fresh
const joinTexts = (known: Json | undefined, value: Json): Json =>
  typeof known === 'string' && typeof value === 'string' ? known + value : value
