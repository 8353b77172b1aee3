import { GatewayError } from '../../base/errors.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { type Complaint, dotted, type Issue, validateBody } from '../shared/validate.ts'
import { type Fault, requestSchema, viewOf } from './schema.ts'
import { spelt } from './spelling.ts'

/** Checks any request from a client; see `Codec.checkRequest`. */
export function checkRequest(body: Json): JsonObject {
  checkIsObject(body)
  const contents = body[spelt(body, 'contents')]
  if (contents === undefined || contents === null)
    throw new GatewayError('invalid_request', '* GenerateContentRequest.contents: contents is not specified\n', {
      param: 'contents',
    })
  return body
}

/** Checks a request that is to be translated, in either spelling; see `Codec.validateRequest`. */
export function validateRequest(body: Json): JsonObject {
  checkIsObject(body)
  validateBody(requestSchema, viewOf(body), (issue, view) => complain(issue, view, body))
  return body
}

function checkIsObject(body: Json): asserts body is JsonObject {
  if (!isObject(body))
    throw new GatewayError(
      'invalid_request',
      'Invalid JSON payload received. The root of the request is not an object.',
    )
}

/** Tells an issue in Google's words; `param` is in dots, in the client's own spelling. */
function complain(issue: Issue, view: Json, body: JsonObject): Complaint {
  const param = dotted(clientPath(issue.path, body))
  const field = protoPath(issue.path)
  if (issue.code === 'custom') {
    const params = issue.params as Fault
    if (params.fault === 'sentence') return { message: params.sentence, param }
    if (params.fault === 'rule') return { message: `* GenerateContentRequest.${field}: ${params.rule}\n`, param }
    return invalid(field, params.type, valueAt(view, issue.path), param)
  }
  const type = issue.code === 'invalid_type' ? (types[issue.expected] ?? '') : ''
  const value = valueAt(view, issue.path)
  if (value === undefined)
    return { message: `* GenerateContentRequest.${field}: ${String(issue.path.at(-1))} is not specified\n`, param }
  return invalid(field, type, value, param)
}

const types: Readonly<Record<string, string>> = {
  string: 'TYPE_STRING',
  boolean: 'TYPE_BOOL',
  number: 'TYPE_FLOAT',
  array: 'a list',
  object: 'an object',
}

function invalid(field: string, type: string, value: Json | undefined, param: string): Complaint {
  const shown = JSON.stringify(value) ?? 'nothing'
  const cut = shown.length > 100 ? `${shown.slice(0, 100)}…` : shown
  return { message: `Invalid value at '${field}'${type === '' ? '' : ` (${type})`}, ${cut}`, param }
}

/** `generation_config.stop_sequences[0]` */
function protoPath(path: readonly PropertyKey[]): string {
  let out = ''
  for (const step of path)
    out += typeof step === 'number' ? `[${step}]` : `${out === '' ? '' : '.'}${snake(String(step))}`
  return out
}
const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A path of the view as the client wrote it: in its spelling, without lists that it did not write. */
function clientPath(path: readonly PropertyKey[], body: JsonObject): PropertyKey[] {
  const out: PropertyKey[] = []
  let node: Json | undefined = body
  for (const step of path) {
    if (typeof step === 'number') {
      if (!Array.isArray(node)) continue
      out.push(step)
      node = node[step]
    } else if (isObject(node)) {
      const key = spelt(node, String(step))
      out.push(key)
      node = node[key]
    } else if (node === undefined || out.length === 0) out.push(step)
  }
  return out
}

function valueAt(view: Json, path: readonly PropertyKey[]): Json | undefined {
  let value: Json | undefined = view
  for (const key of path) {
    if (Array.isArray(value)) value = value[Number(key)]
    else if (isObject(value) && typeof key === 'string' && Object.hasOwn(value, key)) value = value[key]
    else return undefined
  }
  return value
}
